package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
)

// world is a Channel over a real store, and a folder to write into.
type world struct {
	*Channel
	t     *testing.T
	blobs *boltstore.Blobs
	store *boltstore.Store
	out   string
}

type fixedClock struct{}

func (fixedClock) Now() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) }

func newWorld(t *testing.T) *world {
	t.Helper()
	options := boltstore.Options{Dir: t.TempDir()}
	store, err := boltstore.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := boltstore.OpenBlobs(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(blobs.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	channel, err := New(Options{Blobs: blobs, Records: store, Clock: fixedClock{}})
	if err != nil {
		t.Fatal(err)
	}
	return &world{Channel: channel, t: t, blobs: blobs, store: store, out: filepath.Join(t.TempDir(), "out")}
}

// delivery is one group of files by name and content, in the order given.
func (w *world) delivery(id string, files ...[2]string) bot.Delivery {
	w.t.Helper()
	origin, err := Folder(w.out)
	if err != nil {
		w.t.Fatal(err)
	}
	d := bot.Delivery{ID: id, Kind: bot.DeliverFiles, Origin: origin}
	for _, file := range files {
		blob, err := w.blobs.Put(w.t.Context(), strings.NewReader(file[1]), 0)
		if err != nil {
			w.t.Fatal(err)
		}
		d.Files = append(d.Files, bot.Artifact{Name: file[0], Size: blob.Size, Blob: blob.SHA256})
	}
	return d
}

func (w *world) send(d bot.Delivery) bot.Receipt {
	w.t.Helper()
	receipt, err := w.Send(w.t.Context(), d)
	if err != nil {
		w.t.Fatal(err)
	}
	return receipt
}

// expect compares the folder with name and content pairs: nothing else may be there.
func (w *world) expect(want map[string]string) {
	w.t.Helper()
	seen := map[string]bool{}
	err := filepath.WalkDir(w.out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(w.out, path)
		if err != nil {
			return err
		}
		seen[name] = true
		if _, ok := want[name]; !ok {
			w.t.Errorf("%s is in the folder and should not be", name)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for name, content := range want {
		got, err := os.ReadFile(filepath.Join(w.out, name))
		if err != nil || string(got) != content {
			w.t.Errorf("%s holds %q, %v; want %q", name, got, err, content)
		}
	}
}

func (w *world) put(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func TestFilesAreWrittenOnceAndFoundAgain(t *testing.T) {
	w := newWorld(t)
	d := w.delivery("d1", [2]string{"report.md", "# one"}, [2]string{"charts/a.png", "png"})
	if _, found, err := w.Find(t.Context(), d); found || err != nil {
		t.Fatalf("Find before Send: %v, %v", found, err)
	}
	receipt := w.send(d)
	want := map[string]string{"report.md": "# one", "charts/a.png": "png"}
	w.expect(want)
	placed := PlacedIn(receipt)
	if len(placed) != 2 || placed[1].Path != filepath.Join(w.out, "charts/a.png") {
		t.Errorf("the receipt speaks of %+v", placed)
	}
	again, found, err := w.Find(t.Context(), d)
	if !found || err != nil || again.Detail != receipt.Detail {
		t.Errorf("Find after Send: %v, %v, %+v", found, err, again)
	}
	w.send(d) // a lost receipt: sent again
	w.expect(want)
	if err := os.Remove(filepath.Join(w.out, "report.md")); err != nil {
		t.Fatal(err)
	}
	if _, found, _ := w.Find(t.Context(), d); found {
		t.Error("Find says that a file which is gone is there")
	}
}

func TestALaterRunReplacesWhatAnEarlierOneWrote(t *testing.T) {
	w := newWorld(t)
	w.send(w.delivery("d1", [2]string{"report.md", "last week"}))
	w.send(w.delivery("d2", [2]string{"report.md", "this week"}))
	w.expect(map[string]string{"report.md": "this week"})
}

// TestWhatWasWrittenKeepsNoContent: else neither retention nor a purge would
// reach a file that was once written to a folder.
func TestWhatWasWrittenKeepsNoContent(t *testing.T) {
	w := newWorld(t)
	d := w.delivery("d1", [2]string{"report.md", "a secret"})
	w.send(d)
	for hash, err := range w.store.References(t.Context(), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		if hash == d.Files[0].Blob {
			t.Error("the record of a written file counts as a reference to its content")
		}
	}
}

func TestWhatAPersonPutThereStays(t *testing.T) {
	w := newWorld(t)
	w.put("report.md", "my own notes")
	w.send(w.delivery("d1", [2]string{"report.md", "generated"}))
	w.expect(map[string]string{"report.md": "my own notes", "report-2.md": "generated"})

	// What we wrote and a person then changed is theirs.
	w.put("report-2.md", "edited by hand")
	receipt := w.send(w.delivery("d2", [2]string{"report.md", "generated again"}))
	w.expect(map[string]string{"report.md": "my own notes", "report-2.md": "edited by hand", "report-3.md": "generated again"})
	if placed := PlacedIn(receipt); placed[0].Name != "report.md" || filepath.Base(placed[0].Path) != "report-3.md" {
		t.Errorf("the receipt speaks of %+v", placed)
	}
}

func TestLinksAreNeverWrittenThrough(t *testing.T) {
	w := newWorld(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(w.out, 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"report.md": secret, "charts": filepath.Dir(secret)} {
		if err := os.Symlink(to, filepath.Join(w.out, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(w.out, "pipe.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	receipt := w.send(w.delivery("d1", [2]string{"report.md", "a"}, [2]string{"charts/secret", "b"}, [2]string{"../escape", "c"}, [2]string{"pipe.txt", "d"}))
	if got, err := os.ReadFile(secret); string(got) != "untouched" || err != nil {
		t.Errorf("the link's target holds %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(w.out, "report-2.md")); string(got) != "a" || err != nil {
		t.Errorf("report-2.md holds %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(w.out, "pipe-2.txt")); string(got) != "d" || err != nil {
		t.Errorf("pipe-2.txt holds %q, %v", got, err)
	}
	refused := map[string]string{}
	for _, u := range receipt.Undelivered {
		refused[u.Name] = u.Reason
	}
	if !strings.Contains(refused["charts/secret"], "charts is a link") || !strings.Contains(refused["../escape"], "leads out") || len(refused) != 2 {
		t.Errorf("undelivered are %v", refused)
	}
}

// TestAKillBetweenWritingAndRemembering stands for a process that died after
// the plan was stored and some files were written.
func TestAKillBetweenWritingAndRemembering(t *testing.T) {
	w := newWorld(t)
	w.put("report.md", "my own notes")
	d := w.delivery("d1", [2]string{"report.md", "generated"}, [2]string{"b.csv", "x"})
	ctx, cancel := context.WithCancel(t.Context())
	dying := &Channel{blobs: w.blobs, records: &dies{Records: w.records, cancel: cancel, after: 2}, clock: fixedClock{}}
	if _, err := dying.Send(ctx, d); err == nil {
		t.Fatal("the first life ended without an error")
	}
	w.send(d)
	w.expect(map[string]string{"report.md": "my own notes", "report-2.md": "generated", "b.csv": "x"})
	w.send(w.delivery("d2", [2]string{"b.csv", "y"})) // still known as ours
	w.expect(map[string]string{"report.md": "my own notes", "report-2.md": "generated", "b.csv": "y"})
}

// dies ends the context after a number of writes.
type dies struct {
	bot.Records
	cancel context.CancelFunc
	after  int
}

func (d *dies) Put(ctx context.Context, bucket, key string, value []byte, revision uint64) (uint64, error) {
	if d.after--; d.after < 0 {
		d.cancel()
		return 0, context.Canceled
	}
	return d.Records.Put(ctx, bucket, key, value, revision)
}

func TestAFolderThatCannotBeMadeIsFinal(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(w.out, []byte("a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := w.Send(t.Context(), w.delivery("d1", [2]string{"report.md", "a"}))
	var failed *bot.SendError
	if !errors.As(err, &failed) || failed.Class != bot.Permanent {
		t.Errorf("Send gave %v, want a permanent *bot.SendError", err)
	}
}

func TestDamagedContentIsNamedAndNotWritten(t *testing.T) {
	w := newWorld(t)
	d := w.delivery("d1", [2]string{"report.md", "good"})
	other := w.delivery("d0", [2]string{"x", "bad!"})
	damaged := &Channel{blobs: swapped{w.blobs, other.Files[0].Blob}, records: w.records, clock: fixedClock{}}
	receipt, err := damaged.Send(t.Context(), d)
	if err != nil || len(receipt.Undelivered) != 1 || !strings.Contains(receipt.Undelivered[0].Reason, "damaged") {
		t.Errorf("Send gave %+v, %v", receipt, err)
	}
	w.expect(map[string]string{})
}

// swapped opens another content than the one asked for.
type swapped struct {
	*boltstore.Blobs
	instead string
}

func (s swapped) Open(ctx context.Context, _ string) (io.ReadSeekCloser, error) {
	return s.Blobs.Open(ctx, s.instead)
}

func TestTextsNeedNoFolder(t *testing.T) {
	w := newWorld(t)
	d := w.delivery("d1")
	d.Kind, d.Message = bot.DeliverAnswer, "hello"
	if receipt := w.send(d); receipt.ID == "" {
		t.Error("the receipt has no id")
	}
	if _, err := os.Stat(w.out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made for a text: %v", err)
	}
}

func TestInputsAreNeverOpenedByPath(t *testing.T) {
	w := newWorld(t)
	var to bytes.Buffer
	_, err := w.Fetch(t.Context(), bot.Event{}, bot.InputRef{Name: "passwd", Ref: "/etc/passwd"}, &to)
	var final *bot.InputError
	if !errors.As(err, &final) || to.Len() != 0 {
		t.Errorf("Fetch gave %v and %d bytes", err, to.Len())
	}
}

func TestEventOfARequest(t *testing.T) {
	r := Request{ID: "01X", Out: "/tmp/a/../out", User: "alice", Prompt: "sum", Skill: "s", After: "01W", Conversation: "console:01W"}
	event, err := r.Event()
	if err != nil {
		t.Fatal(err)
	}
	if event.Key != "console:01X" || event.Origin.Conversation != "console:01W" || OutOf(event.Origin) != "/tmp/out" || event.Actor.ID != "console:alice" || !event.Inline {
		t.Errorf("the event is %+v", event)
	}
	r.Out = "out"
	if _, err := r.Event(); err == nil {
		t.Error("a relative folder was taken")
	}
}
