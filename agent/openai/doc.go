// Package openai is the agent's Model over any OpenAI-compatible server.
package openai
