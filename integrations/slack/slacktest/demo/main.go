// Command demo runs a Sandpiper binary against a fake Slack workspace, asks it
// for a report as a person would, and prints the thread as that person sees it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sandpiper-bot/sandpiper/integrations/slack/slacktest"
)

func main() {
	binary := flag.String("binary", "bin/sandpiper", "the binary to run")
	file := flag.String("file", "deploy/demo/sales.csv", "the file to ask about")
	text := flag.String("text", "Weekly sales report: revenue by region and week, and what stands out", "the request")
	out := flag.String("out", "out", "folder for the files it answers with")
	wait := flag.Duration("wait", 5*time.Minute, "how long to wait for the answer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *wait)
	defer cancel()
	if err := run(ctx, *binary, *file, *text, *out); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary, file, text, out string) (err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the demo's file: %w", err)
	}
	ws, err := slacktest.New(slacktest.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ws.Close()) }()
	ada := ws.AddUser(slacktest.User{Name: "Ada"})
	channel := ws.AddChannel(slacktest.Channel{Name: "sales"})
	stop, err := serve(ctx, ws, binary, channel)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := ws.Await(ctx, func() bool { return ws.Sockets() > 0 }); err != nil {
		return fmt.Errorf("wait for the bot to connect: %w", err)
	}
	root := ws.Say(slacktest.Post{
		Channel: channel, User: ada, Text: slacktest.Mention + " " + text,
		Files: []string{ws.AddFile(slacktest.File{Name: filepath.Base(file), Data: data})},
	})
	err = ws.Await(ctx, func() bool { return done(ws, channel, root) })
	fmt.Print(ws.Transcript(channel))
	if err != nil {
		return fmt.Errorf("wait for the answer: %w", err)
	}
	return save(ws, channel, root, out)
}

// done reports whether the thread holds an answer, its files and a progress
// message that came to its end.
func done(ws *slacktest.Workspace, channel, root string) bool {
	answer, files, ended := false, false, false
	for _, m := range ws.Replies(channel, root) {
		shown := m.Shown()
		files = files || len(m.Files) > 0
		ended = ended || strings.HasPrefix(shown, "✅") || strings.HasPrefix(shown, "⚠️")
		answer = answer || len(m.Files) == 0 && strings.Contains(strings.Join(m.Buttons(), " "), "Retry")
	}
	return answer && files && ended
}

// serve starts the binary against ws in a data folder of its own; stop ends it
// and removes the folder.
func serve(ctx context.Context, ws *slacktest.Workspace, binary, channel string) (stop func() error, err error) {
	dir, err := os.MkdirTemp("", "sandpiper-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a data folder: %w", err)
	}
	config := filepath.Join(dir, "sandpiper.yaml")
	if err := os.WriteFile(config, []byte("slack: {allow: {channels: ["+channel+"]}}\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the configuration: %w", err), os.RemoveAll(dir))
	}
	cmd := exec.CommandContext(ctx, binary, "serve")
	cmd.Env = append(os.Environ(), "SANDPIPER_CONFIG="+config, "SANDPIPER_DATA_DIR="+filepath.Join(dir, "data"), "SANDPIPER_LISTEN=127.0.0.1:0",
		"SLACK_APP_TOKEN="+ws.AppToken(), "SLACK_BOT_TOKEN="+ws.BotToken(), "SLACK_API_URL="+ws.APIURL())
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the bot: %w", err), os.RemoveAll(dir))
	}
	return func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // its exit status says nothing about the demo
		return os.RemoveAll(dir)
	}, nil
}

// save writes the files of a thread to out.
func save(ws *slacktest.Workspace, channel, root, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	folder, err := os.OpenRoot(out)
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	defer folder.Close()
	for _, m := range ws.Replies(channel, root) {
		for _, f := range m.Files {
			if err := folder.WriteFile(filepath.Base(f.Name), f.Data, 0o644); err != nil {
				return fmt.Errorf("save file: %w", err)
			}
			fmt.Println("saved", filepath.Join(out, filepath.Base(f.Name)))
		}
	}
	return nil
}
