package slacktest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// chatPost is chat.postMessage. The caller holds mu, as in all methods.
func (w *Workspace) chatPost(args map[string]string) result {
	c := w.channels[args["channel"]]
	if u := w.users[args["channel"]]; c == nil && u != nil {
		c = w.openIM(u)
	}
	switch {
	case c == nil:
		return failed("channel_not_found")
	case c.Archived:
		return failed("is_archived")
	case c.BotAbsent:
		return failed("not_in_channel")
	}
	if problem := checkContent(args); problem != "" {
		return failed(problem)
	}
	m := &Message{Channel: c.ID, User: BotUser, Bot: true, Text: args["text"], Blocks: rawBlocks(args), Metadata: metadataOf(args)}
	if ts := args["thread_ts"]; ts != "" {
		root := w.find(c.ID, ts)
		switch {
		case root == nil || root.Deleted && len(w.thread(c.ID, ts)) == 0: // un-threaded, as Slack does
		case root.ThreadTS != "" && root.ThreadTS != root.TS:
			m.ThreadTS, m.Lost = ts, true
		default:
			m.ThreadTS = ts
		}
	}
	w.add(m)
	w.unfurl(m, args)
	return result{"channel": c.ID, "ts": m.TS, "message": w.wire(m, true)}
}

func (w *Workspace) chatPostEphemeral(args map[string]string) result {
	c := w.channels[args["channel"]]
	switch {
	case c == nil:
		return failed("channel_not_found")
	case w.users[args["user"]] == nil:
		return failed("user_not_in_channel")
	}
	if problem := checkContent(args); problem != "" {
		return failed(problem)
	}
	m := &Message{
		Channel: c.ID, User: BotUser, Bot: true, Text: args["text"], Blocks: rawBlocks(args),
		ThreadTS: args["thread_ts"], OnlyFor: args["user"],
	}
	w.add(m)
	return result{"message_ts": m.TS}
}

func (w *Workspace) chatUpdate(args map[string]string) result {
	m := w.find(args["channel"], args["ts"])
	switch {
	case m == nil || m.Deleted || m.OnlyFor != "":
		return failed("message_not_found")
	case !m.Bot:
		return failed("cant_update_message")
	}
	if problem := checkContent(args); problem != "" {
		return failed(problem)
	}
	m.Text, m.Edits = args["text"], m.Edits+1
	if _, given := args["blocks"]; given {
		m.Blocks = rawBlocks(args)
	}
	if meta := metadataOf(args); meta != nil {
		m.Metadata = meta
	}
	w.notify()
	return result{"channel": m.Channel, "ts": m.TS, "text": m.Text, "message": w.wire(m, true)}
}

func (w *Workspace) chatDelete(args map[string]string) result {
	m := w.find(args["channel"], args["ts"])
	switch {
	case m == nil || m.Deleted:
		return failed("message_not_found")
	case !m.Bot:
		return failed("cant_delete_message")
	}
	m.Deleted = true
	w.notify()
	return result{"channel": m.Channel, "ts": m.TS}
}

// checkContent returns Slack's error for the text and blocks of a message.
func checkContent(args map[string]string) string {
	blocks, ok := parseBlocks(args["blocks"])
	if !ok {
		return "invalid_blocks_format"
	}
	if runes(args["text"]) > MaxText {
		return "msg_too_long"
	}
	if args["text"] == "" && len(blocks) == 0 && args["attachments"] == "" {
		return "no_text"
	}
	return checkBlocks(blocks, MaxBlocks)
}

func rawBlocks(args map[string]string) json.RawMessage {
	if raw := args["blocks"]; raw != "" && raw != "null" && raw != "[]" {
		return json.RawMessage(raw)
	}
	return nil
}

// metadataOf reads the metadata argument; one that is too large is dropped
// without a word, as Slack does.
func metadataOf(args map[string]string) *Metadata {
	raw := args["metadata"]
	if raw == "" {
		return nil
	}
	var m Metadata
	if json.Unmarshal([]byte(raw), &m) != nil || m.EventType == "" {
		return nil
	}
	if payload, err := json.Marshal(m.EventPayload); err != nil || len(payload) > MaxMetadata {
		return nil
	}
	return &m
}

// unfurl records the hosts that Slack would fetch for the links in m.
func (w *Workspace) unfurl(m *Message, args map[string]string) {
	if args["unfurl_links"] == "false" && args["unfurl_media"] == "false" {
		return
	}
	w.unfurls = append(w.unfurls, LiveLinks(*m)...)
}

// LiveLinks lists the URLs in m that a person could click on or that Slack
// would fetch: those in text and blocks outside code.
func LiveLinks(m Message) []string {
	var out []string
	for _, t := range liveTexts(m) {
		out = append(out, linkPattern().FindAllString(t, -1)...)
	}
	return out
}

// LivePings lists what in m would notify people: mentions of users, groups and
// whole channels outside code.
func LivePings(m Message) []string {
	var out []string
	for _, t := range liveTexts(m) {
		out = append(out, pingPattern().FindAllString(t, -1)...)
	}
	return out
}

func linkPattern() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:https?://|mailto:|www\.)[^\s<>|)\]]+`)
}

func pingPattern() *regexp.Regexp {
	return regexp.MustCompile(`<!(?:channel|here|everyone|subteam\^[A-Z0-9]+)[^>]*>|<@[UW][A-Z0-9]+(?:\|[^>]*)?>|(?:^|\s)@(?:channel|here|everyone)\b`)
}

