package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/bot/storetest"
)

// acknowledged are the tasks that the bot has said it took.
type acknowledged struct {
	mu  sync.Mutex // guards ids
	ids []string
}

func (a *acknowledged) so(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids = append(a.ids, id)
}

func (a *acknowledged) far() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.ids)
}

// load asks all the time, with a file for one task in five, until the returned
// function is called.
func (s *server) load(taken *acknowledged) (end func()) {
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for person := range 3 {
		asking.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(30 * time.Millisecond): // people, not a flood
				}
				status, location := s.composed(fmt.Sprintf("Is anybody there? Person %d asks for the time %d", person, n))
				if status == http.StatusSeeOther {
					taken.so(path.Base(location))
				}
			}
		})
	}
	return func() {
		close(stop)
		asking.Wait()
	}
}

// TestBackupUnderLoad asks all the time, takes backups meanwhile, and restores
// each. What was acknowledged before a backup began is in it, all in it agrees,
// its audit is whole, what its tasks speak of is there, it keeps every promise of
// a store, and a process that starts with it brings what was under way to an end.
func TestBackupUnderLoad(t *testing.T) {
	h := newHome(t)
	h.configure("sandbox: {pool: 0}\nbudgets: {actor_daily_tasks: 0, daily_tasks: 0}\nschedules: {root: " + h.dir + "}\n")
	s := h.serve()
	h.run(0, "schedules", "add", "hourly", "0 * * * *", "Report", "sales.csv", "--skill", "tiny", "--tz", "UTC")
	taken := &acknowledged{}
	end := s.load(taken)
	s.ask("Report on this file: tiny")
	before := map[string][]string{}
	names := []string{"one.backup", "two.backup", "three.backup"}
	for _, name := range names {
		for _, task := range h.tasks() {
			before[name] = append(before[name], task.Task)
		}
		before[name] = append(before[name], taken.far()...)
		h.run(0, "backup", name)
	}
	end()
	s.stop()
	if first, last := before[names[0]], taken.far(); len(first) == 0 || len(last) <= len(first)/2 {
		t.Fatalf("%d tasks were taken before the first backup, %d in all: that is no load", len(first), len(last))
	}
	for n, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(h.dir, "restored-"+name)
			env := []string{"SANDPIPER_DATA_DIR=" + dir}
			h := &home{t: t, dir: h.dir}
			h.ends(0, env, "restore", name)
			had := looksWhole(t, dir)
			for _, id := range before[name] {
				if !had[id] {
					t.Errorf("task %s was acknowledged before the backup began, and is not in it", id)
				}
			}
			t.Logf("%d tasks in it, %d of them acknowledged before", len(had), len(before[name]))
			if n == len(names)-1 {
				t.Run("conforms", func(t *testing.T) { conforms(t, dir) })
			}
			h.ends(0, env, "audit", "verify")
			var list []listedTask
			h.read(h.ends(0, env, "tasks", "list", "--json", "--limit", "100000"), &list)
			if len(list) < len(had) {
				t.Errorf("%d tasks are listed, %d were restored", len(list), len(had))
			}
			for _, task := range list {
				if !task.State.Final() {
					t.Errorf("task %s is %s after a start that brings all to an end", task.Task, task.State)
				}
			}
			h.ends(0, env, "doctor", "--json", "--no-probe")
			looksWhole(t, dir)
		})
	}
}

// ends runs a command to its end, which must be this status.
func (h *home) ends(want int, env []string, args ...string) *process {
	h.t.Helper()
	p := h.start(env, args...)
	if status := p.wait(); status != want {
		h.t.Fatalf("%v ends with %d, want %d\n%s%s", args, status, want, p.out.String(), p.err.String())
	}
	return p
}

