package bot_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// sky is how a platform behaves until it changes.
type sky int32

const (
	fair       sky = iota
	busy           // says to come back later
	lostBefore     // nothing arrives, and nobody knows
	lostAfter      // all arrives, and nobody knows
	skies
)

// outboxMachine is the outbox with what may happen to it: people ask, the
// platform's behaviour changes, the process ends and begins again.
type outboxMachine struct {
	*world
	sky    atomic.Int32 // a sky
	blind  atomic.Bool  // looking a message up fails, too
	asked  map[string][]string
	number int
}

// TestTheOutboxAsAMachine takes any order of these, and holds the outbox after
// each to: nothing twice, and each conversation's answers in its order; and at
// the end, under a fair sky, to: everything.
func TestTheOutboxAsAMachine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &outboxMachine{world: newWorld(t, echo), asked: map[string][]string{}}
		m.platform.send = m.before
		m.platform.lose = m.after
		m.platform.find = m.look
		rt.Repeat(map[string]func(*rapid.T){
			"ask": func(rt *rapid.T) {
				conversation := fmt.Sprint("c", rapid.IntRange(0, 2).Draw(rt, "conversation"))
				m.number++
				text := fmt.Sprint("q", m.number)
				m.ask(conversation, "alice", text)
				m.asked[conversation] = append(m.asked[conversation], "answer to "+text)
			},
			"sky":   func(rt *rapid.T) { m.sky.Store(rapid.Int32Range(0, int32(skies)-1).Draw(rt, "sky")) },
			"blind": func(rt *rapid.T) { m.blind.Store(rapid.Bool().Draw(rt, "blind")) },
			"end and begin": func(*rapid.T) {
				m.end()
				m.start()
			},
			"rest": func(rt *rapid.T) {
				if sky(m.sky.Load()) != fair || m.blind.Load() {
					rt.Skip("nothing rests in this weather")
				}
				m.idle()
			},
			"": m.holds,
		})
		m.sky.Store(int32(fair))
		m.blind.Store(false)
		m.idle()
		m.holds(rt)
		for conversation, want := range m.asked {
			if got := m.answers(conversation); !slices.Equal(got, want) {
				rt.Errorf("%s got %q, want %q", conversation, got, want)
			}
		}
		m.end()
	})
}

// holds is what is true at any moment.
func (m *outboxMachine) holds(rt *rapid.T) {
	m.platform.mu.Lock()
	for id, n := range m.platform.sent {
		if n > 1 {
			rt.Errorf("delivery %s was sent %d times", id, n)
		}
	}
	m.platform.mu.Unlock()
	for conversation, want := range m.asked {
		if got := m.answers(conversation); len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			rt.Errorf("%s got %q so far, want the beginning of %q", conversation, got, want)
		}
	}
}

// answers are those that arrived in a conversation, in order.
func (m *outboxMachine) answers(conversation string) []string {
	m.platform.mu.Lock()
	defer m.platform.mu.Unlock()
	var got []string
	for _, d := range m.platform.order {
		if d.Kind == bot.DeliverAnswer && d.Origin.Conversation == conversation {
			got = append(got, d.Message)
		}
	}
	return got
}

func (m *outboxMachine) before(bot.Delivery) error {
	switch sky(m.sky.Load()) {
	case busy:
		return &bot.SendError{Class: bot.Retryable, After: time.Millisecond, Err: errors.New("busy")}
	case lostBefore:
		return &bot.SendError{Class: bot.Ambiguous, Err: errLost}
	}
	return nil
}

func (m *outboxMachine) after(bot.Delivery) error {
	if sky(m.sky.Load()) == lostAfter {
		return errLost // unclassed: ambiguous
	}
	return nil
}

func (m *outboxMachine) look(bot.Delivery) error {
	if m.blind.Load() {
		return errLost
	}
	return nil
}
