package main

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// The stages of a task whose times are measured.
const (
	stageIntake      = "intake"
	stageFirstToken  = "model_first_token"
	stageTurn        = "model_turn"
	stageSessionWait = "session_wait"
	stageProgram     = "program"
	stageCollect     = "collect"
	stageDeliver     = "deliver"
)

// gauges are what the process measures of itself. The rooms know nothing of
// them: they are wrapped, in measure_*.go.
type gauges struct {
	registry *prometheus.Registry

	events, webhooks, ended, programs  *prometheus.CounterVec
	turns, modelRetries, tokens, cost  *prometheus.CounterVec
	deliveries, sendRetries, ambiguous *prometheus.CounterVec
	stages, queue, duration            *prometheus.HistogramVec
	lag                                prometheus.Histogram

	mu   sync.Mutex           // guards seen
	seen map[string]time.Time // the last event of each adapter
}

func newGauges() *gauges {
	g := &gauges{registry: prometheus.NewRegistry(), seen: map[string]time.Time{}}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		g.registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 3600},
		}, labels)
		g.registry.MustRegister(v)
		return v
	}
	g.events = counter("sandpiper_events_total", "Events that adapters submitted, by what became of them.", "adapter", "kind", "result")
	g.webhooks = counter("sandpiper_webhooks_total", "Requests to the webhooks, by the status they got.", "code")
	g.ended = counter("sandpiper_tasks_ended_total", "Tasks that ended in this life.", "state", "origin")
	g.programs = counter("sandpiper_programs_total", "Programs that the sandbox ran, by how they ended.", "language", "verdict")
	g.turns = counter("sandpiper_model_turns_total", "Turns asked of models.", "model", "result")
	g.modelRetries = counter("sandpiper_model_retries_total", "Failed tries before an answer.", "model")
	g.tokens = counter("sandpiper_model_tokens_total", "Tokens as servers report them.", "model", "kind")
	g.cost = counter("sandpiper_model_cost_usd_total", "What the turns cost, by model.prices.", "model")
	g.deliveries = counter("sandpiper_deliveries_total", "Deliveries that ended.", "adapter", "kind", "status")
	g.sendRetries = counter("sandpiper_delivery_retries_total", "Sends after the first of a delivery.", "adapter")
	g.ambiguous = counter("sandpiper_deliveries_ambiguous_total", "Sends that got no answer and had to be looked up.", "adapter")
	g.stages = histogram("sandpiper_stage_seconds", "Time of each stage of a task.", "stage")
	g.queue = histogram("sandpiper_queue_seconds", "Time from a task's creation until it began.", "origin")
	g.duration = histogram("sandpiper_task_seconds", "Time from a task's creation to its end.", "origin")
	g.lag = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "sandpiper_schedule_lag_seconds", Help: "How late schedules fired.", Buckets: []float64{0.1, 1, 5, 30, 60, 300, 1800, 3600, 21600},
	})
	g.registry.MustRegister(g.lag)
	for _, stage := range []string{stageIntake, stageFirstToken, stageTurn, stageSessionWait, stageProgram, stageCollect, stageDeliver} {
		g.stages.WithLabelValues(stage)
	}
	return g
}

// known makes the series of the configured adapters and model, so that rates
// begin at zero and not at nothing.
func (g *gauges) known(adapters []string, model string) {
	for _, adapter := range adapters {
		for _, result := range []string{"accepted", "duplicate", "refused", "failed"} {
			g.events.WithLabelValues(adapter, string(bot.EventRequest), result)
		}
		for _, state := range []bot.TaskState{bot.TaskDone, bot.TaskFailed, bot.TaskCancelled, bot.TaskRefused} {
			g.ended.WithLabelValues(string(state), adapter)
		}
		for _, status := range []bot.DeliveryState{bot.DeliverySent, bot.DeliveryFailed} {
			g.deliveries.WithLabelValues(adapter, string(bot.DeliverAnswer), string(status))
		}
		g.sendRetries.WithLabelValues(adapter)
		g.ambiguous.WithLabelValues(adapter)
		g.queue.WithLabelValues(adapter)
		g.duration.WithLabelValues(adapter)
	}
	for _, verdict := range []sandbox.Verdict{sandbox.OK, sandbox.Exit, sandbox.Wall, sandbox.OOM, sandbox.Engine} {
		g.programs.WithLabelValues(string(sandbox.Python), string(verdict))
	}
	for _, code := range []string{"202", "401"} {
		g.webhooks.WithLabelValues(code)
	}
	model = orElse(model, "none")
	for _, result := range []string{"ok", "failed"} {
		g.turns.WithLabelValues(model, result)
	}
	for _, kind := range []string{"input", "output", "cached"} {
		g.tokens.WithLabelValues(model, kind)
	}
	g.modelRetries.WithLabelValues(model)
	g.cost.WithLabelValues(model)
}

