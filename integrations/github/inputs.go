package github

import (
	"encoding/json"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/internal/netguard"
)

// Kinds of references.
const (
	refText       = "text"       // a fenced block: the reference holds it
	refAttachment = "attachment" // a file uploaded into a comment
	refFile       = "file"       // a file of a repository
	refDiff       = "diff"       // a pull request's changes
	refNone       = "none"       // what a text names and cannot be had
	refNamed      = "named"      // a file that a schedule names, as it stands at each run
)

// ref is InputRef.Ref.
type ref struct {
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
	URL  string `json:"url,omitempty"`
	// In says where an attachment's link stands, so that GitHub can be asked
	// for its signed form: the comment itself, or the issue.
	In string `json:"in,omitempty"`

	Repository string `json:"repo,omitempty"`
	// Rest is "ref/path" of a link, in which a ref may hold slashes; else
	// Commit and Path say what to read.
	Rest   string `json:"rest,omitempty"`
	Commit string `json:"commit,omitempty"`
	Path   string `json:"path,omitempty"`
	Number int    `json:"number,omitempty"`
	// Vouched says that whoever runs the bot named the file of a refNamed, whose
	// Commit is a branch, a tag or empty.
	Vouched bool `json:"vouched,omitempty"`
}

func (r ref) input(name string) bot.InputRef {
	encoded, _ := json.Marshal(r) // strings and numbers only: it cannot fail
	return bot.InputRef{Name: name, Ref: string(encoded)}
}

// inputs lists the files that a text brings by itself: fenced blocks,
// attachments, and links to files. Paths are left to Expand.
func (a *Adapter) inputs(h *happening, said reading, to address) []bot.InputRef {
	var out []bot.InputRef
	seen := map[string]bool{}
	add := func(in bot.InputRef) {
		if key := in.Adapter + in.Ref; !seen[key] {
			seen[key] = true
			out = append(out, in)
		}
	}
	for _, b := range said.blocks {
		in := ref{Kind: refText, Text: b.text}.input(b.name)
		in.Size = int64(len(b.text))
		add(in)
	}
	for _, link := range said.links {
		if in, ok := a.linked(link, to.Kind); ok {
			add(in)
		}
	}
	if h.kind == inComment {
		for _, link := range read(h.issueBody, a.options.Handle).links {
			if in, ok := a.linked(link, inIssue); ok && strings.Contains(in.Ref, `"kind":"`+refAttachment+`"`) {
				in.Around = true
				add(in)
			}
		}
	}
	return out
}

var (
	attachmentPath = regexp.MustCompile(`^/(?:user-attachments/(?:files/\d+/[^/]+|assets/[0-9A-Za-z-]+)|[\w.-]+/[\w.-]+/(?:files/\d+/[^/]+|assets/\d+/[0-9A-Za-z-]+))$`)
	filePath       = regexp.MustCompile(`^/([\w.-]+/[\w.-]+)/(?:blob|raw)/(.+)$`)
	rawPath        = regexp.MustCompile(`^/([\w.-]+/[\w.-]+)/(.+)$`)
)

// linked makes an input of a link that leads to a file.
func (a *Adapter) linked(link, in string) (bot.InputRef, bool) {
	u, err := url.Parse(link)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return bot.InputRef{}, false
	}
	host, err := netguard.HostOf(link)
	if err != nil {
		return bot.InputRef{}, false
	}
	name := path.Base(u.Path)
	onGitHub := a.webHost == "github.com"
	switch {
	case host == a.webHost && attachmentPath.MatchString(u.Path),
		onGitHub && (host == "user-images.githubusercontent.com" || host == "private-user-images.githubusercontent.com"):
		return ref{Kind: refAttachment, URL: link, In: in}.input(name), true
	case host == a.webHost && filePath.MatchString(u.Path):
		found := filePath.FindStringSubmatch(u.Path)
		return ref{Kind: refFile, Repository: found[1], Rest: found[2]}.input(name), true
	case onGitHub && host == "raw.githubusercontent.com" && rawPath.MatchString(u.Path):
		found := rawPath.FindStringSubmatch(u.Path)
		return ref{Kind: refFile, Repository: found[1], Rest: strings.TrimPrefix(found[2], "refs/heads/")}.input(name), true
	case slices.Contains(a.options.AllowHosts, host):
		return bot.InputRef{Name: name, Adapter: "fetch", Ref: link}, true
	}
	return bot.InputRef{}, false
}

func isPattern(word string) bool { return strings.ContainsAny(word, "*?[") }

// brings says that in is one of the repository's files, pinned.
func brings(in bot.InputRef, files []string) bool {
	var r ref
	return json.Unmarshal([]byte(in.Ref), &r) == nil && (r.Kind == refFile && r.Commit != "" || r.Kind == refNamed) && slices.Contains(files, r.Path)
}

// matches returns the files that word names: the path itself, or a pattern in
// which * and ? stay within a folder and ** does not. A name without a folder
// is also found in folders.
func matches(files map[string]int64, word string) []string {
	if _, ok := files[word]; ok {
		return []string{word}
	}
	var out []string
	if isPattern(word) {
		pattern, err := regexp.Compile("^" + globPattern(word) + "$")
		if err != nil {
			return nil
		}
		for name := range files {
			if pattern.MatchString(name) {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return out
	}
	if !strings.Contains(word, "/") {
		for name := range files {
			if path.Base(name) == word {
				out = append(out, name)
			}
		}
		slices.Sort(out)
	}
	return out
}

// globPattern turns a pattern into a regular expression.
func globPattern(word string) string {
	var out strings.Builder
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case strings.HasPrefix(word[i:], "**/"):
			out.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(word[i:], "**"):
			out.WriteString(".*")
			i++
		case c == '*':
			out.WriteString("[^/]*")
		case c == '?':
			out.WriteString("[^/]")
		case c == '[' && strings.IndexByte(word[i+1:], ']') > 0:
			end := i + 1 + strings.IndexByte(word[i+1:], ']')
			out.WriteString("[" + strings.NewReplacer(`\`, `\\`, "[", `\[`, "^", `\^`).Replace(word[i+1:end]) + "]")
			i = end
		default:
			out.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return out.String()
}
