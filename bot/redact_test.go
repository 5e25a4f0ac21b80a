package bot

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

func TestSecretsAreStruckOut(t *testing.T) {
	const known = "hunter2-is-not-good"
	r := NewRedactor([]string{known, "short", ""})
	key := "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"
	letters := strings.Repeat("aB3", 20)
	for _, secret := range []string{
		known, base64.StdEncoding.EncodeToString([]byte(known)),
		"xoxb-123456789012-" + letters, "xapp-1-A012345-" + letters, "xoxe.xoxp-1-" + letters,
		"ghp_" + letters, "ghs_" + letters, "github_pat_" + letters, "glpat-" + letters,
		"sk-" + letters, "sk-proj-" + letters, "sk-ant-api03-" + letters, "sk_live_" + letters,
		"AKIA" + "ABCDEFGHIJKLMNOP", "AIza" + letters[:35], "hf_" + letters, "npm_" + letters[:36],
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + letters,
		"https://hooks.slack.com/services/T00000000/B00000000/" + letters[:24],
		key, "-----BEGIN OPENSSH PRIVATE KEY-----\ncut off",
	} {
		got := r.Text("before " + secret + " after")
		if strings.Contains(got, secret) || !strings.HasPrefix(got, "before "+struck) {
			t.Errorf("%.30q… became %q", secret, got)
		}
	}
	if got := r.Text("postgres://user:pa55word@db/x"); strings.Contains(got, "pa55word") {
		t.Errorf("a password in a URL stays: %q", got)
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	r := NewRedactor([]string{"a-secret-of-ours"})
	for _, text := range []string{
		"", "risk-adjusted-returns-for-the-whole-year-2026", "task-1234567890123456789012345", "ask-me-anything-about-this-report",
		"https://example.com/a?b=c#d", "https://example.com:8080/x@y", "short", "ghp_short", "The key: value pairs",
		strings.Repeat("0123456789abcdef", 4), "mailto:someone@example.com", "sk-short",
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestSecretsInLongFiles(t *testing.T) {
	const known = "a-secret-of-ours"
	r := NewRedactor([]string{known})
	key := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEow\n", 40) + "-----END PRIVATE KEY-----\n"
	for name, content := range map[string]string{
		"lines":         strings.Repeat("a line of a table, 1, 2, 3\n", 100_000) + known + "\n" + key,
		"one long line": strings.Repeat("x", 3<<20) + " " + known,
		"small":         "a," + known + "\n",
	} {
		var out bytes.Buffer
		found, err := r.copy(&out, strings.NewReader(content))
		if err != nil || !found || strings.Contains(out.String(), known) || strings.Contains(out.String(), "MIIEow") {
			t.Errorf("%s: found %v, %v", name, found, err)
		}
		if want := strings.ReplaceAll(strings.ReplaceAll(content, known, struck), strings.TrimSuffix(key, "\n"), struck); out.String() != want {
			t.Errorf("%s: %d bytes, want %d", name, out.Len(), len(want))
		}
	}
	var out bytes.Buffer
	const clean = "nothing\r\nin here\x00\n\n"
	if found, err := r.copy(&out, strings.NewReader(clean)); found || err != nil || out.String() != clean {
		t.Errorf("clean text: %v %v %q", found, err, out.String())
	}
}

func TestARedactorLearnsNewSecrets(t *testing.T) {
	r := NewRedactor([]string{"the-old-secret"})
	r.Know([]string{"the-old-secret", "the-new-secret"})
	if got := r.Text("the-old-secret the-new-secret"); strings.Contains(got, "-secret") {
		t.Errorf("%q", got)
	}
}
