// Package slacktest is a whole fake Slack workspace over HTTP and WebSocket.
package slacktest
