package skills_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sandpiper-bot/sandpiper/skills"
)

// publicShaped makes ten skills in the shapes that public collections have:
// long SKILL.md files, scripts with packages and schemas beside them, quoted
// and folded descriptions, licences by reference, and keys of other tools.
func publicShaped() map[string]string {
	long := strings.Repeat("Follow the steps in order and check the result after each of them.\n\n", 180)
	return map[string]string{
		"docx/SKILL.md":                       "---\nname: docx\ndescription: \"Comprehensive document creation, editing, and analysis with support for tracked changes, comments, formatting preservation, and text extraction. When Claude needs to work with professional documents (.docx files) for: (1) Creating new documents, (2) Modifying or editing content, (3) Working with tracked changes\"\nlicense: Proprietary. LICENSE.txt has complete terms\n---\n\n# DOCX creation\n\nRead [`ooxml.md`](ooxml.md) and [docx-js](docx-js.md) completely.\n\n```bash\npython ooxml/scripts/unpack.py <file> <dir>\n```\n" + long,
		"docx/LICENSE.txt":                    "All rights reserved.\n",
		"docx/ooxml.md":                       "# OOXML\n" + long,
		"docx/docx-js.md":                     "# docx-js\n",
		"docx/ooxml/scripts/unpack.py":        "#!/usr/bin/env python3\nimport sys\n",
		"docx/ooxml/scripts/validation/a.py":  "x = 1\n",
		"docx/ooxml/schemas/wml.xsd":          strings.Repeat("<xsd:element/>\n", 20000),
		"docx/scripts/__init__.py":            "",
		"docx/scripts/templates/comments.xml": "<w:comments/>\n",

		"xlsx/SKILL.md":  "---\nname: xlsx\ndescription: \"Use this skill any time a spreadsheet file is the primary input or output. Trigger when the user mentions .xlsx, .xlsm, .csv, or .tsv\"\nlicense: Proprietary. LICENSE.txt has complete terms\n---\n\n# Requirements for Outputs\n" + long,
		"xlsx/recalc.py": "import json\n",

		"pptx/SKILL.md":              "---\nname: pptx\ndescription: \"Presentation creation, editing, and analysis. Use when working with presentations (.pptx files)\"\nlicense: Proprietary. LICENSE.txt has complete terms\n---\n\n# PPTX\n\nSee [html2pptx.md](html2pptx.md).\n" + long,
		"pptx/html2pptx.md":          "# Guide\n",
		"pptx/scripts/html2pptx.js":  "module.exports = {}\n",
		"pptx/scripts/rearrange.py":  "import argparse\n",
		"pptx/assets/theme.potx":     "PK\x03\x04binary\x00\xff",
		"pdf/SKILL.md":               "---\nname: pdf\ndescription: Comprehensive PDF manipulation toolkit for extracting text and tables, creating new PDFs, merging/splitting documents, and handling forms. When Claude needs to fill in a PDF form or programmatically process PDFs at scale.\nlicense: Proprietary. LICENSE.txt has complete terms\n---\n\n# PDF\n\nFor forms, read forms.md.\n" + long,
		"pdf/forms.md":               "# Forms\n",
		"pdf/scripts/fill_fields.py": "import sys\n",

		"skill-creator/SKILL.md":                "---\nname: skill-creator\ndescription: >\n  Guide for creating effective skills.\n  This skill should be used when users want to create a new skill.\nlicense: Complete terms in LICENSE.txt\n---\n\n# Skill Creator\n\n`scripts/init_skill.py` and `references/workflows.md`.\n",
		"skill-creator/scripts/init_skill.py":   "import sys\n",
		"skill-creator/references/workflows.md": "# Workflows\n",

		"webapp-testing/SKILL.md":               "---\nname: webapp-testing\ndescription: Toolkit for interacting with and testing local web applications using Playwright. Use for verifying frontend functionality.\nlicense: Complete terms in LICENSE.txt\nallowed-tools: Bash(python3:*) Bash(npx playwright:*) Read\n---\n\n# Web Application Testing\n",
		"webapp-testing/scripts/with_server.py": "import subprocess\n",
		"webapp-testing/examples/console.py":    "print()\n",

		"mcp-builder/SKILL.md":          "---\nname: mcp-builder\ndescription: |\n  Guide for creating MCP (Model Context Protocol) servers.\n  Use when building servers.\nmetadata:\n  author: example-org\n  version: \"1.0\"\ncompatibility: Designed for agents with network access and python3\n---\n\n# Guide\n\n[Best practices](./reference/best.md) · [Site](https://modelcontextprotocol.io) · [Above](#guide)\n",
		"mcp-builder/reference/best.md": "# Best\n\n[back](../SKILL.md)\n",

		"brand-guidelines/SKILL.md":  "---\nname: brand-guidelines\ndescription: Applies official brand colors and typography to any sort of artifact: slides, docs, pages. Use it when brand colors or style guidelines apply.\nversion: 2.1\nmodel: inherit\n---\n\n# Brand\n",
		"brand-guidelines/style.css": "body {}\n",

		"internal-comms/SKILL.md":               "\ufeff---\r\nname: internal-comms\r\ndescription: A set of resources to write internal communications. Use when asked to write status reports or newsletters.\r\n---\r\n\r\n# Comms\r\n\r\nLoad `examples/newsletter.md`.\r\n",
		"internal-comms/examples/newsletter.md": "# Newsletter\n",

		"algorithmic-art/SKILL.md":              "---\nname: algorithmic-art\ndescription: Creating algorithmic art using p5.js with seeded randomness. Use this when users request creating art using code.\nallowed-tools:\n  - Read\n  - Write\n---\n\n# Art\n",
		"algorithmic-art/templates/viewer.html": "<!doctype html>\n",
	}
}

