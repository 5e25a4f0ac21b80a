package slack

import (
	"context"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// newestRef begins the reference of a channel's newest file of a pattern:
// "slack:newest/C0123/*.csv".
const newestRef = Name + ":newest/"

// filePages bounds how many pages of a channel's files are looked through.
const filePages = 10

var (
	channelID    = regexp.MustCompile(`^[CGD][A-Z0-9]{2,}$`)
	channelShown = regexp.MustCompile(`^<#([CG][A-Z0-9]+)(?:\|[^>]*)?>$`)
)

// Newest returns an input that is, at each run, the newest file of a channel
// whose name matches the pattern. A run that would get the file of the last
// good run is told that no new one has come.
func Newest(channel, pattern string) (bot.InputRef, error) {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" || strings.ContainsAny(pattern, "/\\") {
		return bot.InputRef{}, fmt.Errorf("pattern %q: write a file's name with * and ?, for instance *.csv", pattern)
	}
	if !channelID.MatchString(channel) {
		return bot.InputRef{}, fmt.Errorf("channel %q: write its id, for instance C0123", channel)
	}
	return bot.InputRef{Name: pattern, Adapter: Name, Ref: newestRef + channel + "/" + pattern, Fresh: true}, nil
}

// ChannelShown reads a channel as Slack writes it into messages, <#C0123|name>.
func ChannelShown(text string) (channel string, ok bool) {
	found := channelShown.FindStringSubmatch(text)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// Zone is a person's own time zone as Slack knows it; "" where it does not.
func (a *Adapter) Zone(ctx context.Context, actor bot.Actor) string {
	user, ours := userOf(actor)
	if !ours {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	u, err := a.user(ctx, user)
	if err != nil {
		a.log.Info("a person's time zone is not known", "error", explain(err))
		return ""
	}
	return u.TZ
}

// userOf is the Slack id of an actor; ours is false where it is nobody of Slack.
func userOf(actor bot.Actor) (user string, ours bool) {
	rest, ours := strings.CutPrefix(actor.ID, Name+":")
	return rest[strings.LastIndexByte(rest, '/')+1:], ours
}

// Reads says why an actor may not have a channel's files read for them, "" where
// they may: the channel is listed and the actor is in it. Whoever is nobody of
// Slack runs the bot, and vouched for what the configuration names. An error
// means that Slack did not answer.
func (a *Adapter) Reads(ctx context.Context, actor bot.Actor, channel string) (string, error) {
	if err := a.know(ctx); err != nil {
		return "", err
	}
	info, err := a.channel(ctx, channel)
	switch code(err) {
	case "":
	case "channel_not_found", "missing_scope":
		return "I am not in that channel, or Slack does not show it to me", nil
	}
	if err != nil {
		return "", fmt.Errorf("ask for channel: %w", explain(err))
	}
	if info.IsExtShared && !a.opts.External {
		return "that channel is shared with other organizations", nil
	}
	user, ours := userOf(actor)
	if !ours {
		return "", nil
	}
	if listed, _ := a.allowed(a.whoami().team, channel, user, directID(channel), false); !listed {
		return "I take no requests in that channel, so I read no files of it", nil
	}
	if who, err := a.person(ctx, user); err != nil || !who.Allowed {
		return who.Reason, err
	}
	in, err := a.isMember(ctx, channel, user)
	if err != nil {
		return "", err
	}
	if !in {
		return "you are not a member of that channel", nil
	}
	return "", nil
}

// isMember asks whether somebody is in a channel.
func (a *Adapter) isMember(ctx context.Context, channel, user string) (bool, error) {
	cursor := ""
	for {
		var members []string
		err := a.patiently(ctx, func(ctx context.Context) (err error) {
			members, cursor, err = a.api().GetUsersInConversationContext(ctx, &slack.GetUsersInConversationParameters{ChannelID: channel, Cursor: cursor, Limit: 1000})
			return err
		})
		if err != nil {
			return false, fmt.Errorf("ask for members: %w", explain(err))
		}
		if slices.Contains(members, user) {
			return true, nil
		}
		if cursor == "" {
			return false, nil
		}
	}
}

// newestOf reads the reference of a channel's newest file.
func newestOf(ref string) (channel, pattern string, ok bool) {
	rest, ok := strings.CutPrefix(ref, newestRef)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// fetchNewest streams the newest file of a channel that a pattern matches, with
// the rights of who asks.
func (a *Adapter) fetchNewest(ctx context.Context, event bot.Event, ref bot.InputRef, channel, pattern string, w io.Writer) (bot.Fetched, error) {
	no, err := a.Reads(ctx, event.Actor, channel)
	if err != nil {
		return bot.Fetched{}, err
	}
	if no == "" {
		no, err = a.tooOpen(ctx, event, channel)
	}
	if err != nil {
		return bot.Fetched{}, err
	}
	if no != "" {
		return bot.Fetched{}, unread(ref, no)
	}
	f, err := a.newestFile(ctx, channel, pattern)
	if err != nil {
		return bot.Fetched{}, err
	}
	if f == nil {
		return bot.Fetched{}, unread(ref, "no file of this name is there in the channel")
	}
	ref.Name, ref.Ref = orElse(f.Name, orElse(f.Title, f.ID)), sourceOf(a.whoami().team, "", f.ID)
	got, err := a.fetchFile(ctx, ref, f, w)
	got.Name = ref.Name
	return got, err
}

// tooOpen says why a private channel's file must not be answered where event's
// answers go: more people would see it there.
func (a *Adapter) tooOpen(ctx context.Context, event bot.Event, channel string) (string, error) {
	info, err := a.channel(ctx, channel)
	if err != nil {
		return "", fmt.Errorf("ask for channel: %w", explain(err))
	}
	if !info.IsPrivate && !info.IsIM && !info.IsMpIM {
		return "", nil
	}
	const no = "it stands in a private channel, and the answer goes where others can read it"
	user, _ := userOf(event.Actor)
	for _, to := range append([]bot.Origin{event.Origin}, event.Also...) {
		at, err := addressOf(to, event.Actor)
		switch {
		case event.Options.DryRun && to.Adapter == consoleAdapter:
			continue // who runs the bot looks at it
		case to.Adapter == Name && err == nil && at.Direct != "":
			if at.Direct != user {
				return no, nil
			}
			continue
		case to.Adapter != Name || err != nil:
			return no, nil //nolint:nilerr // a place that cannot be read is not the private one
		case at.Channel == channel:
			continue
		}
		dest, err := a.channel(ctx, at.Channel)
		if err != nil {
			return "", fmt.Errorf("ask for channel: %w", explain(err))
		}
		if !dest.IsIM || dest.User != user {
			return no, nil
		}
	}
	return "", nil
}

// consoleAdapter is that of the command line.
const consoleAdapter = "console"

// newestFile finds the newest file of people in a channel; nil where none
// matches. Our own answers are none.
func (a *Adapter) newestFile(ctx context.Context, channel, pattern string) (*slack.File, error) {
	var best *slack.File
	for page := 1; page <= filePages; page++ {
		var files []slack.File
		var paging *slack.Paging
		err := a.patiently(ctx, func(ctx context.Context) (err error) {
			files, paging, err = a.api().GetFilesContext(ctx, slack.GetFilesParameters{Channel: channel, Count: 100, Page: page})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list files: %w", explain(err))
		}
		for i := range files {
			f := &files[i]
			ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(f.Name))
			if err != nil {
				return nil, unread(bot.InputRef{Name: pattern}, "it is no valid pattern")
			}
			if ok && f.User != a.whoami().user && problemOf(*f) == "" && (best == nil || f.Created > best.Created) {
				best = f
			}
		}
		if best != nil || paging == nil || page >= paging.Pages {
			break // Slack lists the newest first
		}
	}
	return best, nil
}

// ChannelNamed finds the channel that people call #name, or whose id it is,
// among those that the bot is in; "" where there is none.
func (a *Adapter) ChannelNamed(ctx context.Context, name string) (string, error) {
	name = strings.TrimPrefix(name, "#")
	if channel, ok := ChannelShown(name); ok {
		return channel, nil
	}
	all, err := a.conversations(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		if c.ID == name || !c.IsIM && strings.EqualFold(c.Name, name) {
			return c.ID, nil
		}
	}
	return "", nil
}
