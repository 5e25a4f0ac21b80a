package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/slack-go/slack"
)

// eventType names our metadata among that of other apps.
const eventType = "sandpiper_delivery"

// markOf is the metadata that says which delivery, and which part of it, a
// message is. Its HMAC keeps others from making us believe that we have sent.
func (a *Adapter) markOf(delivery string, part int) slack.SlackMetadata {
	return slack.SlackMetadata{EventType: eventType, EventPayload: map[string]any{
		"delivery": delivery, "part": part, "mark": a.mac(delivery, part),
	}}
}

func (a *Adapter) mac(delivery string, part int) string {
	h := hmac.New(sha256.New, a.opts.Secret)
	_, _ = fmt.Fprintf(h, "slack\x00%s\x00%d", delivery, part) // hash.Hash never fails
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// partOf reports which part of delivery a message is; only a message of our own
// bot with a valid mark is one.
func (a *Adapter) partOf(one slack.Message, delivery string) (int, bool) {
	self := a.whoami()
	if one.BotID != self.bot && one.User != self.user || one.Metadata.EventType != eventType {
		return 0, false
	}
	payload := one.Metadata.EventPayload
	part, ok := payload["part"].(float64)
	mark, _ := payload["mark"].(string)
	if id, _ := payload["delivery"].(string); !ok || id != delivery {
		return 0, false
	}
	return int(part), hmac.Equal([]byte(mark), []byte(a.mac(delivery, int(part))))
}
