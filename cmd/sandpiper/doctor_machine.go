package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/client"
	"golang.org/x/sys/unix"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/fault"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/term"
	"github.com/sandpiper-bot/sandpiper/sandbox"
)

// Free space below which doctor warns, and below which it fails.
const (
	littleDisk = 1 << 30
	leastDisk  = 100 << 20
)

// folderChecks look at the data folder from outside.
func folderChecks(loaded *config.Loaded) []check {
	info, err := os.Stat(loaded.DataDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the next check makes it
	}
	if err != nil {
		return []check{{"data folder", checkFailed, err.Error(), "make it readable to the user that runs sandpiper"}}
	}
	folder := check{"data folder", checkOK, loaded.DataDir, ""}
	if info.Mode().Perm()&0o077 != 0 {
		folder.Status, folder.Message = checkWarning, folder.Message+" is open to other users of this machine"
		folder.Hint = "chmod 700 " + loaded.DataDir
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(loaded.DataDir, &fs); err != nil {
		return []check{folder, {"disk", checkWarning, err.Error(), ""}}
	}
	free := int64(fs.Bavail) * int64(fs.Bsize) //nolint:unconvert // of another type on macOS
	disk := check{"disk", checkOK, term.Bytes(free) + " free", "free some space in " + loaded.DataDir + ": when the disk is full nothing new is accepted"}
	switch {
	case free < leastDisk:
		disk.Status = checkFailed
	case free < littleDisk:
		disk.Status = checkWarning
	}
	return []check{folder, disk}
}

// secretChecks look for secrets where they should not lie: in the YAML, and in
// files that others can read. They are never shown.
func secretChecks(loaded *config.Loaded) []check {
	var out []check
	if loaded.File != "" {
		text, err := os.ReadFile(loaded.File)
		if err != nil {
			return nil // the configuration's own check says so
		}
		shapes := bot.NewRedactor(nil)
		for i, line := range strings.Split(string(text), "\n") {
			if shapes.Text(line) != line {
				out = append(out, check{
					"secrets", checkFailed, fmt.Sprintf("line %d of %s holds what looks like a secret", i+1, loaded.File),
					"move it to its variable or to a file that …_FILE names, and revoke it if others could read this file",
				})
			}
		}
	}
	for _, path := range loaded.SecretFiles() {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			out = append(out, check{"secrets", checkWarning, path + " can be read by other users of this machine", "chmod 600 " + path})
		}
	}
	return out
}

// unserved tells why no process could serve the data folder.
func unserved(err error) check {
	f := &fault.Error{}
	errors.As(err, &f)
	out := check{"process", checkFailed, err.Error(), f.Hint}
	if slices.Contains([]string{"model", "slack", "github"}, f.Kind) {
		out.Name = f.Kind
	}
	var damaged *boltstore.DamagedError
	var newer *boltstore.NewerError
	if errors.As(err, &damaged) || errors.As(err, &newer) {
		out.Name = "database"
	}
	if errors.As(err, &damaged) && out.Hint == "" {
		out.Hint = "move the data folder away and put the last backup into a new one: sandpiper restore BACKUP"
	}
	return out
}

func (a *app) checkStore(ctx context.Context) check {
	if err := a.store.Check(ctx); err != nil {
		return check{"database", checkFailed, err.Error(), "free disk space; if it is damaged: sandpiper restore BACKUP"}
	}
	if err := a.store.Verify(ctx); err != nil {
		return check{"database", checkFailed, err.Error(), "end sandpiper, move the data folder away and put the last backup into a new one: sandpiper restore BACKUP"}
	}
	if _, err := a.verifyAudit(ctx); err != nil {
		return check{"database", checkFailed, err.Error(), "somebody changed the database outside of sandpiper, or it is damaged: compare it with a backup"}
	}
	return check{"database", checkOK, "it is whole and commits, and so is the audit", ""}
}

// checkEngine looks at engine and image, and runs a program.
func (a *app) checkEngine(ctx context.Context) []check {
	socket := socketCheck(os.Getenv(client.EnvOverrideHost), os.Getenv(client.EnvTLSVerify) != "")
	opened, err := a.boxes.open(ctx)
	if err == nil {
		err = opened.Ping(ctx)
	}
	if err != nil {
		return []check{engineFault(err)}
	}
	status, err := opened.Status(ctx)
	if err != nil {
		return []check{engineFault(err)}
	}
	out := []check{{"engine", checkOK, fmt.Sprintf("%s, control groups %s, runtime %s", status.Engine, status.Cgroups, status.Runtime), ""}, socket}
	for _, warning := range status.Warnings {
		if !strings.HasPrefix(warning, "the image") { // told below
			out = append(out, check{"engine", checkWarning, warning, "update the engine"})
		}
	}
	image := check{"image", checkOK, fmt.Sprintf("%s, built %s", status.Image, localTime(status.Built)), ""}
	if !status.Built.IsZero() && time.Since(status.Built) > 30*24*time.Hour {
		image.Status, image.Hint = checkWarning, "take the security updates since then: sandpiper sandbox build --refresh"
	}
	return append(out, image, a.checkProgram(ctx))
}

