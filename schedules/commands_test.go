package schedules

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// words resolves by writing down what it was asked.
type words struct{}

func (words) Destination(_ context.Context, e bot.Event, text, title string) (bot.Origin, error) {
	if title != "" {
		return bot.Origin{Adapter: "github", Place: "github:" + text, Title: title}, nil
	}
	if text == "" {
		return e.Origin, nil
	}
	return bot.Origin{Adapter: "slack", Place: "slack:" + text}, nil
}

func (words) Input(_ context.Context, _ bot.Event, text string) (bot.InputRef, error) {
	return bot.InputRef{Name: text, Adapter: "github", Ref: text}, nil
}

func (words) Newest(_ context.Context, _ bot.Event, channel, pattern string) (bot.InputRef, error) {
	return bot.InputRef{Name: pattern, Adapter: "slack", Ref: channel + "/" + pattern, Fresh: true}, nil
}

func (words) Report(context.Context, bot.Event, string) string { return "" }

func (words) Zone(context.Context, bot.Event) string { return "Europe/Berlin" }

func say(c map[string]bot.CommandFunc, actor, text string) (string, error) {
	name, args, _ := strings.Cut(text, " ")
	return c[name](context.Background(), bot.Event{
		Kind: bot.EventCommand, Actor: bot.Actor{ID: actor},
		Origin: bot.Origin{Adapter: "slack", Place: "slack:C1"}, Command: bot.Command{Name: name, Args: args},
	})
}

func TestScheduleFromChatIsConfirmedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		clock := w.clock(t, newMemory())
		service := NewService(clock, Limits{MinInterval: 15 * time.Minute, PerOwner: 20})
		c := NewCommands(CommandsOptions{Service: service, Resolver: words{}, Intake: w, Zone: "UTC"})
		ask := "schedule every Monday at 9 send the sales report from data/sales.csv to #reports"
		for range 2 { // the platform sends it again
			reply, err := say(c, "slack:U1", ask)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"0 9 * * 1", "Europe/Berlin", "made up for once within 6h", "skip", "Mon 3 Jan 2000 09:00 CET", "Mon 17 Jan 2000", "confirm"} {
				if !strings.Contains(reply, part) {
					t.Errorf("reply lacks %q:\n%s", part, reply)
				}
			}
		}
		list, _ := service.List(t.Context())
		if len(list) != 1 {
			t.Fatalf("%d schedules", len(list))
		}
		s := list[0]
		if s.State != Proposed || s.Request != "send the sales report from data/sales.csv" || s.To[0].Place != "slack:#reports" || s.Inputs[0].Ref != "data/sales.csv" {
			t.Fatalf("%+v", s)
		}
		runUntil(t, clock, w, time.Date(2000, 1, 4, 0, 0, 0, 0, time.UTC))
		if len(w.events) != 0 {
			t.Fatal("an unconfirmed schedule ran")
		}
		if reply, err := say(c, "slack:U1", "schedules"); err != nil || !strings.Contains(reply, "not on yet: `schedules confirm "+s.Name+"` starts it") {
			t.Errorf("listed as %s, %v", reply, err)
		}
		if _, err := say(c, "slack:U2", "schedules confirm "+s.Name); err == nil {
			t.Fatal("somebody else confirmed it")
		}
		if reply, err := say(c, "slack:U1", "schedules confirm "+s.Name); err != nil || !strings.Contains(reply, "Mon 10 Jan 2000 09:00 CET") {
			t.Fatal(reply, err)
		}
		runUntil(t, clock, w, time.Date(2000, 1, 11, 0, 0, 0, 0, time.UTC))
		if len(w.events) != 1 || !w.events[0].NeedsRight || w.events[0].Actor.ID != "slack:U1" {
			t.Fatalf("%+v", w.events)
		}
		for _, step := range []struct{ text, says string }{
			{"schedules", s.Name},
			{"schedules next " + s.Name, "Mon 17 Jan"},
			{"schedules pause " + s.Name, "paused"},
			{"schedules resume " + s.Name, "goes on"},
			{"schedules run " + s.Name, "runs now"},
			{"schedules remove " + s.Name, "removed"},
			{"schedules list", "No schedules here"},
		} {
			if reply, err := say(c, "slack:U1", step.text); err != nil || !strings.Contains(reply, step.says) {
				t.Errorf("%s: %q, %v", step.text, reply, err)
			}
		}
		if len(w.events) != 2 {
			t.Errorf("%d events after run", len(w.events))
		}
	})
}

