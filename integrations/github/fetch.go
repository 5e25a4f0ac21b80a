package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/internal/netguard"
)

// Fetch implements bot.Channel. What cannot be read is told with the ways
// that work.
func (a *Adapter) Fetch(ctx context.Context, event bot.Event, in bot.InputRef, w io.Writer) (bot.Fetched, error) {
	var r ref
	if err := json.Unmarshal([]byte(in.Ref), &r); err != nil {
		return bot.Fetched{}, &bot.InputError{Name: in.Name, Reason: "its reference cannot be read"}
	}
	to, err := readAddress(event.Origin)
	if err != nil && (r.Kind != refNamed || event.Origin.Adapter == Name) {
		return bot.Fetched{}, &bot.InputError{Name: in.Name, Reason: "the request has no address"}
	}
	f := &fetching{Adapter: a, event: event, to: to, name: in.Name, w: w}
	for {
		got, err := f.once(ctx, r)
		// A limit is told before any byte came: it is waited out, for a file
		// that is named as missing only because of it would spoil the answer.
		limit, limited := errors.AsType[*limitedError](err)
		if !limited || limit.after > longestWait {
			return got, err
		}
		if !sleep(ctx, limit.after) {
			return got, context.Cause(ctx)
		}
	}
}

// longestWait is the longest limit that a fetch waits out.
const longestWait = 10 * time.Minute

func (f *fetching) once(ctx context.Context, r ref) (bot.Fetched, error) {
	if err := f.maySpread(ctx, r); err != nil {
		return bot.Fetched{}, err
	}
	switch r.Kind {
	case refText:
		_, err := io.WriteString(f.w, r.Text)
		return bot.Fetched{Source: f.event.Source + ":block"}, err
	case refAttachment:
		return f.attachment(ctx, r)
	case refFile:
		return f.file(ctx, r)
	case refNamed:
		return f.named(ctx, r)
	case refDiff:
		return f.diff(ctx, r)
	}
	return bot.Fetched{}, f.problem("its kind is not known")
}

// fetching is one Fetch.
type fetching struct {
	*Adapter
	event bot.Event
	to    address
	name  string
	w     io.Writer
}

func (f *fetching) problem(format string, args ...any) error {
	return &bot.InputError{Name: f.name, Reason: fmt.Sprintf(format, args...)}
}

// asker is the login that a file must be readable by.
func (f *fetching) asker() string { return strings.TrimPrefix(f.event.Actor.ID, Name+":") }

