package slacktest

import (
	"math"
	"time"
)

// bucket is a token bucket. Workspace.mu guards it.
type bucket struct {
	tokens float64
	seen   time.Time
}

// rate is how many calls a bucket holds and how fast it refills.
type rate struct {
	hold      float64
	perSecond float64
}

// Slack's tiers, and its own rate of chat.postMessage.
const (
	tierPost = 0 // per channel
	tier1    = 1
	tier2    = 2
	tier3    = 3
	tier4    = 4
	tierFree = 5 // auth.test: hundreds a minute
)

func rateOf(tier int) rate {
	switch tier {
	case tierPost:
		return rate{hold: 4, perSecond: 1}
	case tier1:
		return rate{hold: 10, perSecond: 1.0 / 60}
	case tier2:
		return rate{hold: 20, perSecond: 20.0 / 60}
	case tier3:
		return rate{hold: 50, perSecond: 50.0 / 60}
	case tier4:
		return rate{hold: 100, perSecond: 100.0 / 60}
	}
	return rate{hold: 600, perSecond: 10}
}

// commercialRate is one call a minute.
func commercialRate() rate { return rate{hold: 1, perSecond: 1.0 / 60} }

// commercialPage is the most items a page has for commercial apps.
const commercialPage = 15

// take takes one call from the bucket at key, or says after how many whole
// seconds it may be tried again. The caller holds mu.
func (w *Workspace) take(key string, r rate) (retry int, ok bool) {
	now := time.Now()
	b := w.buckets[key]
	if b == nil {
		b = &bucket{tokens: r.hold, seen: now}
		w.buckets[key] = b
	}
	b.tokens = math.Min(r.hold, b.tokens+now.Sub(b.seen).Seconds()*r.perSecond)
	b.seen = now
	if b.tokens >= 1 {
		b.tokens--
		return 0, true
	}
	return max(1, int(math.Ceil((1-b.tokens)/r.perSecond))), false
}
