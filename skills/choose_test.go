package skills_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sandpiper-bot/sandpiper/skills"
)

func TestChooseByWordsAndKinds(t *testing.T) {
	dir := t.TempDir()
	runnable := func(name, words, inputs string, more ...string) {
		text := "metadata:\n  run: run.py\n  words: \"" + words + "\"\n  inputs: \"" + inputs + "\"\n" + strings.Join(more, "")
		put(t, dir, map[string]string{name + "/SKILL.md": manifest(name, text), name + "/run.py": ""})
	}
	runnable("weekly-report", "weekly*, weekly report, недел*", "table")
	runnable("chart", "chart*, plot*, draw*, график*", "table")
	runnable("logs", "error*, latenc*", "log")
	runnable("diff", "compare*, what changed", "table", "  min-inputs: \"2\"\n  max-inputs: \"2\"\n")
	runnable("algorithm", "algorithm*", "")
	put(t, dir, map[string]string{"model-only/SKILL.md": manifest("model-only", "metadata:\n  words: weekly\n")})
	c, err := skills.Load(skills.Options{Folders: []string{dir}})
	require.NoError(t, err)
	require.Empty(t, c.Problems())

	for _, test := range []struct {
		request string
		files   string
		want    string // the chosen skill
		unsure  bool
		why     string
		first   string // first candidate
	}{
		{request: "Weekly sales report: revenue by region", files: "a.csv", want: "weekly-report", why: "“weekly”"},
		{request: "Недельный отчёт", files: "a.xlsx", want: "weekly-report", why: "“недельный”"},
		{request: "Draw a chart of weekly revenue", files: "a.csv", want: "chart"},
		{request: "errors?", files: "app.log", want: "logs"},
		{request: "errors?", files: "app.log.1", want: "logs"},
		{request: "errors?", files: "access_log", want: "logs"},
		{request: "errors?", files: "a.csv", unsure: true, why: "\"a.csv\" is not one", first: "chart"},
		{request: "what changed", files: "old.csv new.csv", want: "diff"},
		{request: "what changed", files: "old.csv", unsure: true, why: "it needs 2 files and there is 1"},
		{request: "hello", files: "a.csv", unsure: true, why: "names nothing"},
		{request: "Weekly plot", files: "a.csv", unsure: true, why: "equally well", first: "chart"},
		{request: "please run the chart skill on weekly figures", files: "a.csv", want: "chart"},
		{request: "algorithm please", want: "algorithm"},
		{request: "weekly", why: "it needs 1 file and there is none", unsure: true, first: "algorithm"},
	} {
		t.Run(test.request+" "+test.files, func(t *testing.T) {
			var inputs []skills.Input
			for _, name := range strings.Fields(test.files) {
				inputs = append(inputs, skills.Input{Name: name})
			}
			choice := c.Choose(test.request, inputs)
			require.Equal(t, test.want, choice.Skill.Name, choice.Why)
			require.Equal(t, test.unsure, choice.Unsure, choice.Why)
			require.Contains(t, choice.Why, test.why)
			if test.unsure {
				require.NotEmpty(t, choice.Candidates)
			}
			if test.first != "" {
				require.Equal(t, test.first, choice.Candidates[0].Name)
			}
		})
	}
}

func TestIndexOf200SkillsStaysUnder8000Tokens(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		name := fmt.Sprintf("skill-with-a-longish-name-%03d", i)
		description := strings.Repeat("Builds spreadsheets, слайды и документы from tables. ", 19)
		put(t, dir, map[string]string{name + "/SKILL.md": "---\nname: " + name + "\ndescription: " + description + "\n---\n"})
	}
	c, err := skills.Load(skills.Options{Folders: []string{dir}})
	require.NoError(t, err)
	require.Len(t, c.List(), 200)
	for _, budget := range []int{8000, 3000, 500} {
		text := skills.Index(c.List(), budget)
		require.LessOrEqual(t, skills.EstimateTokens(text), budget)
		require.Greater(t, skills.EstimateTokens(text), budget*8/10, "the room there is is used")
		require.Equal(t, text, skills.Index(c.List(), budget))
		if budget >= 3000 {
			require.Equal(t, 200, strings.Count(text, "\n"), "every skill is named")
		} else {
			require.Contains(t, text, "more skills are not listed")
		}
	}
	require.Contains(t, skills.Index(c.List()[:2], 8000), strings.TrimSpace(c.List()[0].Description), "nothing is cut without need")
}