// stage measures one stage.
func (g *gauges) stage(name string, took time.Duration) {
	g.stages.WithLabelValues(name).Observe(took.Seconds())
}

// saw notes that an adapter got an event: it is not only connected.
func (g *gauges) saw(adapter string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[adapter] = time.Now()
}

// last is when an adapter last got an event in this life.
func (g *gauges) last(adapter string) (time.Time, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, ok := g.seen[adapter]
	return at, ok
}

// metrics makes the registry that /metrics shows.
func (a *app) metrics() *prometheus.Registry {
	var adapters []string
	for name := range a.channels {
		adapters = append(adapters, name)
	}
	a.gauges.known(adapters, a.loaded.Model.Name)
	a.gauges.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sandpiper_build_info", Help: "Always 1; the version is a label.",
			ConstLabels: prometheus.Labels{"version": version},
		}, func() float64 { return 1 }),
		standing{a},
	)
	return a.gauges.registry
}

// standing collects how things stand when somebody asks.
type standing struct{ a *app }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("sandpiper_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector: what there is depends on what is
// configured, so it describes nothing.
func (standing) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s standing) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	s.parts(ctx, gauge)
	s.tasks(ctx, gauge)
	s.pool(gauge)
	s.budgets(ctx, gauge)
	refusals := describe("refusals_total", "Events that were refused in this life, by kind.", "kind")
	counted := s.a.orchestrator.Refusals()
	for _, kind := range []string{"policy", "waiting", "budget", "read_only", "paused"} {
		to <- prometheus.MustNewConstMetric(refusals, prometheus.CounterValue, float64(counted[kind]), kind)
		delete(counted, kind)
	}
	for kind, n := range counted {
		to <- prometheus.MustNewConstMetric(refusals, prometheus.CounterValue, float64(n), kind)
	}
	gauge(describe("paused", "1 while new requests are refused."), asGauge(s.a.orchestrator.Paused()))
}

type setGauge func(d *prometheus.Desc, value float64, labels ...string)

func asGauge(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// parts tell what is connected, and since when nothing has come through it.
func (s standing) parts(ctx context.Context, gauge setGauge) {
	up := describe("up", "1 while a part of the process works: the store commits, an adapter is connected, the engine answers.", "part")
	for _, p := range s.a.parts(ctx) {
		gauge(up, asGauge(p.Status == "ok"), p.Name)
	}
	last := describe("last_event_timestamp_seconds", "When an adapter last got an event; 0 where none came in this life.", "adapter")
	for _, source := range s.a.sources {
		at, seen := s.a.gauges.last(source.Name())
		value := 0.0
		if seen {
			value = float64(at.UnixMilli()) / 1000
		}
		gauge(last, value, source.Name())
	}
}

// tasks count what has not ended.
func (s standing) tasks(ctx context.Context, gauge setGauge) {
	open, err := s.a.store.Open(ctx)
	if err != nil {
		return // the part "store" says so
	}
	type key struct{ state, origin string }
	counts := map[key]int{}
	for name := range s.a.channels {
		for _, state := range []bot.TaskState{bot.TaskQueued, bot.TaskRunning, bot.TaskWaiting} {
			counts[key{string(state), name}] = 0
		}
	}
	for i := range open {
		counts[key{string(open[i].State), open[i].Event.Origin.Adapter}]++
	}
	tasks := describe("tasks", "Tasks that have not ended, by state and origin.", "state", "origin")
	for k, n := range counts {
		gauge(tasks, float64(n), k.state, k.origin)
	}
	if pending, err := s.a.store.Pending(ctx); err == nil {
		gauge(describe("outbox_pending", "Deliveries that are owed."), float64(len(pending)))
	}
}

// pool tells of the sandbox's sessions.
func (s standing) pool(gauge setGauge) {
	load := s.a.boxes.load()
	sessions := describe("pool_sessions", "Sessions of the sandbox, by what they do; target and room are how many are kept ready and how many fit.", "state")
	for state, n := range map[string]int{
		"ready": load.Ready, "loaded": load.Loaded, "starting": load.Starting, "leased": load.Leased,
		"waiting": load.Waiting, "target": load.Target, "room": load.Room,
	} {
		gauge(sessions, float64(n), state)
	}
}

// budgets tell how much of the day's limits is used, all people together.
func (s standing) budgets(ctx context.Context, gauge setGauge) {
	tokens, usd, err := s.a.orchestrator.SpentToday(ctx)
	if err != nil {
		return
	}
	used := describe("budget_used", "What was spent today (UTC), in tokens and USD.", "budget")
	limit := describe("budget_limit", "The day's limits, in tokens and USD; 0 is none.", "budget")
	gauge(used, float64(tokens), "daily_tokens")
	gauge(used, usd, "daily_usd")
	gauge(limit, float64(s.a.loaded.Budgets.DailyTokens), "daily_tokens")
	gauge(limit, s.a.loaded.Budgets.DailyUSD, "daily_usd")
}
