package agent_test

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"io"
	"strings"
	"testing"

	"github.com/sandpiper-bot/sandpiper/agent"
	"github.com/sandpiper-bot/sandpiper/agent/modeltest"
)

//go:embed testdata/hostile.py
var hostileProgram string

// TestDeliverables: what calls home or runs is defused or withheld, and named;
// harmless files of the same kinds go out as they are.
func TestDeliverables(t *testing.T) {
	w := newWorld(t, "")
	w.options.Limits = agent.Limits{Artifacts: 200}
	w.model(modeltest.Start(t, lead(run(hostileProgram), end("Here they are."))))
	defer dump(t, w, "01A")
	o := w.must(w.task("01A", "make files"))

	delivered := map[string]bool{}
	for _, f := range o.Files {
		delivered[f.Name] = true
	}
	withheld := map[string]string{}
	for _, u := range o.Undelivered {
		withheld[u.Name] = u.Reason
	}
	noted := func(name string) bool { return strings.Contains(o.Message, "`"+name+"`: ") }
	for _, name := range []string{"good.xlsx", "good.svg", "good.pdf", "good.png", "good.docx", "good.pptx", "good.odt", "good.html", "good.md", "good.csv", "good.zip"} {
		if !delivered[name] || noted(name) {
			t.Errorf("%s is harmless: delivered %v, changed %v, withheld %q", name, delivered[name], noted(name), withheld[name])
		}
	}
	for _, name := range []string{
		"webservice.xlsx", "image.xlsx", "dde.xlsx", "otherbook.xlsx", "definedname.xlsx", "template.docx",
		"script.svg", "remote.svg", "onload.svg", "style.svg", "foreign.svg", "use.svg", "escape.svg", "jslink.svg", "entity.svg",
		"script.html", "inline.html", "img.html", "refresh.html", "link.html", "base.html", "css.html", "form.html", "handler.html",
		"srcset.html", "inlinestyle.html", "object.html", "remote.md", "disguised.txt",
	} {
		if !delivered[name] || !noted(name) {
			t.Errorf("%s: delivered %v, named %v, withheld %q; want it defused", name, delivered[name], noted(name), withheld[name])
			continue
		}
		content := unzipped(w.content(o, name))
		if strings.HasSuffix(name, ".md") {
			if strings.Contains(content, "![") || strings.Contains(content, "<img") {
				t.Errorf("%s still loads: %q", name, content)
			}
		} else if strings.Contains(content, "evil.example") || strings.Contains(content, "cmd|") || strings.Contains(content, "<script") || strings.Contains(content, "onclick") {
			t.Errorf("%s still calls: %.600q", name, content)
		}
		if kept := strings.HasSuffix(name, ".svg") || strings.HasSuffix(name, ".html"); kept && !strings.Contains(content, "kept") {
			t.Errorf("%s lost its contents: %q", name, content)
		}
	}
	for _, name := range []string{
		"externallink.xlsx", "connection.xlsx", "macro.xlsx", "renamed.xlsm", "remoteimage.docx", "ole.docx", "field.docx",
		"script.pdf", "hexed.pdf", "old.xls", "page.hta", "query.iqy", "tool.bin", "nested.zip", "broken.xlsx", "bomb.xlsx",
	} {
		if delivered[name] || withheld[name] == "" {
			t.Errorf("%s: delivered %v, reason %q; want it withheld", name, delivered[name], withheld[name])
		}
	}
	if total := len(o.Files) + len(o.Undelivered); total != 56 {
		t.Errorf("%d files delivered or named, 56 were made", total)
	}
}

// unzipped joins an archive's members, or gives other content as it is.
func unzipped(raw []byte) string {
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return string(raw)
	}
	var b strings.Builder
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			continue
		}
		data, err := io.ReadAll(r)
		r.Close()
		if err == nil {
			b.Write(data)
		}
	}
	return b.String()
}
