package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/docker/go-units"

	"github.com/mattn/go-runewidth"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// mostTodo is how many lines of a plan are shown at once.
const mostTodo = 12

// Progress shows how a task stands: drawn anew in place on a terminal, as
// plain lines, each once, elsewhere. Close must follow New.
type Progress struct {
	to    io.Writer
	width int // columns of the terminal; 0 elsewhere
	now   func() time.Time
	stop  chan struct{}
	done  chan struct{}

	mu    sync.Mutex // guards what follows
	seen  map[string]bool
	last  bot.Progress
	first time.Time
	lines int // drawn and not yet erased
	frame int
}

// NewProgress starts to show; on a terminal the elapsed time runs on.
func NewProgress(to io.Writer) *Progress {
	p := &Progress{
		to: to, width: Width(to), now: time.Now, seen: map[string]bool{},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	p.first = p.now()
	go p.animate()
	return p
}

// Show takes over the task's newest state.
func (p *Progress) Show(state bot.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = state
	if p.width > 0 {
		p.draw()
		return
	}
	p.plain(state)
}

// Note prints one line that stays.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintln(p.to, "sandpiper: "+Line(text))
	if p.width > 0 && p.last.Task != "" {
		p.draw()
	}
}

// Close erases what was drawn in place.
func (p *Progress) Close() {
	close(p.stop)
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *Progress) animate() {
	defer close(p.done)
	if p.width == 0 {
		return
	}
	tick := time.NewTicker(120 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.mu.Lock()
			if p.last.Task != "" {
				p.draw()
			}
			p.mu.Unlock()
		}
	}
}

// plain prints what is new as lines.
func (p *Progress) plain(state bot.Progress) {
	once := func(line string) {
		if line != "" && !p.seen[line] {
			p.seen[line] = true
			fmt.Fprintln(p.to, "sandpiper: "+line)
		}
	}
	if state.State == bot.TaskQueued && state.Position > 0 {
		once(waiting(state.Position))
	}
	for _, item := range state.Todo {
		if item.Done {
			once("done: " + Line(item.Text))
		}
	}
	if now := Line(state.Now); now != "" {
		once(now + " …")
	}
}

func waiting(position int) string {
	if position == 1 {
		return "waiting: one task stands before this one"
	}
	return fmt.Sprintf("waiting: %d tasks stand before this one", position)
}

// draw replaces the block on the terminal.
func (p *Progress) draw() {
	p.frame++
	var lines []string
	now := Line(p.last.Now)
	switch {
	case p.last.State == bot.TaskQueued && p.last.Position > 0:
		now = waiting(p.last.Position)
	case now == "":
		now = string(p.last.State)
	}
	began := p.last.Started
	if began.IsZero() {
		began = p.first
	}
	spinner := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	lines = append(lines, fmt.Sprintf("%c %s  %s%s", spinner[p.frame%len(spinner)], Elapsed(p.now().Sub(began)), now, spent(p.last.Usage)))
	todo := p.last.Todo
	if len(todo) > mostTodo {
		todo = todo[:mostTodo]
	}
	for _, item := range todo {
		mark := "·"
		if item.Done {
			mark = "✓"
		}
		lines = append(lines, "  "+mark+" "+Line(item.Text))
	}
	var out strings.Builder
	out.WriteString(p.up())
	for _, line := range lines {
		out.WriteString(runewidth.Truncate(line, p.width-1, "…") + "\x1b[K\n")
	}
	out.WriteString("\x1b[J")
	p.lines = len(lines)
	_, _ = io.WriteString(p.to, out.String()) // a terminal that is gone shows nothing
}

func spent(usage bot.Usage) string {
	if usage.Turns == 0 {
		return ""
	}
	return fmt.Sprintf("  (%d turns, $%.3f)", usage.Turns, usage.CostUSD)
}

func (p *Progress) up() string {
	if p.lines == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r", p.lines)
}

func (p *Progress) erase() {
	if p.lines > 0 {
		_, _ = io.WriteString(p.to, p.up()+"\x1b[J")
		p.lines = 0
	}
}

// Elapsed shows a span of time as a clock does: 0:07, 12:30, 1:02:03.
func Elapsed(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Bytes shows a size as people read it.
func Bytes(n int64) string {
	return units.CustomSize("%.4g %s", float64(n), 1024, []string{"bytes", "KiB", "MiB", "GiB", "TiB"})
}
