package github

import (
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// reading is what a body says to the bot.
type reading struct {
	// called says that the bot is mentioned outside of quotes, code, links and
	// HTML, or that the body is one of its commands.
	called bool
	// text is the body as it was written, without the mentions of the bot.
	text string
	// command is "cancel" for "@handle /cancel"; bare says that it stood alone,
	// without the mention.
	command, args string
	bare          bool

	blocks []block  // fenced blocks that are files
	links  []string // URLs of any scheme, outside of quotes and blocks, in their order
	names  []string // code spans and words, of which some are paths
}

// block is a fenced block that stands for a file.
type block struct {
	name string
	text string
}

var (
	linkPattern    = regexp.MustCompile("\\b[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\\s<>\"`|]+")
	commandPattern = regexp.MustCompile(`^/([a-z]+)(?:[ \t]+([^\n]*))?(?:\n|$)`)
	htmlTagPattern = regexp.MustCompile(`(?i)</?(code|pre|blockquote|kbd|samp|tt|a)\b`)
	taskID         = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{26}$`)
	nameAttribute  = regexp.MustCompile(`(?:^|\s)(?:name|file|filename|title)=(?:"([^"]*)"|'([^']*)'|(\S+))`)
)

// bareCommands are obeyed without a mention where they are the whole comment.
func bareCommand(name string) bool {
	return name == "cancel" || name == "status" || name == "retry"
}

// read parses body as GitHub shows it and finds what is meant for handle.
func read(body, handle string) reading {
	body = strings.ToValidUTF8(strings.ReplaceAll(body, "\r\n", "\n"), "\uFFFD")
	r := &reader{source: []byte(body), handle: handle}
	parser := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()
	document := parser.Parse(text.NewReader(r.source))
	_ = ast.Walk(document, r.visit)
	r.flush()
	out := r.out
	out.called = len(r.mentions) > 0
	out.text = r.withoutMentions()
	if out.called {
		out.command, out.args = spoken(out.text)
	}
	_, prose := document.FirstChild().(*ast.Paragraph) // indented far enough, it is code
	if found := commandPattern.FindStringSubmatch(strings.TrimSpace(body)); !out.called && prose && found != nil &&
		bareCommand(found[1]) && strings.TrimSpace(found[2]) == "" && !strings.Contains(strings.TrimSpace(body), "\n") {
		out.called, out.command, out.bare = true, found[1], true
	}
	return out
}

// spoken is the command that a text without its mention is: "/save weekly", one
// of the words that are commands alone, or, for a mention with nothing else,
// help.
func spoken(text string) (command, args string) {
	if found := commandPattern.FindStringSubmatch(text); found != nil {
		return found[1], strings.TrimSpace(found[2])
	}
	words := map[string]string{
		"cancel": "cancel", "stop": "cancel", "abort": "cancel", "отмена": "cancel", "стоп": "cancel",
		"status": "status", "статус": "status", "help": "help", "помощь": "help",
		"retry": "retry", "повтори": "retry",
	}
	fields := strings.Fields(strings.Trim(text, " \t\n.,:;!?*_~()`"))
	switch {
	case len(fields) == 0:
		return "help", ""
	case len(fields) == 1, len(fields) == 2 && taskID.MatchString(strings.ToUpper(fields[1])):
		return words[strings.ToLower(fields[0])], strings.ToUpper(strings.Join(fields[1:], ""))
	}
	return "", ""
}

type reader struct {
	source   []byte
	handle   string
	mentions [][2]int // offsets in source
	html     int      // open HTML tags that quote
	run      [2]int   // a stretch of plain text, not yet looked through
	out      reading
}