// What is asked for, from what and to where, in the words of both languages.
func TestPlacesAndFilesInWords(t *testing.T) {
	for text, want := range map[string]struct{ request, inputs, to string }{
		"every Monday at 9 sales report":                                                   {"sales report", "", "slack:C1"},
		"every Monday at 9 sales report to #reports.":                                      {"sales report", "", "slack:#reports"},
		"every Monday at 9 sales report to #reports, #sales and octo/sales#12":             {"sales report", "", "slack:#reports slack:#sales slack:octo/sales#12"},
		"every Monday at 9 sales report to #reports and #reports":                          {"sales report", "", "slack:#reports"},
		"every Monday at 9 sales report from the newest sales-*.csv in #numbers to #sales": {"sales report", "#numbers/sales-*.csv", "slack:#sales"},
		"every Monday at 9 sales report from the latest *.csv here":                        {"sales report", "/*.csv", "slack:C1"},
		"every Monday at 9 sales report from data/sales.csv to #sales":                     {"sales report from data/sales.csv", "data/sales.csv", "slack:#sales"},
		"каждый понедельник в 9 отчёт о продажах из самого нового sales-*.csv в #отчёты":   {"отчёт о продажах", "#отчёты/sales-*.csv", "slack:C1"},
		"каждый понедельник в 9 отчёт о продажах в #отчёты и #продажи":                     {"отчёт о продажах", "", "slack:#отчёты slack:#продажи"},

		`every Monday at 9 sales report from data/sales.csv as a new issue titled "Weekly sales, {{date}}" in octo/sales`: {"sales report from data/sales.csv", "data/sales.csv", "github:octo/sales|Weekly sales, {{date}}"},
		"every Monday at 9 sales report as a new issue titled Weekly sales of {{week}} in octo/sales":                     {"sales report", "", "github:octo/sales|Weekly sales of {{week}}"},
		`every Monday at 9 sales report as a new issue each time in octo/sales, called “Daily at 8 to #sales”`:            {"sales report", "", "github:octo/sales|Daily at 8 to #sales"},
		`sales report as a new issue titled 'Sales {{date}}', every Monday at 9`:                                          {"sales report", "", "github:|Sales {{date}}"},
		"every Monday at 9 sales report as a new issue titled Sales":                                                      {"sales report", "", "github:|Sales"},
		`every Monday at 9 sales report to #sales and as a new issue titled "S" in octo/sales`:                            {"sales report", "", "github:octo/sales|S slack:#sales"},
		`каждый понедельник в 9 отчёт о продажах новой задачей с заголовком «Продажи, {{date}}» в octo/sales`:             {"отчёт о продажах", "", "github:octo/sales|Продажи, {{date}}"},
		`каждый понедельник в 9 отчёт о продажах в новую задачу под названием "Продажи {{week}}"`:                         {"отчёт о продажах", "", "github:|Продажи {{week}}"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			service := NewService(w.clock(t, newMemory()), Limits{MinInterval: 15 * time.Minute, PerOwner: 20})
			c := Commands{CommandsOptions{Service: service, Resolver: words{}, Intake: w, Zone: "UTC"}}
			s, err := c.Propose(t.Context(), bot.Event{
				Actor: bot.Actor{ID: "slack:U1"}, Origin: bot.Origin{Adapter: "slack", Place: "slack:C1"}, Command: bot.Command{Args: text},
			})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var inputs, to []string
			for _, in := range s.Inputs {
				inputs = append(inputs, in.Ref)
			}
			for _, o := range s.To {
				to = append(to, strings.TrimSuffix(o.Place+"|"+o.Title, "|"))
			}
			if got := [3]string{s.Request, strings.Join(inputs, " "), strings.Join(to, " ")}; got != [3]string{want.request, want.inputs, want.to} {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
		})
	}
}

// zoned knows a person's zone.
type zoned struct {
	words
	zone string
}

func (z zoned) Zone(context.Context, bot.Event) string { return z.zone }

// A schedule of a chat has the zone of its words, else of its maker, else the
// server's; one that does not exist is nobody's.
func TestZoneOfASchedule(t *testing.T) {
	for name, c := range map[string]struct{ text, person, want string }{
		"words":       {"every Monday at 9 in Asia/Tokyo sales report", "Europe/Riga", "Asia/Tokyo"},
		"the person":  {"every Monday at 9 sales report", "Europe/Riga", "Europe/Riga"},
		"the server":  {"every Monday at 9 sales report", "", "America/New_York"},
		"a wrong one": {"every Monday at 9 sales report", "Mars/Olympus", "America/New_York"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			service := NewService(w.clock(t, newMemory()), Limits{MinInterval: 15 * time.Minute, PerOwner: 20})
			c2 := Commands{CommandsOptions: CommandsOptions{Service: service, Resolver: zoned{zone: c.person}, Intake: w, Zone: "America/New_York"}}
			event := bot.Event{Actor: bot.Actor{ID: "slack:U1"}, Origin: bot.Origin{Adapter: "slack", Place: "slack:C1"}, Command: bot.Command{Args: c.text}}
			s, err := c2.Propose(t.Context(), event)
			if err != nil || s.Zone != c.want {
				t.Errorf("%s: %q, %v", name, s.Zone, err)
			}
			f, _, err := c2.Understood(t.Context(), event, Form{What: "sales report", When: strings.TrimSuffix(c.text, " sales report")})
			if err != nil || f.Zone != c.want {
				t.Errorf("%s, in a form: %q, %v", name, f.Zone, err)
			}
		})
	}
}

func TestChatErrorsAreForTheAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		service := NewService(w.clock(t, newMemory()), Limits{MinInterval: 15 * time.Minute, PerOwner: 20})
		c := NewCommands(CommandsOptions{Service: service, Resolver: words{}, Intake: w, Zone: "UTC"})
		for _, text := range []string{
			"schedule ", "schedule every Monday send the report", "schedule every day at 9", "schedule every 5 minutes check data.csv",
			"schedules pause nothing", "schedule every Monday at 9 report as a new issue in octo/sales", `schedule every Monday at 9 report as a new issue titled "{{printf}}" in octo/sales`,
			"schedules dance x", "schedules pause",
		} {
			_, err := say(c, "slack:U1", text)
			var te *bot.TaskError
			if !errors.As(err, &te) || te.Message == "" {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