// looksWhole reads all of a data folder that no process has open, and returns
// its tasks.
func looksWhole(t *testing.T, dir string) map[string]bool {
	t.Helper()
	store, err := boltstore.Open(boltstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	self, err := openIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := bot.VerifyAudit(t.Context(), store, self.key.Public().(ed25519.PublicKey))
	if err != nil || chain.Last == 0 {
		t.Errorf("audit: %+v %v", chain, err)
	}
	audited := map[string]bool{}
	for entry, err := range store.Audit(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		audited[entry.Task] = true
	}
	tasks, err := store.Tasks(t.Context(), bot.TaskQuery{Commands: true, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	had := map[string]bool{}
	for i := range tasks {
		had[tasks[i].ID] = true
		if !audited[tasks[i].ID] {
			t.Errorf("the audit does not know of task %s", tasks[i].ID)
		}
	}
	content := 0
	for hash, err := range store.References(t.Context(), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		body, err := os.ReadFile(filepath.Join(dir, "blobs", hash[:2], hash))
		if errors.Is(err, os.ErrNotExist) {
			continue // a skill's or an image's hash, which is no content
		}
		if sum := sha256.Sum256(body); err != nil || hex.EncodeToString(sum[:]) != hash {
			t.Errorf("content %s is not what it was (%v)", hash, err)
		}
		content++
	}
	for i := range tasks {
		for _, in := range tasks[i].Inputs {
			if _, err := os.Stat(filepath.Join(dir, "blobs", in.Blob[:2], in.Blob)); err != nil {
				t.Errorf("%s of task %s: %v", in.Name, tasks[i].ID, err)
			}
		}
	}
	if content == 0 {
		t.Error("no content is there")
	}
	return had
}

// conforms puts copies of a data folder's database through the suite that says
// what a store promises.
func conforms(t *testing.T, dir string) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(dir, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	self, err := openIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	// The store's own test tries a hundred histories; each here begins with all
	// that was restored.
	checks := flag.Lookup("rapid.checks")
	usual := checks.Value.String()
	if err := checks.Value.Set("3"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = checks.Value.Set(usual) }()
	storetest.Store(t, func(dir string) (storetest.Opened, error) {
		to := filepath.Join(dir, databaseFile)
		if _, err := os.Stat(to); errors.Is(err, os.ErrNotExist) {
			if err := os.WriteFile(to, body, 0o600); err != nil {
				return storetest.Opened{}, err
			}
		}
		s, err := boltstore.Open(boltstore.Options{Dir: dir})
		if err != nil {
			return storetest.Opened{}, err
		}
		closed := func() error { return errors.Join(s.Verify(context.Background()), s.Close()) }
		return storetest.Opened{Store: s, Close: closed, Key: self.key.Public().(ed25519.PublicKey)}, nil
	})
}

// archived is a file of a backup.
type archived struct {
	name string
	kind byte
	body []byte
}

func readBackup(t *testing.T, path string) (files []archived) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(zipped); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, archived{head.Name, head.Typeflag, body})
	}
}

