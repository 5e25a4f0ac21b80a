package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// wire is the one stream to a guest. A goroutine reads frames and offers them
// one at a time, so a guest that floods only blocks itself.
type wire struct {
	closer io.Closer
	to     io.Writer
	frames chan frame
	done   chan struct{} // closed when no further frame will come
	err    error         // why; to be read after done
	quit   chan struct{}
	once   sync.Once
	said   *demux
}

// newWire starts reading from; Close ends it.
func newWire(conn io.WriteCloser, from io.Reader) *wire {
	split := &demux{from: from}
	w := &wire{
		closer: conn, to: conn, said: split,
		frames: make(chan frame), done: make(chan struct{}), quit: make(chan struct{}),
	}
	go w.read(bufio.NewReaderSize(split, 64<<10))
	return w
}

// read offers frames until there is no further one. Then nothing is written
// either: a guest that ended or lied may have left what it gets unread, and who
// writes to it would wait for nothing.
func (w *wire) read(from io.Reader) {
	w.err = w.offer(from)
	close(w.done)
	w.abort()
}

func (w *wire) offer(from io.Reader) error {
	for {
		f, err := readFrame(from)
		if err != nil {
			return err
		}
		select {
		case w.frames <- f:
		case <-w.quit:
			return io.ErrClosedPipe
		}
	}
}

// Close ends the stream and waits for the reader.
func (w *wire) Close() {
	w.once.Do(func() {
		close(w.quit)
		w.closer.Close()
	})
	<-w.done
}

// abort ends the stream without waiting; the reader ends soon after.
func (w *wire) abort() {
	w.once.Do(func() {
		close(w.quit)
		w.closer.Close()
	})
}

// send writes one frame. A guest that does not read is given up when ctx
// ends: the stream is closed then.
func (w *wire) send(ctx context.Context, kind byte, head any, tail []byte) error {
	packed, err := encodeFrame(kind, head, tail)
	if err != nil {
		return err
	}
	return w.write(ctx, packed)
}

func (w *wire) write(ctx context.Context, packed []byte) error {
	stop := context.AfterFunc(ctx, w.abort)
	defer stop()
	if _, err := w.to.Write(packed); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		select {
		case <-w.done: // the reader's reason is the first
			return fmt.Errorf("read from guest: %w", w.err)
		default:
			return fmt.Errorf("write to guest: %w", err)
		}
	}
	return nil
}

// next gives the guest's next frame, errTrouble when it says that it gives
// up, or why there is none.
func (w *wire) next(ctx context.Context) (frame, error) {
	select {
	case f := <-w.frames:
		if f.kind == frameTrouble {
			var trouble struct {
				Reason string `json:"reason"`
			}
			if err := f.decode(&trouble); err != nil {
				return frame{}, err
			}
			return frame{}, fmt.Errorf("%w: it gives up: %s", errProtocol, printable(trouble.Reason, 200))
		}
		return f, nil
	case <-w.done:
		return frame{}, fmt.Errorf("read from guest: %w", w.err)
	case <-ctx.Done():
		return frame{}, context.Cause(ctx)
	}
}

// late reports whether a frame is the answer to what nobody waits for any
// more: a preloading step.
func late(kind byte) bool { return kind == frameWarmed }

// await gives the next frame of the wanted kind; late answers are passed over,
// anything else is a broken protocol.
func (w *wire) await(ctx context.Context, kind byte) (frame, error) {
	for {
		f, err := w.next(ctx)
		if err != nil || f.kind == kind {
			return f, err
		}
		if !late(f.kind) {
			return frame{}, fmt.Errorf("%w: frame %q in place of %q", errProtocol, f.kind, kind)
		}
	}
}

// ended reports whether err means that the guest's side of the stream is gone.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe)
}