func TestTenPublicShapedSkillsLoadListAndLint(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, publicShaped())
	c, err := skills.Load(skills.Options{Builtin: skills.Builtin(), Folders: []string{dir}})
	require.NoError(t, err)
	for _, p := range c.Problems() {
		require.Equal(t, skills.Warning, p.Severity, p.String())
	}
	ours := 0
	for _, s := range c.List() {
		if s.Source != skills.SourceFolder {
			continue
		}
		ours++
		require.False(t, s.Runnable())
		for _, p := range skills.Lint(s) {
			require.Equal(t, skills.Warning, p.Severity, p.String())
		}
	}
	require.Equal(t, 10, ours)

	docx, err := c.Get("docx")
	require.NoError(t, err)
	require.Len(t, docx.Files, 9)
	require.Contains(t, docx.Files, "ooxml/schemas/wml.xsd")
	require.Equal(t, "Proprietary. LICENSE.txt has complete terms", docx.License)
	brand, err := c.Get("brand-guidelines")
	require.NoError(t, err)
	require.Contains(t, brand.Description, "any sort of artifact: slides, docs, pages")
	art, err := c.Get("algorithmic-art")
	require.NoError(t, err)
	require.Equal(t, []string{"Read", "Write"}, art.AllowedTools)
	web, err := c.Get("webapp-testing")
	require.NoError(t, err)
	require.Equal(t, []string{"Bash(python3:*)", "Bash(npx playwright:*)", "Read"}, web.AllowedTools)
}

func TestLintNamesWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"short/SKILL.md": "---\nname: short\ndescription: Does it.\n---\n# Short\n",
		"silent/SKILL.md": "---\nname: silent\ndescription: Draws very fine pictures of birds and of other animals with care.\n---\n" +
			"# Silent\n[gone](references/gone.md) `scripts/gone.py`\n[out](../../etc/passwd)\n```\n[not a link](nowhere.md)\n```\n`[example](nowhere.md)`\n",
		"empty/SKILL.md":  "---\nname: empty\ndescription: Has a description that is long enough, for use when testing.\n---\n\n",
		"long/SKILL.md":   "---\nname: long\ndescription: Has a description that is long enough, for use when testing.\n---\n" + strings.Repeat("line\n", 501),
		"first/SKILL.md":  "---\nname: first\ndescription: I will write your letters for you whenever you need one.\n---\n# First\n",
		"wordy/SKILL.md":  "---\nname: wordy\ndescription: Has a description that is long enough, for use when testing.\n---\n" + strings.Repeat("word ", 4000) + "\n",
		"runs/SKILL.md":   "---\nname: runs\ndescription: Has a description that is long enough, for use when testing.\nmetadata:\n  run: run.py\n  inputs: table, spoon\n  needs: fork\n  min-inputs: two\n---\n# Runs\n",
		"runs/run.py":     "",
		"short/NOTES.txt": "nothing",
	})
	c, err := skills.Load(skills.Options{Folders: []string{dir}})
	require.NoError(t, err)
	require.Empty(t, c.Problems())
	told := map[string]string{}
	for _, s := range c.List() {
		for _, p := range skills.Lint(s) {
			told[s.Name] += fmt.Sprintf("%s:%d %s\n", p.Severity, p.Line, p.Message)
		}
	}
	require.Contains(t, told["short"], "warning:3 description is too short")
	require.Contains(t, told["silent"], "warning:3 description does not say when")
	require.Contains(t, told["silent"], "error:6 link to references/gone.md: there is no such file")
	require.Contains(t, told["silent"], "warning:6 names scripts/gone.py")
	require.Contains(t, told["silent"], "error:7 link to ../../etc/passwd leaves")
	require.NotContains(t, told["silent"], "nowhere")
	require.Contains(t, told["empty"], "no instructions")
	require.Contains(t, told["long"], "over 500")
	require.Contains(t, told["first"], "not speak as somebody")
	require.Contains(t, told["wordy"], "tokens to read")
	require.Contains(t, told["runs"], "spoon")
	require.Contains(t, told["runs"], "metadata.needs names \"fork\"")
	require.Contains(t, told["runs"], "min-inputs must be a number")
	require.Contains(t, told["runs"], "has no evals")
	require.Contains(t, told["runs"], "words is missing")
}

