package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// slot names one comment of ours: which task's, in which issue, and what of
// it stands there. It is written into the comment's last line with a code
// that only this bot can make, so that after a lost answer the comment is
// found again, and no other is taken for it.
type slot struct {
	task  string // "-" where there is none
	round int
	part  int // from 0
	parts int
	shows string // the delivery's id, or "progress"
}

var markerPattern = regexp.MustCompile(`\n<!-- sandpiper:1 task=([0-9A-Za-z:._/#-]{1,200}) round=(\d{1,6}) part=(\d{1,4})/(\d{1,4}) shows=([0-9A-Za-z:._/#-]{1,200}) mac=([0-9a-f]{32}) -->\s*$`)

func (a *Adapter) mac(parts ...string) string {
	mac := hmac.New(sha256.New, a.options.MarkerKey)
	for _, part := range parts {
		_, _ = fmt.Fprintf(mac, "%d:%s\n", len(part), part)
	}
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

func (a *Adapter) slotMAC(to address, s slot) string {
	return a.mac("comment", strings.ToLower(to.Repository), itoa(to.Number), s.task, itoa(s.round), itoa(s.part), itoa(s.parts), s.shows)
}

// marker is the comment's last line.
func (a *Adapter) marker(to address, s slot) string {
	return fmt.Sprintf("\n<!-- sandpiper:1 task=%s round=%d part=%d/%d shows=%s mac=%s -->", s.task, s.round, s.part, s.parts, s.shows, a.slotMAC(to, s))
}

// readMarker returns the slot that body's last line names, if the code is ours
// for this issue. Who wrote the comment must be checked beside it.
func (a *Adapter) readMarker(to address, body string) (slot, bool) {
	found := markerPattern.FindStringSubmatch(strings.ReplaceAll(body, "\r\n", "\n"))
	if found == nil {
		return slot{}, false
	}
	s := slot{task: found[1], shows: found[5]}
	s.round, _ = strconv.Atoi(found[2])
	s.part, _ = strconv.Atoi(found[3])
	s.parts, _ = strconv.Atoi(found[4])
	return s, hmac.Equal([]byte(found[6]), []byte(a.slotMAC(to, s)))
}
