package bot

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// struck stands where a secret stood.
const struck = "[secret removed]"

// Redactor strikes secrets out of what people and logs get to see: those it is
// told of exactly, and what has the shape of one.
type Redactor struct {
	// known holds the longest first: one secret may be the beginning of another.
	known  atomic.Pointer[[]string]
	shapes []shape
}

// shape is a kind of secret that its beginning gives away. Looking for the
// beginnings first makes this fast enough for large files.
type shape struct {
	begins string
	keep   int  // bytes of the beginning that stay
	inside bool // may follow a letter, digit or underscore
	whole  *regexp.Regexp
}

// NewRedactor knows the given secrets, also as Base64 and in URLs. Shorter than
// six characters is taken for no secret, or common words would go.
func NewRedactor(secrets []string) *Redactor {
	r := &Redactor{shapes: shapes()}
	r.Know(secrets)
	return r
}

// Know replaces the secrets that it was told of: they change while it is in use.
func (r *Redactor) Know(secrets []string) {
	const shortest = 6
	var forms []string
	for _, s := range secrets {
		s = strings.TrimSpace(s)
		if len(s) < shortest {
			continue
		}
		forms = append(forms, s, url.QueryEscape(s),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s)))
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	forms = slices.Compact(forms)
	r.known.Store(&forms)
}

// shapes lists tokens by the prefixes that their makers gave them for exactly
// this purpose, private keys, and passwords in URLs.
func shapes() []shape {
	token := func(begins, rest string) shape {
		return shape{begins: begins, whole: regexp.MustCompile(`\A` + regexp.QuoteMeta(begins) + rest)}
	}
	key := token("-----BEGIN ", `(?s:[A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z))`)
	key.inside = true
	password := token("://", `[^\s:/@]+:[^\s:/@]{3,}@`)
	password.inside, password.keep = true, len("://")
	return []shape{
		key, password,
		token("xox", `[abeoprs](?:\.xox[bp])?-[0-9A-Za-z-]{10,}`),                     // Slack
		token("xapp-", `[0-9]-[0-9A-Za-z-]{10,}`),                                     // Slack, app level
		token("https://hooks.slack.com/", `[0-9A-Za-z/_-]{20,}`),                      // Slack, incoming webhooks
		token("gh", `[pousr]_[0-9A-Za-z]{30,}`),                                       // GitHub
		token("github_pat_", `[0-9A-Za-z_]{30,}`),                                     // GitHub, fine-grained
		token("glpat-", `[0-9A-Za-z_-]{20,}`),                                         // GitLab
		token("sk-", `(?:proj-|ant-|svcacct-|or-)?[0-9A-Za-z_-]{20,}`),                // OpenAI, Anthropic and servers like them
		token("sk_", `(?:live|test)_[0-9A-Za-z]{16,}`),                                // Stripe
		token("rk_", `(?:live|test)_[0-9A-Za-z]{16,}`),                                // Stripe, restricted
		token("AKIA", `[0-9A-Z]{16}\b`),                                               // AWS
		token("ASIA", `[0-9A-Z]{16}\b`),                                               // AWS, for a while
		token("AIza", `[0-9A-Za-z_-]{35}`),                                            // Google
		token("npm_", `[0-9A-Za-z]{36}`),                                              // npm
		token("pypi-", `[0-9A-Za-z_-]{50,}`),                                          // PyPI
		token("hf_", `[0-9A-Za-z]{30,}`),                                              // Hugging Face
		token("eyJ", `[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}`), // signed web tokens
	}
}

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	for _, secret := range *r.known.Load() {
		s = strings.ReplaceAll(s, secret, struck)
	}
	for i := range r.shapes {
		s = r.shapes[i].strike(s)
	}
	return s
}

// strike replaces every secret of this shape in s.
func (h *shape) strike(s string) string {
	var out strings.Builder
	done := 0
	for from := 0; ; {
		at := strings.Index(s[from:], h.begins)
		if at < 0 {
			break
		}
		at += from
		from = at + len(h.begins)
		if !h.inside && at > 0 && isWord(s[at-1]) {
			continue // "task-…" is no "sk-…"
		}
		found := h.whole.FindStringIndex(s[at:])
		if found == nil {
			continue
		}
		out.WriteString(s[done : at+h.keep])
		out.WriteString(struck)
		done = at + found[1]
		from = done
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func (r *Redactor) undelivered(files []Undelivered) []Undelivered {
	files = slices.Clone(files)
	for i := range files {
		files[i] = Undelivered{Name: r.Text(files[i].Name), Reason: r.Text(files[i].Reason)}
	}
	return files
}

// copy copies text without its secrets and reports whether there were any. It
// works on pieces that end at a line, so that memory stays bounded; only a
// secret across such an end, far into a file, would be missed, which is why a
// piece holds a mebibyte and keys of many lines are short against it.
func (r *Redactor) copy(dst io.Writer, src io.Reader) (found bool, err error) {
	const piece = 1 << 20
	in := bufio.NewReaderSize(src, 64<<10)
	var text bytes.Buffer
	for {
		line, err := in.ReadSlice('\n')
		text.Write(line)
		last := errors.Is(err, io.EOF)
		if err != nil && !last && !errors.Is(err, bufio.ErrBufferFull) {
			return found, fmt.Errorf("read text: %w", err)
		}
		if last || text.Len() >= piece && err == nil || text.Len() >= 2*piece {
			before := text.String()
			after := r.Text(before)
			found = found || after != before
			if _, err := io.WriteString(dst, after); err != nil {
				return found, fmt.Errorf("write text: %w", err)
			}
			text.Reset()
		}
		if last {
			return found, nil
		}
	}
}
