package slack

import (
	"context"
	"fmt"
	"strings"

	"github.com/slack-go/slack"
)

// Finding is something that is wrong with the set-up, and what to do.
type Finding struct{ Problem, Hint string }

// CheckChannels looks whether the app is in every channel that it may be asked
// in, for sandpiper doctor.
func (a *Adapter) CheckChannels(ctx context.Context) (found []Finding) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, listed := range a.opts.Allow.Channels {
		id := listed[strings.LastIndexByte(listed, '/')+1:]
		channel, err := a.api().GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: id})
		switch {
		case code(err) == "channel_not_found":
			found = append(found, Finding{
				fmt.Sprintf("Slack shows us no channel %s: the id is wrong, or it is private and the bot is not in it", id),
				"copy the id from the channel's details, and write /invite @sandpiper there",
			})
		case err != nil:
			found = append(found, Finding{fmt.Sprintf("channel %s cannot be looked at: %v", id, explain(err)), ""})
		case channel.IsIM, channel.IsMember:
		default:
			found = append(found, Finding{fmt.Sprintf("the bot is not in #%s (%s): it hears nothing there", channel.Name, id), "write /invite @sandpiper in that channel"})
		}
	}
	return found
}
