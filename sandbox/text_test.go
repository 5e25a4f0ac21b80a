package sandbox

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCleaner(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "héllo\tworld\n", "héllo\tworld\n"},
		{"colours", "\x1b[31mred\x1b[0m", "red"},
		{"a title", "\x1b]0;owned\x07text", "text"},
		{"a title that ends in ST", "\x1b]0;owned\x1b\\text", "text"},
		{"an 8-bit CSI", "\u009b31mred", "red"},
		{"a character set", "\x1b(Bx", "x"},
		{"an escape that never ends stops at the line", "\x1b]0;evil\nnext", "next"},
		{"bells and nulls", "a\x07b\x00c", "abc"},
		{"invalid", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"progress", "10%\r20%\r\n", "10%\n20%\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var whole cleaner
			if got := whole.add([]byte(c.in)) + whole.end(); got != c.want {
				t.Errorf("whole: %q, want %q", got, c.want)
			}
			var bytewise cleaner
			var got strings.Builder
			for i := range len(c.in) {
				got.WriteString(bytewise.add([]byte{c.in[i]}))
			}
			got.WriteString(bytewise.end())
			if got.String() != c.want {
				t.Errorf("byte by byte: %q, want %q", got.String(), c.want)
			}
		})
	}
}

func TestBinaryIsNoticed(t *testing.T) {
	for text, want := range map[string]bool{"plain text": false, "caf\xe9 au lait, s'il vous plait, et encore": false, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR": true, "": false} {
		var c cleaner
		c.add([]byte(text))
		c.end()
		if c.binary() != want {
			t.Errorf("%q: binary %v", text, c.binary())
		}
	}
}

func FuzzCleaner(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b[0m\r\n"), 3)
	f.Add([]byte("\xf0\x9f\x98\x80\xff\x1b]"), 2)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = min(max(0, cut), len(data))
		var c cleaner
		text := c.add(data[:cut]) + c.add(data[cut:]) + c.end()
		if !utf8.ValidString(text) {
			t.Errorf("invalid: %q", text)
		}
		for _, r := range text {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Errorf("control character %q", r)
			}
		}
		var whole cleaner
		if all := whole.add(data) + whole.end(); all != text {
			t.Errorf("cut at %d: %q, whole: %q", cut, text, all)
		}
	})
}

func FuzzUnsafeName(f *testing.F) {
	for _, name := range []string{"a", "a/b", "../a", "/a", "a\x00b", "a..b", "a\u202eb", "a//b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if unsafeName(name) != "" {
			return
		}
		if strings.HasPrefix(name, "/") || strings.Contains(name, "\\") || !utf8.ValidString(name) || len(name) > maxPath {
			t.Errorf("%q is called safe", name)
		}
		for part := range strings.SplitSeq(name, "/") {
			if part == "" || part == "." || part == ".." {
				t.Errorf("%q is called safe", name)
			}
		}
	})
}
