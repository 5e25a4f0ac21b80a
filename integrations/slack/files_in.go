package slack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// inputs are the files of a message as references for the core. What is known
// to be unreadable says why.
func (a *Adapter) inputs(files []slack.File) []bot.InputRef {
	var out []bot.InputRef
	for _, f := range files {
		ref := bot.InputRef{Name: f.Name, MediaType: f.Mimetype, Size: int64(f.Size), Ref: sourceOf(a.whoami().team, "", f.ID), Problem: problemOf(f)}
		if ref.Name == "" {
			ref.Name = f.Title
		}
		if ref.Name == "" {
			ref.Name = f.ID
		}
		out = append(out, ref)
	}
	return out
}

// problemOf says why a file cannot be read, "" where it may be.
func problemOf(f slack.File) string {
	switch {
	case f.Mode == "tombstone":
		return "it was deleted in Slack"
	case f.Mode == "hidden_by_limit":
		return "Slack hides it, because the workspace has reached its limit of storage"
	case f.IsExternal || f.Mode == "external":
		return "it lies outside of Slack, and I read only what is stored in Slack; please upload the file itself"
	case f.Mode == "space" || f.Mode == "post" || f.Filetype == "quip" || f.Filetype == "list":
		return "it is a document that lives in Slack; please export it and upload the file"
	}
	return ""
}

// resolve asks for files of which the message has only a stub (Slack Connect).
// What gets no answer stays a stub and is asked for again when it is fetched.
func (a *Adapter) resolve(ctx context.Context, files []slack.File) []slack.File {
	out := slices.Clone(files)
	for i, f := range out {
		if f.FileAccess != "check_file_info" && (f.Name != "" || f.Mode == "tombstone" || f.Mode == "hidden_by_limit") {
			continue
		}
		asking, cancel := context.WithTimeout(ctx, lookTimeout)
		full, _, _, err := a.api().GetFileInfoContext(asking, f.ID, 1, 1)
		cancel()
		if err == nil {
			out[i] = *full
		}
	}
	return out
}

// threadFiles adds files of the thread's earlier messages: those of the root,
// those that the text names, and, when the request would have none, all.
func (in *inbox) threadFiles(ctx context.Context, m message, event *bot.Event) {
	asking, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	list, _, _, err := in.a.api().GetConversationRepliesContext(asking, &slack.GetConversationRepliesParameters{
		ChannelID: m.Channel, Timestamp: m.ThreadTS, Latest: m.TS, Limit: 200,
	})
	if err != nil {
		in.a.log.Info("the files of a thread could not be looked up", "error", explain(err))
		if len(event.Inputs) == 0 {
			event.Inputs = append(event.Inputs, bot.InputRef{
				Name:    "earlier files of this thread",
				Problem: "Slack did not tell me in time which files the thread has; attach the file to your next message if you need it",
			})
		}
		return
	}
	self := in.a.whoami()
	var root, all []slack.File
	for _, one := range list {
		if one.BotID == self.bot || one.User == self.user || one.Timestamp >= m.TS {
			continue
		}
		all = append(all, one.Files...)
		if one.Timestamp == m.ThreadTS {
			root = one.Files
		}
	}
	meant := named(event.Text, all)
	chosen := append(slices.Clone(root), meant...)
	if len(chosen) == 0 && len(event.Inputs) == 0 {
		chosen = all
	}
	for i, ref := range in.a.inputs(in.a.resolve(ctx, chosen)) {
		ref.Around = !slices.ContainsFunc(meant, func(f slack.File) bool { return f.ID == chosen[i].ID })
		if !slices.ContainsFunc(event.Inputs, func(have bot.InputRef) bool { return have.Ref == ref.Ref }) {
			event.Inputs = append(event.Inputs, ref)
		}
	}
}

// ordinal finds "the second file" and the like, in English and Russian.
var ordinal = regexp.MustCompile(`(?i)\b(first|second|third|fourth|fifth|last|previous|1st|2nd|3rd|4th|5th)\s+(?:file|csv|table|sheet|attachment)|(перв|втор|трет|четв[её]рт|пят|последн)\S*\s+(?:файл|таблиц)`)

// named picks the files that text names, by name or by their place among all.
func named(text string, all []slack.File) []slack.File {
	var out []slack.File
	lower := strings.ToLower(text)
	for _, f := range all {
		if f.Name != "" && strings.Contains(lower, strings.ToLower(f.Name)) {
			out = append(out, f)
		}
	}
	places := map[string]int{
		"first": 0, "1st": 0, "перв": 0, "second": 1, "2nd": 1, "втор": 1, "third": 2, "3rd": 2, "трет": 2,
		"fourth": 3, "4th": 3, "четверт": 3, "четвёрт": 3, "fifth": 4, "5th": 4, "пят": 4,
	}
	for _, found := range ordinal.FindAllStringSubmatch(text, -1) {
		word := strings.ToLower(found[1] + found[2])
		at, counted := places[word]
		if !counted {
			at = len(all) - 1 // last, previous
		}
		if at >= 0 && at < len(all) {
			out = append(out, all[at])
		}
	}
	return out
}

