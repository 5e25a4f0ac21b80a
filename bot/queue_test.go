package bot

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func take(t *testing.T, q *queue) *item {
	t.Helper()
	it, _ := q.next(time.Time{})
	if it == nil {
		t.Fatal("nothing can start")
	}
	return it
}

func TestTheQueueIsFairBetweenActors(t *testing.T) {
	q := newQueue(Limits{Running: 1, RunningPerActor: 1, WaitingPerActor: 100, WaitingPerConversation: 100})
	// One actor asks ten things, then three others ask one each.
	for i := range 10 {
		q.add(&item{id: fmt.Sprintf("%02d", i), conversation: fmt.Sprint("a", i), actor: "busy"})
	}
	for i := range 3 {
		q.add(&item{id: fmt.Sprint("9", i), conversation: fmt.Sprint("b", i), actor: fmt.Sprint("quiet", i)})
	}
	var order []string
	for range 13 {
		it := take(t, q)
		order = append(order, it.actor)
		q.done(it, false)
	}
	if got := order[:4]; !slices.Equal(got, []string{"busy", "quiet0", "quiet1", "quiet2"}) {
		t.Errorf("order is %v", order)
	}
	if !q.idle() || len(q.waiting)+len(q.running)+len(q.served)+len(q.held) != 0 {
		t.Errorf("an empty queue remembers %+v", q)
	}
}

func TestPeopleGoBeforeSchedules(t *testing.T) {
	q := newQueue(Limits{Running: 3, RunningPerActor: 3, WaitingPerActor: 100, WaitingPerConversation: 100})
	for i := range 1000 {
		q.add(&item{id: fmt.Sprintf("%04d", i), conversation: fmt.Sprint("s", i), actor: fmt.Sprint("owner", i%7), scheduled: true})
	}
	var reports []*item
	for {
		it, _ := q.next(time.Time{})
		if it == nil {
			break
		}
		reports = append(reports, it)
	}
	if len(reports) != 2 {
		t.Fatalf("%d reports run in three places: one is for people", len(reports))
	}
	// The owner of what runs asks for something: a free place is there.
	q.add(&item{id: "9999", conversation: "talk", actor: reports[0].actor})
	if it := take(t, q); it.id != "9999" {
		t.Errorf("started %s before the person's", it.id)
	}
}

func TestPlacesInTheQueue(t *testing.T) {
	q := newQueue(Limits{Running: 2, RunningPerActor: 1, WaitingPerActor: 3, WaitingPerConversation: 2})
	for i, conversation := range []string{"x", "x", "y", "z"} {
		q.add(&item{id: fmt.Sprint(i), conversation: conversation, actor: fmt.Sprint("actor", i)})
	}
	take(t, q) // 0
	take(t, q) // 2
	for id, want := range map[string]int{"0": 0, "1": 1, "3": 1, "none": 0} {
		conversation := map[string]string{"0": "x", "1": "x", "3": "z", "none": "x"}[id]
		if got := q.position(conversation, id); got != want {
			t.Errorf("%s has %d before it, want %d", id, got, want)
		}
	}
	if !q.reserve("new", "x") || q.reserve("new", "x") {
		t.Error("the conversation takes two that wait, places that are held included")
	}
	q.release("new", "x")
	for i := range 4 {
		if got := q.reserve("eager", fmt.Sprint("c", i)); got != (i < 3) {
			t.Errorf("place %d: %v", i, got)
		}
	}
	if !q.remove("z", "3") || q.remove("z", "3") || q.remove("x", "0") {
		t.Error("exactly what waits can be removed")
	}
}

func TestTheQueueUnderAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limits := Limits{Running: rapid.IntRange(1, 4).Draw(rt, "running"), RunningPerActor: rapid.IntRange(1, 3).Draw(rt, "per actor")}
		q := newQueue(limits)
		now := time.Unix(1000, 0)
		waiting := map[string]*item{}
		var running []*item
		n := 0
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(rt *rapid.T) {
				n++
				it := &item{
					id: fmt.Sprintf("%05d", n), conversation: fmt.Sprint(rapid.IntRange(0, 4).Draw(rt, "conversation")),
					actor: fmt.Sprint(rapid.IntRange(0, 2).Draw(rt, "actor")), scheduled: rapid.Bool().Draw(rt, "scheduled"),
				}
				waiting[it.id] = it
				q.add(it)
				q.add(&item{id: it.id, conversation: it.conversation, actor: it.actor}) // waits already
			},
			"start": func(rt *rapid.T) {
				it, _ := q.next(now)
				if it == nil {
					return
				}
				for id, other := range waiting {
					if other.conversation == it.conversation && id < it.id {
						rt.Fatalf("%s started before %s of its conversation", it.id, id)
					}
				}
				delete(waiting, it.id)
				running = append(running, it)
			},
			"end": func(rt *rapid.T) {
				if len(running) == 0 {
					rt.Skip("nothing runs")
				}
				i := rapid.IntRange(0, len(running)-1).Draw(rt, "which")
				it := running[i]
				running = slices.Delete(running, i, i+1)
				repeat := rapid.Bool().Draw(rt, "repeat")
				if repeat {
					waiting[it.id] = it
				}
				q.done(it, repeat)
			},
			"remove": func(rt *rapid.T) {
				for id, it := range waiting {
					if !q.remove(it.conversation, id) {
						rt.Fatalf("%s waits and cannot be removed", id)
					}
					delete(waiting, id)
					return
				}
			},
			"": func(rt *rapid.T) {
				taken, actors := map[string]bool{}, map[string]int{}
				for _, it := range running {
					if taken[it.conversation] {
						rt.Fatalf("two tasks of conversation %s run", it.conversation)
					}
					taken[it.conversation] = true
					actors[it.load()]++
					if actors[it.load()] > limits.RunningPerActor {
						rt.Fatalf("actor %s runs too much", it.actor)
					}
				}
				w, r := q.counts()
				if len(running) > limits.Running || r != len(running) || w != len(waiting) {
					rt.Fatalf("%d run and %d wait, the queue says %d and %d", len(running), len(waiting), r, w)
				}
			},
		})
		// However it came: everything starts in the end.
		for len(waiting)+len(running) > 0 {
			if it, _ := q.next(now); it != nil {
				delete(waiting, it.id)
				running = append(running, it)
				continue
			}
			if len(running) == 0 {
				rt.Fatalf("%d wait and nothing can start", len(waiting))
			}
			q.done(running[0], false)
			running = running[1:]
		}
		if !q.idle() {
			rt.Fatal("an empty queue is not idle")
		}
	})
}

func TestAnAnswerBeforeThePlaceIsGivenBack(t *testing.T) {
	q := newQueue(Limits{Running: 1, RunningPerActor: 1})
	q.add(&item{id: "1", conversation: "c", actor: "a"})
	it := take(t, q)
	q.add(&item{id: "1", conversation: "c", actor: "a"}) // it asked, and was answered at once
	if again, _ := q.next(time.Time{}); again != nil {
		t.Error("the task runs twice at once")
	}
	q.done(it, false)
	it = take(t, q)
	q.done(it, false)
	if !q.idle() {
		t.Error("it waits for ever")
	}
}
