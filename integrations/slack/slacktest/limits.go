package slacktest

import (
	"encoding/json"
	"unicode/utf8"
)

// The limits a Workspace enforces; doc.go says what happens at one more.
const (
	MaxText       = 4_000
	MaxBlocks     = 50
	MaxViewBlocks = 100
	MaxSection    = 3_000
	MaxField      = 2_000
	MaxFields     = 10
	MaxHeader     = 150
	MaxMarkdown   = 12_000
	MaxBlockText  = 13_200
	MaxContext    = 10
	MaxActions    = 25
	MaxButton     = 75
	MaxValue      = 2_000
	MaxID         = 255
	MaxMetadata   = 4_000  // bytes
	MaxAck        = 20_480 // bytes
	MaxFileName   = 255
	MaxViewTitle  = 24
	MaxPrivate    = 3_000 // private_metadata
	MaxAlt        = 2_000
	// MaxResponses is how often a response URL serves.
	MaxResponses = 5
)

// block is what the limits look at in a block.
type block struct {
	Type     string            `json:"type"`
	BlockID  string            `json:"block_id"`
	Text     json.RawMessage   `json:"text"`
	Fields   []textObject      `json:"fields"`
	Elements []json.RawMessage `json:"elements"`
	// Accessory is one element beside a section.
	Accessory json.RawMessage `json:"accessory"`
	AltText   string          `json:"alt_text"`
	ImageURL  string          `json:"image_url"`
}

// textObject is a composition object of text.
type textObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// element is a button or another part of an actions, section or context block.
type element struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`
	ActionID string          `json:"action_id"`
	Value    string          `json:"value"`
	URL      string          `json:"url"`
	Style    string          `json:"style"`
}

// parseBlocks decodes a blocks argument; an empty one is no blocks.
func parseBlocks(raw string) ([]block, bool) {
	if raw == "" || raw == "null" {
		return nil, true
	}
	var blocks []block
	if err := json.Unmarshal([]byte(raw), &blocks); err != nil {
		return nil, false
	}
	return blocks, true
}

// text reads a text that is a string (markdown) or a text object (all others).
func (b block) text() textObject { return asText(b.Text) }

func asText(raw json.RawMessage) textObject {
	var o textObject
	if len(raw) == 0 {
		return o
	}
	if raw[0] == '"' {
		_ = json.Unmarshal(raw, &o.Text)
		o.Type = "markdown"
		return o
	}
	_ = json.Unmarshal(raw, &o)
	return o
}

func asElement(raw json.RawMessage) element {
	var e element
	_ = json.Unmarshal(raw, &e)
	return e
}

// checkBlocks returns Slack's error for blocks, or "". most is the number of
// blocks the place allows.
func checkBlocks(blocks []block, most int) string {
	if len(blocks) > most {
		return "invalid_blocks"
	}
	markdown, all := 0, 0
	ids := map[string]bool{}
	for _, b := range blocks {
		if b.BlockID != "" && ids[b.BlockID] || runes(b.BlockID) > MaxID {
			return "invalid_blocks"
		}
		ids[b.BlockID] = true
		if problem := checkBlock(b); problem != "" {
			return problem
		}
		n := b.size()
		all += n
		if b.Type == "markdown" {
			markdown += n
		}
	}
	if markdown > MaxMarkdown {
		return "invalid_blocks"
	}
	if all > MaxBlockText {
		return "msg_blocks_too_long"
	}
	return ""
}

func checkBlock(b block) string {
	text := b.text()
	bad := false
	switch b.Type {
	case "section":
		bad = runes(text.Text) > MaxSection || text.Text == "" && len(b.Fields) == 0 || len(b.Fields) > MaxFields
		for _, f := range b.Fields {
			bad = bad || runes(f.Text) > MaxField
		}
		if len(b.Accessory) > 0 {
			bad = bad || checkElement(asElement(b.Accessory)) != ""
		}
	case "header":
		bad = runes(text.Text) > MaxHeader || text.Type != "plain_text" || text.Text == ""
	case "markdown":
		bad = text.Text == "" || text.Type != "markdown"
	case "context":
		bad = len(b.Elements) == 0 || len(b.Elements) > MaxContext
		for _, raw := range b.Elements {
			o := asText(raw)
			bad = bad || o.Type != "image" && (o.Text == "" || runes(o.Text) > MaxSection)
		}
	case "actions":
		bad = len(b.Elements) == 0 || len(b.Elements) > MaxActions
		actions := map[string]bool{}
		for _, raw := range b.Elements {
			e := asElement(raw)
			bad = bad || checkElement(e) != "" || actions[e.ActionID]
			actions[e.ActionID] = true
		}
	case "image":
		bad = b.AltText == "" || runes(b.AltText) > MaxAlt
	case "divider", "input", "rich_text", "table":
	default:
		bad = true
	}
	if bad {
		return "invalid_blocks"
	}
	return ""
}

func checkElement(e element) string {
	if e.Type != "button" {
		return ""
	}
	label := asText(e.Text)
	if label.Type != "plain_text" || label.Text == "" || runes(label.Text) > MaxButton ||
		runes(e.Value) > MaxValue || e.ActionID == "" || runes(e.ActionID) > MaxID {
		return "invalid_blocks"
	}
	return ""
}

// size counts the runes of all text in b.
func (b block) size() int {
	n := runes(b.text().Text)
	for _, f := range b.Fields {
		n += runes(f.Text)
	}
	for _, raw := range b.Elements {
		if o := asText(raw); o.Type == "mrkdwn" || o.Type == "plain_text" {
			n += runes(o.Text)
			continue
		}
		n += runes(asText(asElement(raw).Text).Text)
	}
	return n
}

func runes(s string) int { return utf8.RuneCountInString(s) }
