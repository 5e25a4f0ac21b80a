package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// answerFile holds an answer's text in a folder that nobody watches.
const answerFile = "answer.md"

// Destination is an absolute folder as a place where nobody waits for the text:
// it is written there too, as answer.md, so that a run without files, one whose
// input is missing for instance, leaves word of it.
func Destination(dir string) (bot.Origin, error) {
	origin, err := Folder(dir)
	if err != nil {
		return origin, err
	}
	to, err := json.Marshal(address{Out: OutOf(origin), Words: true})
	if err != nil {
		return origin, err
	}
	origin.Address = string(to)
	return origin, nil
}

// asFiles is the delivery as files to write, and the channel that reads them.
// None are left where the text counts as read by whoever watches the task.
func (c *Channel) asFiles(delivery bot.Delivery) (*Channel, bot.Delivery) {
	if delivery.Kind == bot.DeliverFiles {
		return c, delivery
	}
	var to address
	delivery.Files = nil
	if delivery.Kind != bot.DeliverAnswer || delivery.Message == "" || delivery.Origin.Adapter != Name ||
		json.Unmarshal([]byte(delivery.Origin.Address), &to) != nil || !to.Words {
		return c, delivery
	}
	text := []byte(delivery.Message + "\n")
	sum := sha256.Sum256(text)
	file := bot.Artifact{Name: answerFile, MediaType: "text/markdown; charset=utf-8", Size: int64(len(text)), Blob: hex.EncodeToString(sum[:])}
	delivery.Files = []bot.Artifact{file}
	return &Channel{blobs: words{c.blobs, file.Blob, text}, records: c.records, clock: c.clock}, delivery
}

// words opens a text that is in no store.
type words struct {
	Opener
	sha256 string
	text   []byte
}

// Open implements Opener.
func (w words) Open(ctx context.Context, sha256 string) (io.ReadSeekCloser, error) {
	if sha256 != w.sha256 {
		return w.Opener.Open(ctx, sha256)
	}
	return inMemory{bytes.NewReader(w.text)}, nil
}

type inMemory struct{ *bytes.Reader }

// Close implements io.Closer.
func (inMemory) Close() error { return nil }
