package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics makes the registry that /metrics shows.
func (a *app) metrics() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sandpiper_build_info", Help: "Always 1; the version is a label.",
			ConstLabels: prometheus.Labels{"version": version},
		}, func() float64 { return 1 }),
		refusals{a},
	)
	return registry
}

// refusals counts what was refused, by kind.
type refusals struct{ a *app }

func refusalsDesc() *prometheus.Desc {
	return prometheus.NewDesc("sandpiper_refusals_total", "Events that were refused in this life, by kind.", []string{"kind"}, nil)
}

// Describe implements prometheus.Collector.
func (refusals) Describe(to chan<- *prometheus.Desc) { to <- refusalsDesc() }

// Collect implements prometheus.Collector.
func (r refusals) Collect(to chan<- prometheus.Metric) {
	for kind, n := range r.a.orchestrator.Refusals() {
		to <- prometheus.MustNewConstMetric(refusalsDesc(), prometheus.CounterValue, float64(n), kind)
	}
}