func (r *reader) visit(node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	switch node.(type) {
	case *ast.Text, *ast.Emphasis, *east.Strikethrough:
	default:
		r.flush()
	}
	switch n := node.(type) {
	case *ast.Blockquote, *ast.CodeBlock:
		return ast.WalkSkipChildren, nil
	case *ast.FencedCodeBlock:
		r.fence(n)
		return ast.WalkSkipChildren, nil
	case *ast.HTMLBlock:
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			r.tags(line.Value(r.source))
		}
		return ast.WalkSkipChildren, nil
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			r.tags(segment.Value(r.source))
		}
		return ast.WalkSkipChildren, nil
	case *ast.CodeSpan:
		var span strings.Builder
		for child := n.FirstChild(); child != nil; child = child.NextSibling() {
			if t, ok := child.(*ast.Text); ok {
				span.Write(t.Segment.Value(r.source))
			}
		}
		if text := strings.TrimSpace(span.String()); r.html == 0 && linkPattern.FindString(text) == text && text != "" {
			r.link(text)
		} else if r.html == 0 {
			r.out.names = append(r.out.names, span.String())
		}
		return ast.WalkSkipChildren, nil
	case *ast.Link:
		r.link(string(n.Destination))
		return ast.WalkSkipChildren, nil
	case *ast.Image:
		r.link(string(n.Destination))
		return ast.WalkSkipChildren, nil
	case *ast.AutoLink:
		r.link(string(n.URL(r.source)))
		return ast.WalkSkipChildren, nil
	case *ast.Text:
		if r.html == 0 {
			r.extend(n.Segment.Start, n.Segment.Stop)
		}
	}
	return ast.WalkContinue, nil
}

// extend adds a piece of text to the run. The parser cuts text at every
// character that might mean something, and takes the stars of "data/*.csv and
// data/*.json" for emphasis: pieces with nothing but such between them are
// one.
func (r *reader) extend(from, to int) {
	if from >= r.run[1] && r.run[1] > 0 && strings.Trim(string(r.source[r.run[1]:from]), "*_~") == "" {
		r.run[1] = to
		return
	}
	r.flush()
	r.run = [2]int{from, to}
}

func (r *reader) flush() {
	if r.run[1] > r.run[0] {
		r.plain(r.run[0], r.run[1])
	}
	r.run = [2]int{}
}

// bare takes a word out of its punctuation and emphasis.
func bare(word string) string {
	const marks = ",;:!?'\"()[]{}<>«»“”„"
	word = strings.TrimLeft(strings.TrimRight(word, "."+marks), marks)
	if rest := strings.TrimLeft(word, "."); len(word)-len(rest) > 1 && !strings.HasPrefix(word, "../") {
		word = rest // "...and so on", but neither "../x" nor ".config/x"
	}
	inner := strings.Trim(word, "*_~")
	if around := strings.Index(word, inner); inner != "" && around > 0 && strings.HasSuffix(word, word[:around]) {
		return inner
	}
	return word
}

// tags counts HTML tags that quote; comments and other tags do not matter.
func (r *reader) tags(source []byte) {
	text := string(source)
	if !strings.HasPrefix(strings.TrimSpace(text), "<!--") {
		for _, tag := range htmlTagPattern.FindAllString(text, -1) {
			if strings.HasPrefix(tag, "</") {
				r.html = max(r.html-1, 0)
			} else {
				r.html++
			}
		}
	}
	if strings.Contains(strings.ToLower(text), "<img") {
		for _, link := range linkPattern.FindAllString(text, -1) {
			r.link(link)
		}
	}
}

func (r *reader) link(url string) {
	if linkPattern.MatchString(url) {
		r.out.links = append(r.out.links, url)
	}
}

// plain looks through a piece of text for mentions, URLs and paths.
func (r *reader) plain(from, to int) {
	segment := string(r.source[from:to])
	for _, at := range linkPattern.FindAllStringIndex(segment, -1) {
		r.link(strings.TrimRight(segment[at[0]:at[1]], ".,;:!?'\")]}*_~"))
	}
	rest := linkPattern.ReplaceAllString(segment, " ")
	for _, word := range strings.Fields(rest) {
		r.out.names = append(r.out.names, bare(word))
	}
	mention := "@" + r.handle
	for at := from; ; {
		i := indexFold(r.source[at:to], mention)
		if i < 0 {
			return
		}
		start := at + i
		end := start + len(mention)
		if rest := r.source[end:]; len(rest) >= 5 && strings.EqualFold(string(rest[:5]), "[bot]") {
			end += 5
		}
		if r.freeBefore(start) && r.freeAfter(end) {
			r.mentions = append(r.mentions, [2]int{start, end})
		}
		at = start + len(mention)
	}
}

