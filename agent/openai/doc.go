// Package openai is the agent's Model over any OpenAI-compatible server: chat
// completions, and the Responses API for models that need it.
//
// Answers are always streamed, so that a cancelled turn stops at the server.
// What comes back is read leniently, because servers differ: missing or
// doubled ids, arguments as objects or as broken JSON, calls written as text,
// null content, no usage. Failures are classed once, here: what may pass is
// tried again a bounded number of times with the server's Retry-After, then
// the fallback models of the same server are asked, and what is left is an
// *agent.ModelError in words for people. No remote body reaches an error or a
// log.
package openai