func writeBackup(t *testing.T, path string, files []archived) {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		head := &tar.Header{Name: f.name, Typeflag: f.kind, Mode: 0o600, Size: int64(len(f.body))}
		if f.kind == tar.TypeSymlink {
			head.Size, head.Linkname = 0, string(f.body)
			f.body = nil
		}
		if err := archive.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(f.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close(), os.WriteFile(path, out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// edited opens a database's bytes and changes them.
func edited(t *testing.T, body []byte, change func(*bolt.Tx) error) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		t.Fatal(err)
	}
	changed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// backUpATask asks with a file where there is no engine: that is a task too.
func (h *home) backUpATask(name string) {
	h.t.Helper()
	s := h.serve(nowhereToRun)
	s.askWith("csv-report", "Report on this file")
	h.ends(0, nil, "backup", name)
	// Not in good order, which would give the task its time.
	if err := s.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	s.wait()
}

// TestRestoreRefusesWhatIsSpoilt spoils a backup in many ways: each is told, and
// no database is left.
func TestRestoreRefusesWhatIsSpoilt(t *testing.T) {
	h := &home{t: t, dir: t.TempDir()}
	h.write("conf.yaml", "listen: 127.0.0.1:0\n")
	h.write("sales.csv", sales)
	h.backUpATask("whole")
	whole := filepath.Join(h.dir, "whole")
	packed, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	files := readBackup(t, whole)
	content := slices.IndexFunc(files, func(f archived) bool { return strings.HasPrefix(f.name, "blobs/") })
	if files[0].name != databaseFile || content < 0 {
		t.Fatalf("the backup holds %v", files)
	}
	with := func(change func(files []archived) []archived) []byte {
		path := filepath.Join(t.TempDir(), "spoilt")
		copied := slices.Clone(files)
		for i := range copied {
			copied[i].body = bytes.Clone(copied[i].body)
		}
		writeBackup(t, path, change(copied))
		spoilt, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return spoilt
	}
	flipped := func(at int) []byte {
		spoilt := bytes.Clone(packed)
		spoilt[at] ^= 1
		return spoilt
	}
	last := len(packed) // of it the last eight bytes are the checksum and the length
	database := func(change func(*bolt.Tx) error) []byte {
		return with(func(f []archived) []archived { f[0].body = edited(t, f[0].body, change); return f })
	}
	for name, test := range map[string]struct {
		backup []byte
		says   string
	}{
		"cut off":       {packed[:len(packed)/2], "cannot be restored"},
		"nothing":       {nil, "cannot be restored"},
		"one byte":      {flipped(last / 2), "cannot be restored"},
		"its checksum":  {flipped(last - 8), "cannot be restored"},
		"its length":    {flipped(last - 4), "cannot be restored"},
		"its end":       {packed[:last-1], "cannot be restored"},
		"more behind":   {append(bytes.Clone(packed), "more"...), "cannot be restored"},
		"no database":   {with(func(f []archived) []archived { return f[1:] }), "no database"},
		"other content": {with(func(f []archived) []archived { f[content].body[0] ^= 1; return f }), "does not have its hash"},
		"rotten pages": {with(func(f []archived) []archived {
			for i := 2 * 4096; i < len(f[0].body); i++ {
				f[0].body[i] ^= 0xff
			}
			return f
		}), "damaged"},
		"an index entry less": {database(func(tx *bolt.Tx) error {
			c := tx.Bucket([]byte("index")).Cursor()
			c.First()
			return c.Delete()
		}), "does not lead to task"},
		"a task less": {database(func(tx *bolt.Tx) error {
			c := tx.Bucket([]byte("tasks")).Cursor()
			c.First()
			return c.Delete()
		}), "damaged"},
		"a stranger's file": {with(func(f []archived) []archived { return append(f, archived{"conf.yaml", tar.TypeReg, nil}) }), "which no backup does"},
		"a way out":         {with(func(f []archived) []archived { return append(f, archived{"skills/../../x", tar.TypeReg, nil}) }), "which no backup does"},
		"a link":            {with(func(f []archived) []archived { return append(f, archived{"skills/x", tar.TypeSymlink, []byte("/etc")}) }), "which no backup does"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &home{t: t, dir: h.dir}
			file, to := filepath.Join(t.TempDir(), "spoilt"), filepath.Join(t.TempDir(), "data")
			if err := os.WriteFile(file, test.backup, 0o600); err != nil {
				t.Fatal(err)
			}
			p := h.ends(1, []string{"SANDPIPER_DATA_DIR=" + to}, "restore", file)
			if text := p.err.String(); !strings.Contains(text, test.says) || !strings.Contains(text, "nothing was changed") {
				t.Errorf("it says %s", text)
			}
			if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
				t.Errorf("left: %v %v", left, err)
			}
		})
	}
}

// TestRestoreWhereOnlyTheDatabaseWasMovedAside does what the message about a
// damaged database says: content and skills are there still.
func TestRestoreWhereOnlyTheDatabaseWasMovedAside(t *testing.T) {
	h := &home{t: t, dir: t.TempDir()}
	h.write("conf.yaml", "listen: 127.0.0.1:0\n")
	h.write("sales.csv", sales)
	h.backUpATask("whole")
	data := h.dataDir()
	h.write(".local/state/sandpiper/skills/mine/SKILL.md", "mine")
	if err := os.Rename(filepath.Join(data, databaseFile), filepath.Join(h.dir, "aside")); err != nil {
		t.Fatal(err)
	}
	h.ends(0, nil, "restore", "whole")
	looksWhole(t, data)
	if mine, err := os.ReadFile(filepath.Join(data, "skills", "mine", "SKILL.md")); err != nil || string(mine) != "mine" {
		t.Errorf("a skill that was there: %q %v", mine, err)
	}
	var list []listedTask
	if h.read(h.ends(0, []string{nowhereToRun}, "tasks", "list", "--json"), &list); len(list) != 1 {
		t.Errorf("tasks are %+v", list)
	}
}
