// Package render turns the Markdown of an answer into what Slack shows, and
// makes inert all that is not ours in it.
//
// Text of models, files and programs must not ping anybody and must not make
// Slack or a reader fetch an address (a link the model wrote can carry data to
// its host). So links and images become their label with the address in a code
// span, mentions become code, raw HTML becomes code; only the exact addresses
// that the asker typed stay links. Tables are drawn as aligned monospace text,
// because Slack shows Markdown's tables in some clients only.
package render
