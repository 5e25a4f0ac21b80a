package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestSecretsAreStruckOutOfEveryPartOfALine(t *testing.T) {
	for _, format := range []string{"auto", "json", "text"} {
		var out bytes.Buffer
		log, err := New(Options{Level: "debug", Format: format, To: &out, Secrets: NewSecrets([]string{"xoxb-secret"})})
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

// TestChangedSecretsAreStruckOutToo is for secrets that are read again.
func TestChangedSecretsAreStruckOutToo(t *testing.T) {
	var out bytes.Buffer
	secrets := NewSecrets([]string{"the-old-one"})
	log, err := New(Options{Level: "info", Format: "json", To: &out, Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	bound := log.With("task", "1")
	secrets.Set([]string{"the-old-one", "the-new-one"})
	bound.Info("the-old-one", "text", "the-new-one")
	if strings.Contains(out.String(), "-one") {
		t.Errorf("logged %s", out.String())
	}
}

// TestPartsHaveLevelsOfTheirOwn logs from parts at three levels.
func TestPartsHaveLevelsOfTheirOwn(t *testing.T) {
	var out bytes.Buffer
	log, err := New(Options{Level: "info", Levels: map[string]string{"slack": "debug", "sandbox": "error"}, Format: "json", To: &out})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"slack", "sandbox", "web"} {
		of := log.With(PartKey, part).With("task", "1")
		of.Debug(part + " debug")
		of.Warn(part + " warn")
	}
	for said, want := range map[string]bool{"slack debug": true, "slack warn": true, "sandbox debug": false, "sandbox warn": false, "web debug": false, "web warn": true} {
		if strings.Contains(out.String(), said) != want {
			t.Errorf("%q is logged: %t, want %t", said, !want, want)
		}
	}
}

// TestDurationsAreReadable is for JSON, which has them as bare nanoseconds.
func TestDurationsAreReadable(t *testing.T) {
	var out bytes.Buffer
	log, err := New(Options{Level: "info", Format: "json", To: &out})
	if err != nil {
		t.Fatal(err)
	}
	log.Info("x", "a", 1234567890*time.Nanosecond, "b", 90*time.Second, "c", 1234567*time.Nanosecond, "d", time.Duration(0))
	for _, want := range []string{`"a":"1.23s"`, `"b":"1m30s"`, `"c":"1.23ms"`, `"d":"0s"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %s", out.String(), want)
		}
	}
}

func TestAnUnknownLevelIsAnError(t *testing.T) {
	if _, err := New(Options{Level: "loud", Format: "auto", To: &bytes.Buffer{}}); err == nil {
		t.Error("level loud was taken")
	}
}
