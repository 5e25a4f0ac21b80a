// Package github is Sandpiper's adapter to GitHub: it turns comments, issues
// and review comments that call the bot into events, and brings answers and
// files back into the issue they came from.
//
// It promises that
//
//   - nothing is acknowledged to GitHub before it was committed, and what
//     GitHub could not deliver is found and asked for again;
//   - an answer appears once, however often a response is lost: one comment a
//     task, found again by a marker that only this bot can sign, and one commit
//     of files;
//   - nobody is answered whose right was not confirmed by GitHub, no file is
//     read that its asker may not read, and none is answered into a place more
//     public than its own;
//   - what is posted pings nobody, refers to nothing, commands no other bot and
//     loads nothing.
//
// The Adapter is a bot.Source, a bot.Channel, and by Webhook the handler of
// POST /webhooks/github. Mind that webhooks are answered with 503 until Run
// has begun: GitHub keeps them for three days, and the sweep asks for them.
//
// An event's life: webhook.go checks and decodes, event.go decides what it
// means with trigger.go and inputs.go, rights.go asks for the right, fetch.go
// brings files, comment.go writes the answer made inert by package inert, and
// artifacts.go commits the files.
package github
