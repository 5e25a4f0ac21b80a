// Package slack brings Slack mentions in over socket mode and answers back into the thread.
package slack
