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
)

// struck stands where a secret stood.
const struck = "[secret removed]"

// Redactor strikes secrets out of what people and logs get to see: those it is
// told of exactly, and what has the shape of one.
type Redactor struct {
	known    *strings.Replacer
	patterns *regexp.Regexp
}

// NewRedactor knows the given secrets, also as Base64 and in URLs. Shorter than
// six characters is taken for no secret, or common words would go.
func NewRedactor(secrets []string) *Redactor {
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
	// The longest first: one secret may be the beginning of another.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range forms {
		pairs = append(pairs, s, struck)
	}
	return &Redactor{known: strings.NewReplacer(pairs...), patterns: regexp.MustCompile(secretShapes())}
}

// secretShapes matches tokens by the prefixes that their makers gave them for
// exactly this purpose. Each needs a boundary before it: "task-…" is no "sk-…".
func secretShapes() string {
	return `(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)` +
		`|\b(?:` + strings.Join([]string{
		`xox[abeoprs](?:\.xox[bp])?-[0-9A-Za-z-]{10,}`,                     // Slack
		`xapp-[0-9]-[0-9A-Za-z-]{10,}`,                                     // Slack, app level
		`gh[pousr]_[0-9A-Za-z]{30,}`,                                       // GitHub
		`github_pat_[0-9A-Za-z_]{30,}`,                                     // GitHub, fine-grained
		`glpat-[0-9A-Za-z_-]{20,}`,                                         // GitLab
		`sk-(?:proj-|ant-|svcacct-|or-)?[0-9A-Za-z_-]{20,}`,                // OpenAI, Anthropic and servers like them
		`[rs]k_(?:live|test)_[0-9A-Za-z]{16,}`,                             // Stripe
		`(?:AKIA|ASIA)[0-9A-Z]{16}`,                                        // AWS
		`AIza[0-9A-Za-z_-]{35}`,                                            // Google
		`npm_[0-9A-Za-z]{36}`,                                              // npm
		`pypi-[0-9A-Za-z_-]{50,}`,                                          // PyPI
		`hf_[0-9A-Za-z]{30,}`,                                              // Hugging Face
		`eyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}`, // signed web tokens
	}, "|") + `)` +
		`|https://hooks\.slack\.com/(?:services|workflows|triggers)/[0-9A-Za-z/_-]{10,}` +
		`|\b[a-z][a-z0-9+.-]*://[^\s:/@]+:[^\s:/@]{3,}@` // a password in a URL
}

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	if s == "" {
		return s
	}
	return r.patterns.ReplaceAllString(r.known.Replace(s), struck)
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
