package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gabriel-vasile/mimetype"
)

// Collect brings back the regular files of a folder, in the order of their
// paths. Nothing that the guest names is opened on the host: names only reach
// Store after they were found safe, and content comes as a stream.
//
// Links, pipes, devices, sparse files, unsafe names, unchanged inputs and
// whatever is beyond a limit are left out and listed with the reason. An error
// means that the session has ended, or is Store's own.
func (s *Session) Collect(ctx context.Context, options CollectOptions) (Collected, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return Collected{}, fmt.Errorf("collect files: %w", err)
	}
	defer release()
	began := time.Now()
	c := s.newCollector(options)
	dir := strings.Trim(options.Dir, "/")
	if dir == "" {
		dir = "out"
	}
	if reason := unsafeName(dir); reason != "" {
		return Collected{}, fmt.Errorf("collect files: folder: %s", reason)
	}
	inputs := map[string][]string{}
	for size, sums := range s.inputs {
		if size > 0 {
			inputs[strconv.FormatInt(size, 10)] = sums
		}
	}
	order := map[string]any{
		"dir": dir, "files": c.maxFiles, "size": c.maxSize, "total": c.maxTotal, "depth": maxDepth, "inputs": inputs,
	}
	if err := s.sendPatiently(ctx, frameGet, order, nil); err != nil {
		s.end(err)
		return Collected{}, fmt.Errorf("collect files: %w", err)
	}
	err = c.run(ctx)
	c.found.Took = time.Since(began)
	if err != nil {
		s.end(err)
		return c.found, fmt.Errorf("collect files: %w", err)
	}
	return c.found, c.refused
}

// collector takes files from the wire. All limits are checked here again:
// the guest's own checks only spare the traffic.
type collector struct {
	wire              *wire
	options           CollectOptions
	maxFiles          int
	maxSize, maxTotal int64
	total             int64
	seen              map[string]bool
	found             Collected
	refused           error // what Store said; nothing is stored after it
}

const maxSkipped = 1000

func (s *Session) newCollector(options CollectOptions) *collector {
	l := s.options.Limits
	c := &collector{
		wire: s.wire, options: options, maxFiles: l.Artifacts, maxSize: l.Artifact, maxTotal: l.ArtifactTotal,
		seen: map[string]bool{},
	}
	if options.MaxFiles > 0 {
		c.maxFiles = options.MaxFiles
	}
	if options.MaxSize > 0 {
		c.maxSize = options.MaxSize
	}
	return c
}

// next gives the next frame, and gives a silent guest up.
func (c *collector) next(ctx context.Context) (frame, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errStalled)
	defer cancel()
	for {
		f, err := c.wire.next(ctx)
		if err != nil || !late(f.kind) {
			return f, err
		}
	}
}

func (c *collector) run(ctx context.Context) error {
	for {
		f, err := c.next(ctx)
		if err != nil {
			return err
		}
		switch f.kind {
		case frameFile:
			if err := c.file(ctx, f); err != nil {
				return err
			}
		case frameFiles:
			return c.finish(f)
		default:
			return fmt.Errorf("%w: frame %q among files", errProtocol, f.kind)
		}
	}
}

func (c *collector) finish(f frame) error {
	var end struct {
		Skipped [][2]string `json:"skipped"`
	}
	if err := f.decode(&end); err != nil {
		return err
	}
	for _, skipped := range end.Skipped {
		c.skip(skipped[0], printable(skipped[1], 100))
	}
	return nil
}

func (c *collector) skip(path, reason string) {
	if len(c.found.Skipped) < maxSkipped {
		c.found.Skipped = append(c.found.Skipped, Skipped{Name: printable(path, 200), Reason: reason})
	}
}

// file takes one file. A file beyond the limits that the guest was told ends
// the session: an honest guest does not send it.
func (c *collector) file(ctx context.Context, f frame) error {
	var head struct {
		Path string `json:"path"`
		Size int64  `json:"size"`
	}
	if err := f.decode(&head); err != nil {
		return err
	}
	c.total += max(0, head.Size)
	if head.Size < 0 || head.Size > c.maxSize || c.total > c.maxTotal || len(c.seen) >= c.maxFiles {
		return fmt.Errorf("%w: a file beyond the limits it was told", errProtocol)
	}
	if c.seen[head.Path] {
		return fmt.Errorf("%w: the same file twice", errProtocol)
	}
	c.seen[head.Path] = true
	content := &fileReader{collector: c, left: head.Size, next: func() (frame, error) { return c.next(ctx) }}
	if reason := unsafeName(head.Path); reason != "" {
		c.skip(head.Path, reason)
		return content.drain()
	}
	hash := sha256.New()
	var start bytes.Buffer
	if c.refused == nil && c.options.Store != nil {
		tee := io.TeeReader(content, io.MultiWriter(hash, &limitedBuffer{&start}))
		c.refused = c.options.Store(head.Path, head.Size, tee)
		if content.err != nil {
			return content.err
		}
		if _, err := io.Copy(io.Discard, tee); err != nil {
			return err
		}
	}
	if err := content.drain(); err != nil {
		return err
	}
	if c.refused == nil {
		c.found.Files = append(c.found.Files, File{
			Name: head.Path, Size: head.Size, SHA256: hex.EncodeToString(hash.Sum(nil)), MediaType: mediaType(start.Bytes(), head.Path),
		})
	}
	return nil
}

// mediaType sniffs a file by its first bytes. Text is told apart further by
// its ending, and only into other kinds of text.
func mediaType(start []byte, name string) string {
	found := mimetype.Detect(start)
	if !found.Is("text/plain") {
		return found.String()
	}
	endings := map[string]string{
		".csv": "text/csv; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".tsv": "text/tab-separated-values; charset=utf-8",
		".json": "application/json", ".sql": "application/sql", ".yaml": "application/yaml", ".yml": "application/yaml",
	}
	for ending, media := range endings {
		if strings.HasSuffix(strings.ToLower(name), ending) {
			return media
		}
	}
	return found.String()
}

// limitedBuffer keeps the first bytes, for sniffing.
type limitedBuffer struct{ kept *bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), max(0, 4096-b.kept.Len()))])
	return len(p), nil
}

// fileReader gives exactly the announced bytes of one file.
type fileReader struct {
	collector *collector
	next      func() (frame, error)
	left      int64
	buffer    []byte
	err       error // why the stream broke; not io.EOF
}

// Read implements io.Reader.
func (r *fileReader) Read(p []byte) (int, error) {
	for len(r.buffer) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.left == 0 {
			return 0, io.EOF
		}
		f, err := r.next()
		switch {
		case err != nil:
			r.err = err
		case f.kind != frameData || len(f.tail) == 0 || int64(len(f.tail)) > r.left:
			r.err = fmt.Errorf("%w: not the content it announced", errProtocol)
		default:
			r.buffer = f.tail
			r.left -= int64(len(f.tail))
		}
	}
	n := copy(p, r.buffer)
	r.buffer = r.buffer[n:]
	return n, nil
}

// drain reads what Store left.
func (r *fileReader) drain() error {
	_, err := io.Copy(io.Discard, r)
	return err
}
