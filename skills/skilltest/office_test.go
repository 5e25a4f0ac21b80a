package skilltest_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// tool finds a program of this machine; where it is absent the test is
// skipped, and in CI it fails.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed, and in CI it must be", names[0])
	}
	t.Skipf("skipped: %s is not installed", names[0])
	return ""
}

// produce runs a built-in skill on inputs and returns the folder of its files.
func produce(t *testing.T, made *sandbox.Sandbox, skill, request string, inputs map[string]string) string {
	t.Helper()
	catalogue, err := skills.Load(skills.Options{Builtin: skills.Builtin()})
	require.NoError(t, err)
	s, err := catalogue.Get(skill)
	require.NoError(t, err)
	session, err := made.Lease(t.Context(), sandbox.LeaseOptions{Task: "office-" + skill})
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	put := func(name string, data []byte) {
		require.NoError(t, session.Put(t.Context(), name, int64(len(data)), bytes.NewReader(data)))
	}
	var names []string
	for name, text := range inputs {
		names = append(names, name)
		put("workspace/in/"+name, []byte(text))
	}
	asked, err := json.Marshal(map[string]any{"request": request, "inputs": names, "language": "en", "skill": skill})
	require.NoError(t, err)
	put("workspace/.sandpiper/request.json", asked)
	for _, name := range s.Files {
		data, err := os.ReadFile(filepath.Join("..", "builtin", skill, filepath.FromSlash(name)))
		require.NoError(t, err)
		put("skills/"+skill+"/"+name, data)
	}
	result, err := session.Run(t.Context(), sandbox.Program{Language: sandbox.Python, Code: fmt.Sprintf("import runpy\nrunpy.run_path('/skills/%s/%s', run_name='__main__')\n", skill, s.Run)})
	require.NoError(t, err)
	require.Equal(t, sandbox.OK, result.Verdict, result.Stderr.Head)

	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	_, err = session.Collect(t.Context(), sandbox.CollectOptions{Store: func(name string, _ int64, content io.Reader) error {
		f, err := root.Create(filepath.Base(name))
		if err != nil {
			return err
		}
		if _, err := io.Copy(f, content); err != nil {
			return err
		}
		return f.Close()
	}})
	require.NoError(t, err)
	return dir
}

// convert lets LibreOffice open a file and write it in another form.
func convert(t *testing.T, office, path, to string) string {
	t.Helper()
	out := t.TempDir()
	form, _, _ := strings.Cut(to, ":")
	cmd := exec.CommandContext(t.Context(), office, "-env:UserInstallation=file://"+t.TempDir(), "--headless", "--convert-to", to, "--outdir", out, path)
	told, err := cmd.CombinedOutput()
	require.NoError(t, err, string(told))
	made := filepath.Join(out, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+"."+form)
	require.FileExists(t, made, string(told))
	return made
}

func text(t *testing.T, reader, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), reader, "-layout", path, "-").Output()
	require.NoError(t, err)
	return string(out)
}

const sales = "date,region,product,revenue,remark\n" +
	"2026-01-05,North,Tea,100,=HYPERLINK(\"http://x\")\n2026-01-20,South,Tea,60.5,@SUM(A1)\n" +
	"2026-02-03,North,Кофе,240,-1+1\n2026-02-10,East,Кофе,10,+2\n"

func TestOfficeFilesOpenInLibreOffice(t *testing.T) {
	office, reader := tool(t, "soffice", "libreoffice"), tool(t, "pdftotext")
	made := sandboxtest.New(t, sandbox.Options{Pool: sandbox.Pool{Size: 1}})

	t.Run("xlsx", func(t *testing.T) {
		dir := produce(t, made, "pivot-table", "Pivot of revenue by region and product", map[string]string{"sales.csv": sales})
		// The first sheet as LibreOffice computes it, formulas included.
		data, err := os.ReadFile(convert(t, office, filepath.Join(dir, "pivot.xlsx"), "csv"))
		require.NoError(t, err)
		reader := csv.NewReader(bytes.NewReader(data))
		reader.FieldsPerRecord = -1
		rows, err := reader.ReadAll()
		require.NoError(t, err)
		last := rows[len(rows)-1]
		require.Equal(t, "Total", last[0])
		require.Contains(t, []string{"410.5", "410.50"}, last[len(last)-1])

		// The source rows: what looks like a formula is still its own text.
		page := text(t, tool(t, "pdftotext"), convert(t, office, filepath.Join(dir, "pivot.xlsx"), "pdf"))
		for _, part := range []string{"=HYPERLINK(\"http://x\")", "@SUM(A1)", "-1+1", "2026-02-03", "Revenue by region and product"} {
			require.Contains(t, page, part)
		}
	})
	t.Run("docx and pdf", func(t *testing.T) {
		dir := produce(t, made, "document", "Document: revenue by region", map[string]string{"sales.csv": sales})
		for _, path := range []string{convert(t, office, filepath.Join(dir, "sales.docx"), "pdf"), filepath.Join(dir, "sales.pdf")} {
			page := text(t, reader, path)
			for _, part := range []string{"Revenue by region", "North leads with 83% of revenue", "340", "About the data"} {
				require.Contains(t, page, part)
			}
		}
	})
	t.Run("pptx", func(t *testing.T) {
		dir := produce(t, made, "presentation", "Slides: revenue by region and month", map[string]string{"sales.csv": sales})
		page := text(t, reader, convert(t, office, filepath.Join(dir, "sales.pptx"), "pdf"))
		require.Equal(t, 6, strings.Count(page, "\f"), "six slides, and none ran over")
		for _, part := range []string{"Revenue by region", "Revenue was highest in Feb 2026", "5 Jan 2026 – 10 Feb 2026"} {
			require.Contains(t, page, part)
		}
	})
}