// copy streams a body up to the limit.
func (f *fetching) copy(body io.Reader, length int64) error {
	limit := f.options.Limits.Input
	if length > limit {
		return f.problem("it is larger than allowed (%d MiB)", limit>>20)
	}
	n, err := io.Copy(f.w, io.LimitReader(body, limit+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	if n > limit {
		return f.problem("it is larger than allowed (%d MiB)", limit>>20)
	}
	return nil
}

const waysThatWork = "commit it to the repository and name its path, or put it into the comment as a fenced block (```csv name=data.csv)"

// attachment reads what was uploaded into a comment: openly where that works,
// else by the signed URL that GitHub gives for a picture, else with our own
// credentials, which for some files GitHub refuses.
func (f *fetching) attachment(ctx context.Context, r ref) (bot.Fetched, error) {
	got, err := f.get(ctx, r.URL, "")
	if !errors.Is(err, errAbsent) {
		return got, err
	}
	// From here on our own rights are used: only for files of a private
	// place, whose readers are the ones who see the answer.
	visibility, err := f.visibility(ctx, f.to.Repository)
	if err != nil {
		return got, err
	}
	if visibility == "public" {
		return got, f.problem("its link answers 404: it was deleted, or belongs to a private repository")
	}
	signed, err := f.signedURL(ctx, r)
	if err != nil {
		return got, err
	}
	if signed != "" {
		if got, err = f.get(ctx, signed, ""); !errors.Is(err, errAbsent) {
			got.Source = r.URL
			return got, err
		}
	}
	if token := f.options.Secrets().Token; f.options.AppID == 0 && token != "" {
		if got, err = f.get(ctx, r.URL, token); !errors.Is(err, errAbsent) {
			return got, err
		}
	}
	return got, f.problem("GitHub does not hand files attached in a private repository to programs; %s", waysThatWork)
}

// errAbsent says that a link answered 404, 403 or a sign-in page.
var errAbsent = errors.New("not there for us")

// get reads an https link through the guard.
func (f *fetching) get(ctx context.Context, link, token string) (bot.Fetched, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return bot.Fetched{}, f.problem("its link is no URL")
	}
	if token != "" {
		// The client drops this header when a redirect leaves the host.
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := f.files.Do(request)
	if netguard.Refused(err) {
		return bot.Fetched{}, f.problem("its link leads where I do not go: %s", netguard.Refusal(err))
	}
	if err != nil {
		return bot.Fetched{}, fmt.Errorf("fetch attachment: %w", netguard.BareError(err))
	}
	defer func() { _ = response.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch status := response.StatusCode; {
	case status == http.StatusNotFound || status == http.StatusForbidden || status == http.StatusUnauthorized,
		strings.HasSuffix(response.Request.URL.Path, "/login"):
		return bot.Fetched{}, errAbsent
	case status == http.StatusTooManyRequests || status >= 500:
		return bot.Fetched{}, fmt.Errorf("fetch attachment: status %d", status)
	case status != http.StatusOK:
		return bot.Fetched{}, f.problem("its link answers with status %d", status)
	}
	return bot.Fetched{MediaType: kind, Source: netguard.Bare(link)}, f.copy(response.Body, response.ContentLength)
}

var assetID = regexp.MustCompile(`assets/(?:\d+/)?([0-9A-Za-z-]{8,})$`)

// signedURL asks GitHub for the text as HTML, in which the pictures of
// private repositories have URLs that open for five minutes; "" where the
// text holds none for r.
func (f *fetching) signedURL(ctx context.Context, r ref) (string, error) {
	client, err := f.client(ctx, f.to)
	if err != nil {
		return "", err
	}
	call := fmt.Sprintf("repos/%s/issues/%d", f.to.Repository, f.to.Number)
	switch r.In {
	case inComment:
		call = fmt.Sprintf("repos/%s/issues/comments/%d", f.to.Repository, f.to.ID)
	case inReview:
		call = fmt.Sprintf("repos/%s/pulls/comments/%d", f.to.Repository, f.to.ID)
	}
	request, err := client.NewRequest(http.MethodGet, call, nil)
	if err != nil {
		return "", fmt.Errorf("ask for the text: %w", err)
	}
	request.Header.Set("Accept", "application/vnd.github.full+json")
	var answer struct {
		Body string `json:"body"`
		HTML string `json:"body_html"` // v60's types lack it
	}
	if _, err := client.Do(ctx, request, &answer); err != nil {
		if final(err) {
			return "", nil
		}
		return "", fmt.Errorf("ask for the text: %w", f.clients.explain(err))
	}
	// The n-th picture of the text is the n-th signed URL, unless the signed
	// one names its asset.
	var candidates []string
	for _, link := range linkPattern.FindAllString(html.UnescapeString(answer.HTML), -1) {
		// Each picture stands there twice: shown, and as the link around it.
		if (strings.Contains(link, "/private-user-images/") || strings.Contains(link, "//private-user-images.")) && !slices.Contains(candidates, link) {
			candidates = append(candidates, link)
		}
	}
	if id := assetID.FindStringSubmatch(netguard.Bare(r.URL)); id != nil {
		for _, link := range candidates {
			if strings.Contains(netguard.Bare(link), id[1]) {
				return link, nil
			}
		}
	}
	var pictures []string
	for _, link := range read(answer.Body, f.options.Handle).links {
		if u, err := url.Parse(link); err == nil && strings.Contains(u.Path, "/assets/") && attachmentPath.MatchString(u.Path) {
			pictures = append(pictures, link)
		}
	}
	for i, link := range pictures {
		if link == r.URL && len(pictures) == len(candidates) {
			return candidates[i], nil
		}
	}
	return "", nil
}

// diff reads a pull request's changes, pinned to its head.
func (f *fetching) diff(ctx context.Context, r ref) (bot.Fetched, error) {
	client, err := f.client(ctx, f.to)
	if err != nil {
		return bot.Fetched{}, err
	}
	pull, _, err := client.PullRequests.Get(ctx, f.to.owner(), f.to.name(), r.Number)
	if err != nil {
		return bot.Fetched{}, f.apiProblem(err)
	}
	text, _, err := client.PullRequests.GetRaw(ctx, f.to.owner(), f.to.name(), r.Number, github.RawOptions{Type: github.Diff})
	if err != nil {
		return bot.Fetched{}, f.apiProblem(err)
	}
	source := fmt.Sprintf("%s/pull/%d@%s", f.to.Repository, r.Number, pull.GetHead().GetSHA())
	return bot.Fetched{MediaType: "text/x-diff", Source: source}, f.copy(strings.NewReader(text), int64(len(text)))
}

// apiProblem makes a final answer of the API a problem in words; others are
// tried again.
func (f *fetching) apiProblem(err error) error {
	switch {
	case statusOf(err) == http.StatusNotFound:
		return f.problem("GitHub has no such file there, or does not show it to me")
	case final(err):
		answer, _ := answerOf(err)
		return f.problem("GitHub refused it: %s", strings.ToValidUTF8(answer.text, ""))
	}
	return fmt.Errorf("fetch %s: %w", path.Base(f.name), f.clients.explain(err))
}
