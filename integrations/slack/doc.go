// Package slack brings requests in from Slack over socket mode and answers in
// the thread they came from.
//
// Adapter is a bot.Source and a bot.Channel. It promises:
//
//   - an envelope is acknowledged only after the core has committed what it
//     asked for; one that could not be committed is left for Slack to send again;
//   - a mention that arrives as two events, in any order, with or without its
//     files, is one request with all its files;
//   - what was said while no socket was up is read afterwards, from a watermark
//     per channel, and what is older than Options.Catchup is offered, not run;
//   - a message whose posting got no answer is found again by the mark in its
//     metadata, or not sent yet; only marks made with our key by our own bot count;
//   - a file is read only for the channel it is shared in, and the token goes to
//     Slack's hosts only;
//   - no text of models, files or strangers pings anybody, becomes a link or is
//     unfurled: see package render.
//
// The socket is read by this package and not by slack-go's socketmode.Client:
// that one closes a socket before it opens the next, hides why Slack
// disconnected (link_disabled is the end, all else is not) and drops envelopes
// it does not know. Everything else goes through slack-go.
//
// To mind: refusals are shown to their asker alone and are best effort; who was
// told is remembered in memory only. A slash command has no message of its own,
// so one is posted for it before the request is committed. An answer of more
// than maxMarkdown characters takes several messages, because Slack takes no
// longer one.
package slack
