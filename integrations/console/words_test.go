package console

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// TestAnswerIsWrittenWhereNobodyWaits sends answers to a destination and to a
// folder that somebody watches: the first holds the newest text, the second none.
func TestAnswerIsWrittenWhereNobodyWaits(t *testing.T) {
	w := newWorld(t)
	unwatched, err := Destination(w.out)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.out, "answer.md")
	answer := func(id, text string) bot.Delivery {
		return bot.Delivery{ID: id, Kind: bot.DeliverAnswer, Origin: unwatched, Message: text}
	}
	for i, text := range []string{"**12** rows", "None of the files could be read", "**13** rows"} {
		d := answer(string(rune('a'+i)), text)
		if _, found, err := w.Find(t.Context(), d); err != nil || found {
			t.Fatalf("%q stands there before it was sent: %v, %v", text, found, err)
		}
		receipt, err := w.Send(t.Context(), d)
		if err != nil || len(receipt.Undelivered) > 0 {
			t.Fatalf("%q: %+v, %v", text, receipt, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text+"\n" {
			t.Errorf("read %q, %v, want %q", got, err, text)
		}
		if _, found, err := w.Find(t.Context(), d); err != nil || !found {
			t.Errorf("%q is not found again: %v", text, err)
		}
	}

	// What somebody wrote there is not ours to replace.
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Send(t.Context(), answer("d", "later")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "mine" {
		t.Errorf("somebody's file holds %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(w.out, "answer-2.md")); err != nil || string(got) != "later\n" {
		t.Errorf("beside it stands %q, %v", got, err)
	}

	watched, err := Folder(filepath.Join(t.TempDir(), "watched"))
	if err != nil {
		t.Fatal(err)
	}
	notice := answer("f", "a notice")
	notice.Kind = bot.DeliverNotice
	for _, d := range []bot.Delivery{{ID: "e", Kind: bot.DeliverAnswer, Origin: watched, Message: "read by whoever waits"}, notice} {
		if _, err := w.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(OutOf(watched)); !os.IsNotExist(err) {
		t.Errorf("a watched folder was made: %v", err)
	}
	if found, err := filepath.Glob(filepath.Join(w.out, "*")); err != nil || len(found) != 2 {
		t.Errorf("there are %v, %v", found, err)
	}
}