func TestBuiltinSkillIsChosenByWordsAndFiles(t *testing.T) {
	c, err := skills.Load(skills.Options{Builtin: skills.Builtin()})
	require.NoError(t, err)
	for _, test := range []struct{ request, files, want string }{
		{"Weekly sales report: revenue by region and week, and what stands out", "sales.csv", "csv-report"},
		{"What is in this file?", "data.xlsx", "csv-report"},
		{"Что в этом файле?", "данные.csv", "csv-report"},
		{"Compare revenue week over week", "sales.csv", "weekly-report"},
		{"Monthly report, compared with last month", "sales.csv", "weekly-report"},
		{"Еженедельный отчёт по выручке", "sales.csv", "weekly-report"},
		{"Pivot table of revenue by region and product", "sales.csv", "pivot-table"},
		{"Сводная таблица по регионам", "sales.csv", "pivot-table"},
		{"Draw a chart of revenue by region", "sales.csv", "chart"},
		{"Построй график выручки по месяцам", "sales.csv", "chart"},
		{"What errors are in this log?", "app.log", "log-analysis"},
		{"Найди ошибки", "nginx-access.log.1", "log-analysis"},
		{"What changed between these?", "old.csv new.csv", "compare-files"},
		{"Сравни эти два файла", "a.xlsx b.xlsx", "compare-files"},
		{"Make a PDF of this", "notes.md", "document"},
		{"Сделай документ Word", "заметки.md", "document"},
		{"Make slides about revenue by region", "sales.csv", "presentation"},
		{"Сделай презентацию", "план.md", "presentation"},
		{"Analyse this.", "sales.csv", "csv-report"},
		{"analyze this", "sales.xlsx", "csv-report"},
		{"Проанализируй это", "продажи.csv", "csv-report"},
		{"Analyse this log", "app.log", "log-analysis"},
		{"Analyse correlations in a chart", "sales.csv", "chart"},
		{"Check this algorithm", "solution.py", "algorithm-check"},
		{"Benchmark the function", "sort.py cases.json", "algorithm-check"},
	} {
		var inputs []skills.Input
		for _, name := range strings.Fields(test.files) {
			inputs = append(inputs, skills.Input{Name: name})
		}
		choice := c.Choose(test.request, inputs)
		require.Equal(t, test.want, choice.Skill.Name, "%s: %s", test.request, choice.Why)
	}
	csv, err := c.Get("csv-report")
	require.NoError(t, err)
	require.Equal(t, []string{"report.md", "profile.json"}, csv.Auxiliary())
	require.True(t, c.Choose("hello", []skills.Input{{Name: "a.csv"}}).Unsure)
	for _, p := range c.Choose("hello", []skills.Input{{Name: "a.csv"}}).Candidates {
		require.NotContains(t, []string{"algorithm-check", "log-analysis", "compare-files"}, p.Name, "offers what has no use for a table")
	}
	for file, first := range map[string]string{"a.csv": "chart", "app.log": "log-analysis", "plan.md": "document", "sort.py": "algorithm-check"} {
		require.Equal(t, first, c.Choose("hello", []skills.Input{{Name: file}}).Candidates[0].Name, file)
	}
	require.Contains(t, c.Choose("benchmark", []skills.Input{{Name: "a.csv"}}).Why, "it needs a file of code")
	require.Contains(t, c.Choose("what changed?", []skills.Input{{Name: "a.csv"}}).Why, "it needs 2 files")
}