// engineFault names what of the engine is at fault.
func engineFault(err error) check {
	var missing *sandbox.Error
	if !errors.As(err, &missing) {
		return check{"engine", checkFailed, err.Error(), hintOf(err)}
	}
	out := check{"engine", checkFailed, missing.Error(), missing.Hint}
	if missing.Verdict == sandbox.Image {
		out.Name = "image"
	}
	return out
}

func (a *app) checkProgram(ctx context.Context) check {
	result, err := a.exec(ctx, execution{Language: sandbox.Python, Code: "import pandas\nprint('pandas', pandas.__version__)"})
	switch {
	case err != nil:
		return check{"program", checkFailed, err.Error(), hintOf(sandboxFault(err))}
	case result.Verdict != sandbox.OK:
		return check{"program", checkFailed, "a program ended with " + string(result.Verdict) + ": " + result.Detail, result.Hint}
	}
	return check{"program", checkOK, fmt.Sprintf("ran in %.2f s: %s", result.Seconds, result.Stdout), ""}
}

// socketCheck says plainly what the way to the engine is worth: whoever has it
// is root on the engine's machine.
func socketCheck(host string, verified bool) check {
	const name = "engine socket"
	if host == "" {
		host = client.DefaultDockerHost
	}
	scheme, path, _ := strings.Cut(host, "://")
	switch {
	case scheme == "tcp" && !verified:
		return check{name, checkWarning, "the engine is reached over " + host + " without TLS: whoever can connect there is root on its machine", "use its unix socket, ssh://, or TLS with DOCKER_TLS_VERIFY and DOCKER_CERT_PATH"}
	case scheme != "unix":
		return check{name, checkOK, host, ""}
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o006 != 0 {
		return check{name, checkWarning, "every user of this machine may use " + path + ", and so become root on it", "chmod 660 " + path + ", and add only the bot to its group"}
	}
	if _, err := os.Stat("/.dockerenv"); err == nil && path == strings.TrimPrefix(client.DefaultDockerHost, "unix://") {
		return check{name, checkWarning, path + " in this container is likely the host's own engine: whoever takes over the bot is root on the host", "give the bot an engine of its own, as deploy/compose.yaml does, or a rootless one"}
	}
	return check{name, checkOK, path + "; whoever may use it is as good as root on the engine's machine", ""}
}

// probeCheck tries the attacks of `sandbox probe`.
func probeCheck(ctx context.Context, loaded *config.Loaded) check {
	options := sandboxOptions(loaded)
	options.Owner = "probe"
	report, err := sandbox.Probe(ctx, options)
	if err != nil {
		return check{"probe", checkFailed, err.Error(), hintOf(sandboxFault(err))}
	}
	out := check{"probe", checkOK, fmt.Sprintf("%d of %d attacks end as they should", len(report.Probes)-report.Fallen(), len(report.Probes)), ""}
	if report.Fallen() > 0 {
		out.Status, out.Hint = checkFailed, "sandpiper sandbox probe shows which do not: do not serve strangers with this engine"
	}
	return out
}

// Clocks that differ by more make tokens invalid, or schedules late.
const (
	slightSkew = 30 * time.Second
	badSkew    = 5 * time.Minute
)

// clockCheck compares this machine's clock with those of the servers that the
// bot talks to anyway.
func (a *app) clockCheck(ctx context.Context) (check, bool) {
	out := check{Name: "clock", Status: checkOK, Hint: "set this machine's clock, for instance with systemd-timesyncd or chrony"}
	asked := false
	for _, base := range a.servers() {
		at, ok := dateOf(ctx, base)
		if !ok {
			continue
		}
		asked = true
		ahead := time.Since(at).Round(time.Second)
		off, word := ahead, "ahead of"
		if ahead < 0 {
			off, word = -ahead, "behind"
		}
		if off < slightSkew {
			continue
		}
		out.Status, out.Message = checkWarning, fmt.Sprintf("this machine's clock is %s %s that of %s", off, word, hostOf(base))
		if off > badSkew {
			out.Status = checkFailed
		}
		return out, true
	}
	out.Message = "it agrees with the servers that the bot talks to"
	return out, asked
}

// servers are the bases that are configured.
func (a *app) servers() (bases []string) {
	if a.slack != nil {
		bases = append(bases, orElse(a.loaded.Addresses.SlackAPI, "https://slack.com/api/"))
	}
	if a.github != nil {
		bases = append(bases, orElse(a.loaded.Addresses.GitHubAPI, "https://api.github.com/"))
	}
	if a.loaded.ModelProblem() == "" {
		bases = append(bases, orElse(a.loaded.Model.BaseURL, "https://api.openai.com/v1"))
	}
	return bases
}

func orElse(value, standard string) string {
	if value == "" {
		return standard
	}
	return value
}

// dateOf reads the clock of a server.
func dateOf(ctx context.Context, base string) (time.Time, bool) {
	response, err := ask(ctx, http.MethodHead, base)
	if err != nil {
		return time.Time{}, false
	}
	defer response.Body.Close()
	at, err := http.ParseTime(response.Header.Get("Date"))
	return at, err == nil
}

// ask sends one short request without a body.
func ask(ctx context.Context, method, url string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &bounded{io.LimitReader(response.Body, 64<<10), response.Body, cancel}
	return response, nil
}

// bounded is a body that ends its request's context when it is closed.
type bounded struct {
	io.Reader
	body   io.Closer
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *bounded) Close() error {
	defer b.cancel()
	return b.body.Close()
}