// Fetch implements bot.Channel: it asks for the file as it is now and streams
// it. The token is sent to Slack's own hosts only.
func (a *Adapter) Fetch(ctx context.Context, event bot.Event, ref bot.InputRef, w io.Writer) (bot.Fetched, error) {
	if channel, pattern, ok := newestOf(ref.Ref); ok {
		return a.fetchNewest(ctx, event, ref, channel, pattern, w)
	}
	id := ref.Ref[strings.LastIndexByte(ref.Ref, '/')+1:]
	var f *slack.File
	err := a.patiently(ctx, func(ctx context.Context) (err error) {
		f, _, _, err = a.api().GetFileInfoContext(ctx, id, 1, 1)
		return err
	})
	switch code(err) {
	case "":
	case "file_not_found", "file_deleted":
		return bot.Fetched{}, unread(ref, "it was deleted in Slack")
	case "missing_scope", "access_denied", "no_permission", "not_allowed_token_type":
		return bot.Fetched{}, unread(ref, "Slack does not let me read it: "+explain(err).Error())
	}
	if err != nil {
		return bot.Fetched{}, fmt.Errorf("ask for file: %w", explain(err))
	}
	if problem := problemOf(*f); problem != "" {
		return bot.Fetched{}, unread(ref, problem)
	}
	if !sharedIn(f, event) {
		return bot.Fetched{}, unread(ref, "it is not shared in the conversation that asks for it")
	}
	return a.fetchFile(ctx, ref, f, w)
}

// fetchFile streams a file that may be read.
func (a *Adapter) fetchFile(ctx context.Context, ref bot.InputRef, f *slack.File, w io.Writer) (bot.Fetched, error) {
	if int64(f.Size) > a.opts.MaxInput {
		return bot.Fetched{}, fmt.Errorf("fetch file: %w", bot.ErrTooLarge)
	}
	err := a.patientlyFor(ctx, transferTimeout, func(ctx context.Context) error { return a.download(ctx, ref, f, w) })
	if err != nil {
		return bot.Fetched{}, err
	}
	return bot.Fetched{MediaType: f.Mimetype, Source: ref.Ref}, nil
}

// sharedIn reports whether a file stands in the channel that asks for it: what
// people of one channel may see is not read for another. Slack does not say of
// every file where it stands; the one that came with a message of the channel
// does.
func sharedIn(f *slack.File, event bot.Event) bool {
	at, err := addressOf(event.Origin, event.Actor)
	if err != nil {
		return false
	}
	known := slices.Concat(f.Channels, f.Groups, f.IMs)
	for _, shares := range []map[string][]slack.ShareFileInfo{f.Shares.Public, f.Shares.Private} {
		for channel := range shares {
			known = append(known, channel)
		}
	}
	return len(known) == 0 || slices.Contains(known, at.Channel)
}

func unread(ref bot.InputRef, reason string) error {
	return &bot.InputError{Name: ref.Name, Reason: reason}
}

const signIn = "Slack answered with its sign-in page instead of the file: the app lacks the scope files:read, or may not see this file"

// download streams the bytes of f to w.
func (a *Adapter) download(ctx context.Context, ref bot.InputRef, f *slack.File, w io.Writer) error {
	address := f.URLPrivateDownload
	if address == "" {
		address = f.URLPrivate
	}
	if !a.ours(address) {
		return unread(ref, "it lies outside of Slack, and I read only what is stored in Slack; please upload the file itself")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("fetch file: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token())
	req.Header.Set("Accept-Encoding", "identity") // the length says whether it is the file
	client := *a.http
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("fetch file: %w", withoutURL(err))
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		return &slack.RateLimitedError{RetryAfter: headerSeconds(res.Header.Get("Retry-After"))}
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return unread(ref, signIn)
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		return unread(ref, "it was deleted in Slack")
	case res.StatusCode == http.StatusForbidden || res.StatusCode == http.StatusUnauthorized:
		return unread(ref, "Slack does not let me read it")
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("fetch file: Slack answered %s", res.Status)
	}
	return a.copy(ref, f, res, w)
}

// headerSeconds reads a Retry-After; at least a second.
func headerSeconds(value string) time.Duration {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		n = 1
	}
	return time.Duration(n) * time.Second
}

// copy streams a response, sniffing for the sign-in page first, and checks that
// all of the file came. Much that is no page begins like one (Markdown, logs, XML
// with a comment): what is as long as Slack says the file is, is the file.
func (a *Adapter) copy(ref bot.InputRef, f *slack.File, res *http.Response, w io.Writer) error {
	body := bufio.NewReaderSize(io.LimitReader(res.Body, a.opts.MaxInput+1), 32<<10)
	head, err := body.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("fetch file: %w", err)
	}
	page := strings.HasPrefix(http.DetectContentType(head), "text/html") || strings.HasPrefix(res.Header.Get("Content-Type"), "text/html")
	if page && (f.Size == 0 || res.ContentLength != int64(f.Size)) {
		return unread(ref, signIn)
	}
	n, err := io.Copy(w, body)
	switch {
	case err != nil:
		return fmt.Errorf("fetch file: %w", err)
	case n > a.opts.MaxInput:
		return fmt.Errorf("fetch file: %w", bot.ErrTooLarge)
	case f.Size > 0 && n != int64(f.Size):
		return fmt.Errorf("fetch file: %d of %d bytes came", n, f.Size)
	}
	return nil
}

// ours reports whether an address is one of Slack's, or of the configured API:
// only there the token goes.
func (a *Adapter) ours(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	if api, err := url.Parse(a.opts.APIURL); err == nil && u.Scheme == api.Scheme && strings.EqualFold(u.Host, api.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	return u.Scheme == "https" && (host == "slack.com" || strings.HasSuffix(host, ".slack.com") || host == "slack-gov.com" || strings.HasSuffix(host, ".slack-gov.com"))
}
