package agent

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/sandpiper-bot/sandpiper/bot"
)

//go:embed texts/*.json
var textFiles embed.FS

// texts is the catalogue of fixed sentences in one language; %s and %d stand
// where values go. texts/LANGUAGE.json holds them.
type texts struct {
	Language string `json:"-"`

	Cancelled         string `json:"cancelled"`
	Reading           string `json:"reading"`
	Thinking          string `json:"thinking"`
	RunningProgram    string `json:"running_program"`
	RunningSkill      string `json:"running_skill"`
	CheckingFiles     string `json:"checking_files"`
	StoringFiles      string `json:"storing_files"`
	Asking            string `json:"asking"`
	Delegating        string `json:"delegating"`
	Unreadable        string `json:"unreadable"`
	Unread            string `json:"unread"`
	SendAgain         string `json:"send_again"`
	NoModel           string `json:"no_model"`
	NoModelHint       string `json:"no_model_hint"`
	SkillsThatFit     string `json:"skills_that_fit"`
	UnknownSkill      string `json:"unknown_skill"`
	UnknownSkillHint  string `json:"unknown_skill_hint"`
	DidYouMean        string `json:"did_you_mean"`
	SkillNeedsModel   string `json:"skill_needs_model"`
	SkillFailed       string `json:"skill_failed"`
	SkillFailedHint   string `json:"skill_failed_hint"`
	ChosenSkill       string `json:"chosen_skill"`
	ChosenBecause     string `json:"chosen_because"`
	NoAnswer          string `json:"no_answer"`
	Done              string `json:"done"`
	BasedOn           string `json:"based_on"`
	ProfileOf         string `json:"profile_of"`
	Rows              string `json:"rows"`
	RowsUsed          string `json:"rows_used"`
	RowsUsedOnly      string `json:"rows_used_only"`
	RowsLeftOut       string `json:"rows_left_out"`
	NoFiles           string `json:"no_files"`
	Unproven          string `json:"unproven"`
	UnprovenMark      string `json:"unproven_mark"`
	MissingFile       string `json:"missing_file"`
	OutsideFile       string `json:"outside_file"`
	Partial           string `json:"partial"`
	PartialDone       string `json:"partial_done"`
	PartialOpen       string `json:"partial_open"`
	PartialNothing    string `json:"partial_nothing"`
	OutOfTurns        string `json:"out_of_turns"`
	OutOfTokens       string `json:"out_of_tokens"`
	OutOfUSD          string `json:"out_of_usd"`
	OutOfWall         string `json:"out_of_wall"`
	OutOfSandbox      string `json:"out_of_sandbox"`
	OutOfDaily        string `json:"out_of_daily"`
	Looping           string `json:"looping"`
	Rubbish           string `json:"rubbish"`
	Unfinished        string `json:"unfinished"`
	ModelGone         string `json:"model_gone"`
	ModelFailed       string `json:"model_failed"`
	Defused           string `json:"defused"`
	FileNotes         string `json:"file_notes"`
	Reproduced        string `json:"reproduced"`
	ReproducedImage   string `json:"reproduced_image"`
	ReproducedNothing string `json:"reproduced_nothing"`
	Same              string `json:"same"`
	Different         string `json:"different"`
	Missing           string `json:"missing"`
	New               string `json:"new"`
	Drifted           string `json:"drifted"`
	Proposed          string `json:"proposed"`
	NotProposed       string `json:"not_proposed"`
	Mending           string `json:"mending"`
	NextLooksAgain    string `json:"next_looks_again"`
	SameData          string `json:"same_data"`
	ImageChecking     string `json:"image_checking"`
	ImageMoved        string `json:"image_moved"`
	ImageFailed       string `json:"image_failed"`
	ImageAgain        string `json:"image_again"`
	ImageUnchecked    string `json:"image_unchecked"`
	ImageMend         string `json:"image_mend"`
	ImageDrifted      string `json:"image_drifted"`
	MovedRows         string `json:"moved_rows"`
	MovedColumns      string `json:"moved_columns"`
	MovedSum          string `json:"moved_sum"`
	MovedFailed       string `json:"moved_failed"`
	MovedGone         string `json:"moved_gone"`
	MovedNew          string `json:"moved_new"`
	NothingMoved      string `json:"nothing_moved"`
	MendedSame        string `json:"mended_same"`
	MendedOther       string `json:"mended_other"`
}

// textsFor gives the catalogue in the language of a request.
func textsFor(request string) texts {
	language := languageOf(request)
	raw, err := textFiles.ReadFile("texts/" + language + ".json")
	t := texts{Language: language}
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	if err != nil {
		panic("agent: embedded catalogue: " + err.Error()) // a test reads both
	}
	return t
}

// languageOf tells Russian from English by its letters: where most letters
// are Cyrillic, the request is Russian.
func languageOf(text string) string {
	cyrillic, letters := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Cyrillic, r) {
				cyrillic++
			}
		}
	}
	if cyrillic*2 > letters {
		return "ru"
	}
	return "en"
}

// outOf says in words which budget is used up.
func (t texts) outOf(e *bot.BudgetError) string {
	sentence := map[string]string{
		"turns": t.OutOfTurns, "tokens": t.OutOfTokens, "usd": t.OutOfUSD, "wall": t.OutOfWall, "sandbox": t.OutOfSandbox,
	}[e.Budget]
	if sentence == "" {
		sentence = t.OutOfDaily
	}
	return fmt.Sprintf(sentence, e.Limit)
}

// durationText shows a duration as people read it.
func durationText(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return d.Round(time.Second).String()
}

// unreadable names inputs that could not be read.
func (t texts) unreadable(inputs []bot.Input) string {
	return t.Unreadable + "\n" + problems(inputs)
}

// problems lists the inputs that have one.
func problems(inputs []bot.Input) string {
	var lines []string
	for _, in := range inputs {
		if in.Problem != "" {
			lines = append(lines, "- "+code(in.Name)+": "+in.Problem)
		}
	}
	return strings.Join(lines, "\n")
}

// code puts text into a Markdown code span that it cannot leave.
func code(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '`' || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '_'
		}
		return r
	}, s)
	return "`" + s + "`"
}
