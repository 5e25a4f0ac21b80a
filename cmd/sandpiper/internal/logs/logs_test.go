package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretsAreStruckOutOfEveryPartOfALine(t *testing.T) {
	for _, format := range []string{"auto", "json", "text"} {
		var out bytes.Buffer
		log, err := New(Options{Level: "debug", Format: format, To: &out, Secrets: []string{"xoxb-secret"}})
		if err != nil {
			t.Fatal(err)
		}
		log.With("bound", "a xoxb-secret b").WithGroup("g").Info("said xoxb-secret", "text", "xoxb-secret", "error", errors.New("refused: xoxb-secret"))
		if strings.Contains(out.String(), "xoxb-secret") || strings.Count(out.String(), "••••") != 4 {
			t.Errorf("format %s logged %s", format, out.String())
		}
	}
}

func TestElsewhereThanOnATerminalItIsJSON(t *testing.T) {
	var out bytes.Buffer
	log, err := New(Options{Level: "warn", Format: "auto", To: &out})
	if err != nil {
		t.Fatal(err)
	}
	log.Info("not to be seen")
	log.Warn("seen", slog.Int("n", 3))
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["msg"] != "seen" || line["n"] != 3.0 {
		t.Errorf("logged %q, %v", out.String(), err)
	}
}

func TestAnUnknownLevelIsAnError(t *testing.T) {
	if _, err := New(Options{Level: "loud", Format: "auto", To: &bytes.Buffer{}}); err == nil {
		t.Error("level loud was taken")
	}
}
