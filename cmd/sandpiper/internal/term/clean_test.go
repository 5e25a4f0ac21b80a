package term

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"plain text stays":        {"Umsatz: 1 234 €\n\tnaïve 日本 👩‍💻", "Umsatz: 1 234 €\n\tnaïve 日本 👩‍💻"},
		"colours":                 {"\x1b[31mred\x1b[0m", "red"},
		"title of the window":     {"a\x1b]0;pwned\x07b", "ab"},
		"hyperlink":               {"\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\", "click"},
		"clear screen, 8-bit CSI": {"\u009b2Jx", "x"},
		"a string never ended":    {"a\x1b]0;never\nb", "a\nb"},
		"carriage return":         {"good\rbad", "goodbad"},
		"backspaces":              {"ab\b\bxy", "abxy"},
		"right to left override":  {"a\u202egnp.exe", "agnp.exe"},
		"zero width":              {"a\u200bb\ufeffc", "abc"},
		"invalid UTF-8":           {"a\xffb", "a\ufffdb"},
		"a lone escape":           {"end\x1b", "end"},
		"tag characters":          {"x\U000E0041y", "xy"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Clean(test.in); got != test.want {
				t.Errorf("Clean(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
	if got := Line("a\nb\t c\x1b[2J"); got != "a b c" {
		t.Errorf("Line gave %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\u009b2J\x1b]0;t\x07")
	f.Fuzz(func(t *testing.T, in string) {
		out := Clean(in)
		if !utf8.ValidString(out) {
			t.Fatalf("Clean(%q) is no UTF-8", in)
		}
		for _, r := range out {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("Clean(%q) kept %U", in, r)
			}
		}
		if again := Clean(out); again != out {
			t.Fatalf("Clean is not stable on %q: %q, then %q", in, out, again)
		}
	})
}