// liveTexts are the texts of m that Slack formats, with code cut out. Where
// there are blocks, the text is only the notification's, and still counted:
// old clients show it.
func liveTexts(m Message) []string {
	texts := []string{withoutCode(m.Text)}
	blocks, _ := parseBlocks(string(m.Blocks))
	for _, b := range blocks {
		if o := b.text(); o.Type == "mrkdwn" || o.Type == "markdown" {
			texts = append(texts, withoutCode(o.Text))
		}
		for _, f := range b.Fields {
			texts = append(texts, withoutCode(f.Text))
		}
		for _, raw := range b.Elements {
			if o := asText(raw); o.Type == "mrkdwn" {
				texts = append(texts, withoutCode(o.Text))
			}
		}
		if b.ImageURL != "" {
			texts = append(texts, b.ImageURL)
		}
	}
	return texts
}

// withoutCode cuts fenced code and code spans out of text.
func withoutCode(text string) string {
	var kept []string
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		mark := leading(trimmed, '`')
		switch {
		case fence == "" && len(mark) >= 3 && !strings.Contains(trimmed[len(mark):], "`"):
			fence = mark
		case fence != "" && len(mark) >= len(fence) && strings.Trim(trimmed, "`") == "":
			fence = ""
		case fence == "":
			kept = append(kept, line)
		}
	}
	return cutSpans(strings.Join(kept, ""))
}

// cutSpans cuts code spans: a run of backticks up to the next run of its length.
func cutSpans(text string) string {
	var out strings.Builder
	for {
		start := strings.IndexByte(text, '`')
		if start < 0 {
			return out.String() + text
		}
		if back := len(text[:start]) - len(strings.TrimRight(text[:start], `\`)); back%2 == 1 {
			out.WriteString(text[:start+1])
			text = text[start+1:]
			continue
		}
		mark := leading(text[start:], '`')
		rest := text[start+len(mark):]
		end := spanEnd(rest, len(mark))
		if end < 0 {
			out.WriteString(text[:start+len(mark)])
			text = rest
			continue
		}
		out.WriteString(text[:start] + " ")
		text = rest[end+len(mark):]
	}
}

func spanEnd(text string, length int) int {
	for at := 0; at < len(text); {
		i := strings.IndexByte(text[at:], '`')
		if i < 0 {
			return -1
		}
		run := leading(text[at+i:], '`')
		if len(run) == length {
			return at + i
		}
		at += i + len(run)
	}
	return -1
}

func leading(s string, c byte) string {
	i := 0
	for i < len(s) && s[i] == c {
		i++
	}
	return s[:i]
}

func (w *Workspace) reactionsAdd(args map[string]string) result {
	m := w.find(args["channel"], args["timestamp"])
	switch {
	case m == nil || m.Deleted:
		return failed("message_not_found")
	case args["name"] == "":
		return failed("invalid_name")
	case slices.Contains(m.Reactions[args["name"]], BotUser):
		return failed("already_reacted")
	}
	if m.Reactions == nil {
		m.Reactions = map[string][]string{}
	}
	m.Reactions[args["name"]] = append(m.Reactions[args["name"]], BotUser)
	w.notify()
	return result{}
}

func (w *Workspace) reactionsRemove(args map[string]string) result {
	m := w.find(args["channel"], args["timestamp"])
	if m == nil || !slices.Contains(m.Reactions[args["name"]], BotUser) {
		return failed("no_reaction")
	}
	left := slices.DeleteFunc(m.Reactions[args["name"]], func(u string) bool { return u == BotUser })
	if m.Reactions[args["name"]] = left; len(left) == 0 {
		delete(m.Reactions, args["name"])
	}
	w.notify()
	return result{}
}

// responseLife is how long a response URL serves.
const responseLife = 30 * time.Minute

// responseURL is where an interaction may be answered.
type responseURL struct {
	channel, thread, user string
	message               string // ts of the message the button stands in
	used                  int
	made                  time.Time
}

// serveResponse takes a POST to a response URL.
func (w *Workspace) serveResponse(rw http.ResponseWriter, r *http.Request) {
	args, _, err := readArgs(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.answers[r.PathValue("id")]
	if err != nil || u == nil || u.used >= MaxResponses || time.Since(u.made) > responseLife {
		http.Error(rw, "expired_url", http.StatusNotFound)
		return
	}
	u.used++
	if m := w.find(u.channel, u.message); m != nil && args["delete_original"] == "true" {
		m.Deleted = true
		w.notify()
		_, _ = rw.Write([]byte("ok"))
		return
	}
	if problem := checkContent(args); problem != "" {
		http.Error(rw, problem, http.StatusBadRequest)
		return
	}
	if m := w.find(u.channel, u.message); m != nil && args["replace_original"] == "true" {
		m.Text, m.Blocks, m.Edits = args["text"], rawBlocks(args), m.Edits+1
		w.notify()
	} else {
		reply := &Message{Channel: u.channel, User: BotUser, Bot: true, Text: args["text"], Blocks: rawBlocks(args), ThreadTS: u.thread}
		if args["response_type"] != "in_channel" {
			reply.OnlyFor = u.user
		}
		w.add(reply)
	}
	_, _ = rw.Write([]byte("ok"))
}