// freeBefore and freeAfter say whether a mention may begin or end there:
// "mail@sandpiper", "@sandpiper-dev", "@sandpiper/team" and "@sandpiper.com"
// are none.
func (r *reader) freeBefore(at int) bool {
	before, _ := utf8.DecodeLastRune(r.source[:at])
	if at == 0 {
		return true
	}
	return !unicode.IsLetter(before) && !unicode.IsDigit(before) && !strings.ContainsRune(`_/.-+=@\%#&`+"`", before) && !unicode.Is(unicode.Cf, before)
}

func (r *reader) freeAfter(at int) bool {
	if at == len(r.source) {
		return true
	}
	after, size := utf8.DecodeRune(r.source[at:])
	next, _ := utf8.DecodeRune(r.source[at+size:])
	switch {
	case unicode.IsLetter(after), unicode.IsDigit(after), unicode.IsMark(after), unicode.Is(unicode.Cf, after):
		return false
	case strings.ContainsRune(`-_@[`, after):
		return false
	case strings.ContainsRune(`/.`, after):
		return !unicode.IsLetter(next) && !unicode.IsDigit(next)
	}
	return true
}

// indexFold finds an ASCII needle without regard to case.
func indexFold(source []byte, needle string) int {
	for i := 0; i+len(needle) <= len(source); i++ {
		match := true
		for j := range len(needle) {
			a, b := source[i+j], needle[j]
			if a >= 'A' && a <= 'Z' {
				a += 'a' - 'A'
			}
			if b >= 'A' && b <= 'Z' {
				b += 'a' - 'A'
			}
			if a != b {
				match = false
				break
			}
		}
		if match {
			return i
		}
	}
	return -1
}

func (r *reader) withoutMentions() string {
	var out strings.Builder
	at := 0
	for _, m := range r.mentions {
		if m[0] < at {
			continue
		}
		before := string(r.source[at:m[0]])
		out.WriteString(before)
		at = m[1]
		if written := out.String(); written == "" || strings.HasSuffix(written, " ") || strings.HasSuffix(written, "\n") {
			for at < len(r.source) && strings.ContainsRune(" \t", rune(r.source[at])) {
				at++
			}
			if strings.TrimSpace(written) == "" {
				for at < len(r.source) && strings.ContainsRune(" \t,:;", rune(r.source[at])) {
					at++
				}
			}
		}
	}
	out.Write(r.source[at:])
	return strings.TrimSpace(out.String())
}

// fence keeps a block that stands for a file: one with a name, or one whose
// language is a kind of data.
func (r *reader) fence(n *ast.FencedCodeBlock) {
	info := ""
	if n.Info != nil {
		info = string(n.Info.Segment.Value(r.source))
	}
	language := strings.ToLower(string(n.Language(r.source)))
	name := ""
	if found := nameAttribute.FindStringSubmatch(info); found != nil {
		name = path.Base(strings.ReplaceAll(found[1]+found[2]+found[3], `\`, "/"))
	}
	data := map[string]string{"csv": "csv", "tsv": "tsv", "json": "json", "jsonl": "jsonl", "ndjson": "ndjson"}[language]
	switch {
	case name == "" || name == "." || name == "/" || name == "..":
		if data == "" {
			return
		}
		name = "block-" + itoa(len(r.out.blocks)+1) + "." + data
	case path.Ext(name) == "" && data != "":
		name += "." + data
	}
	var body strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		body.Write(line.Value(r.source))
	}
	r.out.blocks = append(r.out.blocks, block{name: name, text: body.String()})
}
