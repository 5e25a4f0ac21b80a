package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// The kinds of frames from host to guest.
const (
	frameHello  byte = 'H'
	frameLease  byte = 'L'
	framePut    byte = 'P'
	frameRun    byte = 'R'
	frameCancel byte = 'K'
	frameGet    byte = 'G'
	frameWarm   byte = 'W'
)

// The kinds of frames from guest to host.
const (
	frameReady    byte = 'r'
	frameStored   byte = 'p'
	frameOutput   byte = 'o'
	frameFinished byte = 'f'
	frameFile     byte = 'g'
	frameData     byte = 'd'
	frameFiles    byte = 'e'
	frameWarmed   byte = 'w'
	frameTrouble  byte = 'x'
)

const (
	maxFrame   = 2 << 20 // bytes of a frame's body, both ways
	maxHead    = 1 << 20 // bytes of its JSON head
	maxProgram = 1 << 20 // bytes of a program's source
	chunkSize  = 128 << 10
)

// errProtocol marks a guest that broke the protocol: it is not to be trusted
// with another frame.
var errProtocol = errors.New("the guest broke the protocol")

// frame is one message: a kind, a JSON object and raw bytes.
type frame struct {
	kind byte
	head []byte
	tail []byte
}

// readFrame reads one frame. It allocates no more than the frame's announced
// length, and that only up to maxFrame. io.EOF means that the stream ended
// between frames.
func readFrame(r io.Reader) (frame, error) {
	var header [5]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	size := binary.BigEndian.Uint32(header[:4])
	if size > maxFrame {
		return frame{}, fmt.Errorf("%w: a frame of %d bytes", errProtocol, size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return frame{}, fmt.Errorf("read frame: %w", io.ErrUnexpectedEOF)
	}
	head, tail, found := bytes.Cut(body, []byte("\n"))
	if !found || len(head) > maxHead {
		return frame{}, fmt.Errorf("%w: a frame without a head", errProtocol)
	}
	return frame{kind: header[4], head: head, tail: tail}, nil
}

// decode reads the frame's head into v.
func (f frame) decode(v any) error {
	if err := json.Unmarshal(f.head, v); err != nil {
		return fmt.Errorf("%w: head of frame %q: %w", errProtocol, f.kind, err)
	}
	return nil
}

// encodeFrame builds one frame.
func encodeFrame(kind byte, head any, tail []byte) ([]byte, error) {
	packed, err := beginFrame(nil, kind, head, len(tail))
	return append(packed, tail...), err
}

// beginFrame writes a frame without its tail into packed, from its start and
// with room for the tail of that size; head must encode to JSON without a
// newline, which encoding/json never writes.
func beginFrame(packed []byte, kind byte, head any, tail int) ([]byte, error) {
	line, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("encode frame %q: %w", kind, err)
	}
	size := len(line) + 1 + tail
	if size > maxFrame {
		return nil, fmt.Errorf("encode frame %q: %d bytes are too many", kind, size)
	}
	packed = slices.Grow(packed[:0], 5+size)
	packed = binary.BigEndian.AppendUint32(packed, uint32(size))
	packed = append(packed, kind)
	packed = append(packed, line...)
	return append(packed, '\n'), nil
}

// demux takes the engine's multiplexed stream apart: Read gives the
// container's stdout; of its stderr the last bytes are kept for the operator.
type demux struct {
	from   io.Reader
	left   uint32 // bytes of the current chunk not yet read
	stderr bool   // the current chunk is stderr
	said   []byte // the end of stderr, at most keepStderr bytes
}

const keepStderr = 4 << 10

// Read implements io.Reader.
func (d *demux) Read(p []byte) (int, error) {
	for {
		if d.left == 0 {
			var header [8]byte
			if _, err := io.ReadFull(d.from, header[:]); err != nil {
				return 0, err
			}
			d.stderr = header[0] == 2
			d.left = binary.BigEndian.Uint32(header[4:])
			continue
		}
		part := p[:min(len(p), int(d.left))]
		n, err := d.from.Read(part)
		d.left -= uint32(n)
		if !d.stderr {
			return n, err
		}
		d.said = append(d.said, part[:n]...)
		d.said = d.said[max(0, len(d.said)-keepStderr):]
		if err != nil {
			return 0, err
		}
	}
}

// unmarshalList reads a JSON list of exactly these values.
func unmarshalList(data []byte, into []any) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) != len(into) {
		return fmt.Errorf("a list of %d in place of %d", len(list), len(into))
	}
	for i, item := range list {
		if err := json.Unmarshal(item, into[i]); err != nil {
			return err
		}
	}
	return nil
}
