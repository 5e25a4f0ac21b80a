package github

import (
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/internal/netguard"
)

// named is a word of a text that names a file, or looks as if it did.
type named struct {
	word string
	// maybe says that it may as well be the name of a file to be made, or that
	// the text only speaks of it.
	maybe   bool
	problem string // why it cannot be had, where that is plain to see
}

// unread is the input that stands for what cannot be had. Its reference keeps
// "a/x.csv" and "b/x.csv" apart.
func (n named) unread(problem string) bot.InputRef {
	in := ref{Kind: refNone, Path: n.word}.input(path.Base(strings.ReplaceAll(n.word, `\`, "/")))
	if in.Name != n.word && !strings.Contains(problem, n.word) {
		problem = n.word + ": " + problem // the name alone loses folder and host
	}
	in.Problem, in.Maybe = problem, n.maybe
	return in
}

// dataFile says that a bare word is likely to name a file of data.
func dataFile(word string) bool {
	if strongData(word) {
		return true
	}
	switch strings.ToLower(path.Ext(word)) {
	case ".txt", ".log", ".xml", ".yaml", ".yml", ".md", ".zip", ".gz", ".html", ".pdf", ".docx", ".py", ".sql", ".toml", ".ini":
		return true
	}
	return false
}

// strongData says that a word names data and hardly anything else.
func strongData(word string) bool {
	switch strings.ToLower(path.Ext(word)) {
	case ".csv", ".tsv", ".xlsx", ".xls", ".xlsm", ".ods", ".json", ".jsonl", ".ndjson", ".parquet", ".sqlite", ".db", ".geojson":
		return true
	}
	return false
}

// making are words before the name of a file that is to be made.
var making = regexp.MustCompile(`(?i)^(?:write|save|store|make|create|produce|generate|export|output|put|into|to|as|call|called|name|named|` +
	`запиши|запишите|сохрани|сохраните|создай|создайте|сделай|сделайте|выведи|выгрузи|в|во|как)$`)

// namedPaths are the words of a text that may name files of the repository, or
// paths that lead out of it.
func namedPaths(said reading) []named {
	const nearby = 4
	var out []named
	seen := map[string]bool{}
	for i, word := range said.names {
		word = strings.TrimSpace(word)
		clean := strings.TrimPrefix(strings.TrimPrefix(word, "./"), "/")
		if len(word) > 300 || seen[clean] || strings.ContainsAny(word, "\n\x00<>\"") {
			continue
		}
		if base := path.Base(clean); base == path.Ext(base) {
			continue // "all .csv files"
		}
		if !dataFile(clean) && (!isPattern(clean) || !strings.Contains(clean, "/")) {
			continue
		}
		if _, host, scheme := strings.Cut(word, "://"); scheme && host != "" {
			continue // the reader lists it among the links
		}
		seen[clean] = true
		n := named{word: clean, maybe: !strongData(clean) && !strings.Contains(clean, "/")}
		n.maybe = n.maybe || slices.ContainsFunc(said.names[max(0, i-nearby):i], making.MatchString)
		switch {
		case slices.Contains(strings.Split(strings.ReplaceAll(clean, `\`, "/"), "/"), ".."):
			n.word, n.problem = word, "the path "+word+" leads out of the repository"
		case strings.HasPrefix(word, "~") || strings.Contains(word, `\`):
			n.word, n.problem = word, word+" is a path on your machine, which I cannot reach; "+waysThatWork
		}
		out = append(out, n)
	}
	return out
}

// Pages of GitHub that hold files which are not read.
var (
	folderPage  = regexp.MustCompile(`^/[\w.-]+/[\w.-]+/tree/`)
	releasePage = regexp.MustCompile(`^/[\w.-]+/[\w.-]+/(?:releases/download|archive|zipball|tarball|actions/runs/\d+/artifacts)/`)
)

// unreadLinks names the links of a text that are no inputs. Links to GitHub's
// own pages (an issue, a person) are talk.
func (a *Adapter) unreadLinks(said reading, in string) []bot.InputRef {
	var out []bot.InputRef
	for _, link := range said.links {
		if _, ok := a.linked(link, in); ok {
			continue
		}
		if n := a.unreadLink(link); n.problem != "" && !slices.ContainsFunc(out, func(have bot.InputRef) bool { return have.Ref == n.unread("").Ref }) {
			out = append(out, n.unread(n.problem))
		}
	}
	return out
}

func (a *Adapter) unreadLink(link string) named {
	n := named{word: netguard.Bare(link)}
	u, err := url.Parse(link)
	if err != nil || u.Hostname() == "" {
		n.maybe, n.problem = true, "its link is no URL"
		return n
	}
	n.maybe = !dataFile(u.Path)
	host, _ := netguard.HostOf(link)
	addr, err := netip.ParseAddr(u.Hostname())
	inner := err == nil && netguard.CheckAddr(addr) != nil
	switch {
	case host == a.webHost && folderPage.MatchString(u.Path):
		n.problem = "it is a folder; name its files by a pattern, such as `data/*.csv`"
	case host == a.webHost && releasePage.MatchString(u.Path):
		n.problem = "files of releases and workflows are not read; " + waysThatWork
	case host == a.webHost:
	case u.Scheme != "https" && u.Scheme != "http":
		n.problem = "only https links are read, not " + u.Scheme + ": links"
	case inner:
		n.maybe, n.problem = false, "its link leads where I do not go: "+netguard.CheckAddr(addr).Error()
	default:
		n.problem = "its host " + host + " is not among those that I read links of (fetch.allow_hosts)"
	}
	return n
}
