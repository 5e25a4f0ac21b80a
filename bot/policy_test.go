package bot

import (
	"testing"
	"time"
)

func TestPolicyDeniesByDefault(t *testing.T) {
	rules, err := NewRules([]Rule{
		{Origin: "slack:C1", Actors: []string{"slack:T1/boss"}, May: []Right{MayAsk, MayAdmin}, Budgets: Budgets{Turns: 7}, Model: "big", Runtime: "runsc", Destinations: []string{"slack:*"}},
		{Origin: "slack:C1", Actors: []string{"slack:*"}, May: []Right{MayAsk}},
		{Origin: "github:owner/*", Actors: []string{"github:alice", "github:bob"}, May: []Right{MayAsk, MaySave}},
		{Origin: "slack:C3", Actors: []string{"*"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		place, actor string
		right        Right
		allowed      bool
		rule         string
	}{
		{"slack:C1", "slack:T1/boss", MayAdmin, true, "policies[0]"},
		{"slack:C1", "slack:T1/boss", MaySave, false, "policies[0]"}, // the first match decides alone
		{"slack:C1", "slack:T1/anyone", MayAsk, true, "policies[1]"},
		{"slack:C1", "slack:T1/anyone", MayAdmin, false, "policies[1]"},
		{"slack:C1", "github:anyone", MayAsk, false, "default"},
		{"slack:C11", "slack:T1/boss", MayAsk, false, "default"},
		{"slack:c1", "slack:T1/boss", MayAsk, false, "default"},
		{"github:owner/name", "github:bob", MaySave, true, "policies[2]"},
		{"github:owner/a/b", "github:bob", MaySave, true, "policies[2]"},
		{"github:owner2/name", "github:bob", MayAsk, false, "default"},
		{"github:owner/name", "github:bobby", MayAsk, false, "default"},
		{"slack:C3", "slack:T1/boss", MayAsk, false, "policies[3]"},
		{"", "", MayAsk, false, "default"},
	} {
		event := Event{Origin: Origin{Place: test.place}, Actor: Actor{ID: test.actor}}
		d := rules.Decide(t.Context(), event, test.right)
		if d.Allowed != test.allowed || d.Rule != test.rule || (d.Reason == "") != d.Allowed {
			t.Errorf("%s at %s, %s: %+v", test.actor, test.place, test.right, d)
		}
	}
	boss := rules.Decide(t.Context(), Event{Origin: Origin{Place: "slack:C1"}, Actor: Actor{ID: "slack:T1/boss"}}, MayAsk)
	if boss.Model != "big" || boss.Runtime != "runsc" || len(boss.Destinations) != 1 || boss.Budgets.Turns != 7 {
		t.Errorf("narrowed to %+v", boss)
	}
	budgets := boss.Budgets.over(Budgets{Turns: 40, Tokens: 1000, Wall: time.Minute})
	if budgets != (Budgets{Turns: 7, Tokens: 1000, Wall: time.Minute}) {
		t.Errorf("budgets are %+v", budgets)
	}
	if d := (Rules{}).Decide(t.Context(), Event{}, MayAsk); d.Allowed {
		t.Error("no rules allow")
	}
}

func TestBrokenPoliciesAreRefused(t *testing.T) {
	for name, rule := range map[string]Rule{
		"no origin":     {Actors: []string{"*"}},
		"no actors":     {Origin: "*"},
		"bad pattern":   {Origin: "slack:[", Actors: []string{"*"}},
		"unknown right": {Origin: "*", Actors: []string{"*"}, May: []Right{"everything"}},
	} {
		if _, err := NewRules([]Rule{rule}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestBackoffGrowsAndEnds(t *testing.T) {
	const first, longest = time.Second, time.Minute
	for failures := range 70 {
		want := longest
		if failures < 6 {
			want = first << failures
		}
		for range 20 {
			if got := backoff(first, longest, failures); got < want/2 || got > want {
				t.Errorf("after %d failures: %s, want %s to %s", failures, got, want/2, want)
			}
		}
	}
}

func TestNamesAreSafeAndDifferent(t *testing.T) {
	long := ""
	for range 100 {
		long += "длинное "
	}
	for name, want := range map[string]string{
		"data.csv": "data.csv", "../../etc/passwd": "passwd", `C:\Users\a\b.xlsx`: "b.xlsx", "/": "file", "": "file", "..": "file",
		"-rf": "rf", ".hidden": "hidden", "a\x00b\nc.csv": "abc.csv", "evil\u202egpj.exe": "evilgpj.exe", "a:b": "ab", " x ": "x",
		"отчёт.csv": "отчёт.csv", "📊 q.csv": "📊 q.csv",
	} {
		if got := safeName(name); got != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
	if got := safeName(long + ".csv"); len(got) > 120 || got[len(got)-4:] != ".csv" {
		t.Errorf("long name became %q (%d bytes)", got, len(got))
	}
	taken := map[string]bool{}
	for i, want := range []string{"a.csv", "A (2).csv", "a (3).csv"} {
		if got := unused([]string{"a.csv", "A.csv", "a.csv"}[i], taken); got != want {
			t.Errorf("name %d is %q, want %q", i, got, want)
		}
	}
}
