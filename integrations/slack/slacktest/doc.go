// Package slacktest is a whole fake Slack workspace over HTTP and WebSocket,
// to run a bot against in tests and demonstrations.
//
// A Workspace serves the Web API (below [Workspace.APIURL]), socket mode, the
// external upload and file downloads. What people do is a Go call
// ([Workspace.Say], [Workspace.Press], …), and what they would see is
// [Workspace.Transcript]. A client is pointed at it with
//
//	slack.New(ws.BotToken(), slack.OptionAppLevelToken(ws.AppToken()), slack.OptionAPIURL(ws.APIURL()))
//
// # What it enforces
//
// Each limit is a constant of this package, counted in runes unless it says
// bytes, and refuses one more than it names:
//
//	text of a message         4,000        MaxText               msg_too_long
//	blocks in a message       50           MaxBlocks             invalid_blocks
//	blocks in a view          100          MaxViewBlocks         invalid_arguments
//	section text              3,000        MaxSection            invalid_blocks
//	text in a context         3,000        MaxSection            invalid_blocks
//	section field, how many   2,000, 10    MaxField, MaxFields   invalid_blocks
//	header                    150          MaxHeader             invalid_blocks
//	markdown of all blocks    12,000       MaxMarkdown           invalid_blocks
//	text of all blocks        13,200       MaxBlockText          msg_blocks_too_long
//	elements of a context     10           MaxContext            invalid_blocks
//	elements of an actions    25           MaxActions            invalid_blocks
//	button label              75           MaxButton             invalid_blocks
//	button value              2,000        MaxValue              invalid_blocks
//	action id, block id       255          MaxID                 invalid_blocks
//	message metadata          4,000 bytes  MaxMetadata           dropped silently
//	socket-mode answer        20,480 bytes MaxAck                dropped silently
//	file name                 255          MaxFileName           invalid_arguments
//	title of a view           24           MaxViewTitle          invalid_arguments
//	private_metadata          3,000        MaxPrivate            invalid_arguments
//	alternative text          2,000        MaxAlt                invalid_blocks (of an upload: invalid_arguments)
//
// Rates are token buckets per method: tier 1 holds 10 calls and refills 1 a
// minute, tiers 2, 3 and 4 hold and refill 20, 50 and 100 a minute, and
// chat.postMessage holds 4 calls and refills 1 a second per channel. A call too
// many gets 429 with Retry-After. Options.Commercial puts
// conversations.history and .replies at 1 call a minute and 15 items, as Slack
// does for apps sold outside its Marketplace.
//
// Beside the limits it keeps Slack's habits that lose or double things: a
// socket URL serves once; events are not kept while no socket is up; an
// envelope without an answer after AckTimeout comes again after each of
// Redelivery; a reply to a reply's ts is lost; an upload's share stands only
// after ShareDelay; initial_comment makes blocks ignored, and a markdown block
// in an upload is an internal_error; a size of 0 is refused; a download without
// files:read is an HTML page with status 200; links unfurl unless both
// unfurl_links and unfurl_media are false; a response URL serves five times.
//
// # Faults
//
// [Workspace.Inject] breaks calls of one method or of all: before the call is
// carried out, after it (the lost response), with 429, a status or an error.
// [Workspace.Disconnect], [Workspace.DropSockets], [Workspace.SetDown] and the
// fields of [Delivery] break the rest.
//
// Time comes from package time, so that a Workspace with Options.InMemory may
// stand in a testing/synctest bubble together with its client.
package slacktest
