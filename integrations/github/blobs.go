package github

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/go-github/v60/github"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// uploadOne streams a stored file to GitHub as a blob, without holding it in
// memory, and returns the blob's id.
func (c *committing) uploadOne(ctx context.Context, file bot.Artifact) (string, error) {
	content, err := c.options.Blobs.Open(ctx, file.Blob)
	if err != nil {
		return "", fmt.Errorf("open file: %w", err)
	}
	defer func() { _ = content.Close() }()
	const head, tail = `{"encoding":"base64","content":"`, `"}`
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(encode(w, content, head, tail))
	}()
	// The transport has closed the body, and so the pipe, when Do returns;
	// closing it again lets encode go in any case.
	defer func() { _ = r.Close(); <-done }()
	request, err := c.client.NewRequest(http.MethodPost, fmt.Sprintf("repos/%s/%s/git/blobs", c.owner, c.name), nil)
	if err != nil {
		return "", fmt.Errorf("upload file: %w", err)
	}
	request.Body = r
	request.ContentLength = int64(len(head)+len(tail)) + int64(base64.StdEncoding.EncodedLen(int(file.Size)))
	request.Header.Set("Content-Type", "application/json")
	blob := &github.Blob{}
	if _, err := c.client.Do(ctx, request, blob); err != nil {
		return "", fmt.Errorf("upload file: %w", err)
	}
	return blob.GetSHA(), nil
}

func encode(w io.Writer, content io.Reader, head, tail string) error {
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	if _, err := io.Copy(encoder, content); err != nil {
		return err
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w, tail)
	return err
}

// smallText reads a file that fits into a comment as text.
func (c *committing) smallText(ctx context.Context, file bot.Artifact) (string, bool) {
	kind, _, _ := strings.Cut(file.MediaType, ";")
	if file.Size > inlineFile || (!strings.HasPrefix(kind, "text/") && kind != "application/json") {
		return "", false
	}
	content, err := c.options.Blobs.Open(ctx, file.Blob)
	if err != nil {
		return "", false
	}
	defer func() { _ = content.Close() }()
	text, err := io.ReadAll(io.LimitReader(content, inlineFile))
	return string(text), err == nil && utf8.Valid(text)
}
