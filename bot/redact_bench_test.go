package bot

import (
	"strings"
	"testing"
)

func BenchmarkRedactor(b *testing.B) {
	r := NewRedactor([]string{"a-secret-of-ours", "another-secret-of-ours"})
	for name, text := range map[string]string{
		"table": strings.Repeat("2026-01-02,Region North,1234.56,some text here\n", 10_000),
		"links": strings.Repeat("https://example.com/path,ghost,task-12\n", 10_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Text(text)
			}
		})
	}
}
