package bot_test

import (
	"testing"

	"github.com/sandpiper-bot/sandpiper/bot"
)

func TestCloseFence(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"text":                          "text",
		"```\nx\n```":                   "```\nx\n```",
		"a\n```python\nx = 1":           "a\n```python\nx = 1\n```",
		"a\n```\nx\n\n":                 "a\n```\nx\n```",
		"~~~\n```\nx":                   "~~~\n```\nx\n~~~",
		"````\n```\nx\n```":             "````\n```\nx\n```\n````",
		"```\nx\n``` and more":          "```\nx\n``` and more\n```",
		"```\nx\n````":                  "```\nx\n````",
		"``` one line ```":              "``` one line ```",
		"    ```\nindented is no fence": "    ```\nindented is no fence",
		"  ```\r\nx\r\n  ```\r\n":       "  ```\r\nx\r\n  ```\r\n",
		"~~~ a `b` c\nx":                "~~~ a `b` c\nx\n~~~",
		"`` x\n":                        "`` x\n",
	} {
		got := bot.CloseFence(in)
		if got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if again := bot.CloseFence(got); again != got {
			t.Errorf("%q is closed twice: %q", in, again)
		}
	}
}
