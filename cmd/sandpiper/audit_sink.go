package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/syslog"
	"net/url"
	"os"
	"sync"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/cmd/sandpiper/internal/config"
)

// auditSink makes the sink that the configuration names; nil where it names
// none. One that cannot be reached now is reached later: the store keeps what it
// has not taken.
func auditSink(settings config.Audit) (bot.AuditSink, *auditFile) {
	switch {
	case settings.File != "":
		file := &auditFile{path: settings.File}
		return bot.NewJSONSink(file), file
	case settings.Syslog != "":
		return bot.NewJSONSink(&auditSyslog{address: settings.Syslog}), nil
	}
	return nil, nil
}

// auditFile appends lines to a file, which it opens when there is something to
// write.
type auditFile struct {
	path string
	// mu guards file.
	mu   sync.Mutex
	file *os.File
}

// Write implements io.Writer. A line that is written in part, on a full disk, is
// taken back, so that the next one does not continue it.
func (a *auditFile) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		file, err := openAudit(a.path)
		if err != nil {
			return 0, err
		}
		a.file = file
	}
	n, err := a.file.Write(line)
	if err != nil && n > 0 {
		err = errors.Join(err, takeBack(a.file, n))
	}
	if err != nil {
		err = errors.Join(err, a.close()) // the next write opens it again
	}
	return n, err
}

// takeBack cuts the last n bytes off.
func takeBack(file *os.File, n int) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return file.Truncate(info.Size() - int64(n))
}

// openAudit opens the file for appending, and ends a last line that an earlier
// life could not.
func openAudit(path string) (_ *os.File, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return file, nil
	}
	var last [1]byte
	if _, err := file.ReadAt(last[:], info.Size()-1); err != nil {
		return nil, err
	}
	if last[0] != '\n' {
		_, err = io.WriteString(file, "\n")
	}
	return file, err
}

// Sync makes what was written durable.
func (a *auditFile) Sync() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return nil
	}
	return a.file.Sync()
}

// Reopen has the next line go to the file that has the name then: after
// logrotate has moved the one before.
func (a *auditFile) Reopen() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.close()
}

func (a *auditFile) close() error {
	if a.file == nil {
		return nil
	}
	err := errors.Join(a.file.Sync(), a.file.Close())
	a.file = nil
	return err
}

// auditSyslog sends lines to a syslog, which it connects to when there is
// something to send.
type auditSyslog struct {
	address string // "local", udp://host:514 or tcp://host:514
	// mu guards w.
	mu sync.Mutex
	w  *syslog.Writer
}

// Write implements io.Writer.
func (s *auditSyslog) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		w, err := dialSyslog(s.address)
		if err != nil {
			return 0, err
		}
		s.w = w
	}
	return s.w.Write(line) // it connects again by itself
}

func dialSyslog(address string) (*syslog.Writer, error) {
	network, host := "", ""
	if address != config.SyslogLocal {
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		network, host = u.Scheme, u.Host
	}
	w, err := syslog.Dial(network, host, syslog.LOG_AUTHPRIV|syslog.LOG_INFO, "sandpiper")
	if err != nil {
		return nil, fmt.Errorf("reach syslog %s: %w", address, err)
	}
	return w, nil
}

// openAuditSink makes the sink and registers its end.
func (a *app) openAuditSink() bot.AuditSink {
	sink, file := auditSink(a.loaded.Audit)
	if file != nil {
		a.auditFile = file
		a.life.Defer("audit file", func(context.Context) error { return file.Reopen() })
	}
	return sink
}

// reopenAudit follows a rotation of the audit file, and tries a sink that
// failed at once.
func (a *app) reopenAudit() {
	if a.auditFile != nil {
		if err := a.auditFile.Reopen(); err != nil {
			a.log.Error("the audit file is not closed in good order", "error", err)
		}
	}
	a.orchestrator.RetrySink()
}

// auditTarget is where audit entries are copied to, "" for nowhere.
func auditTarget(settings config.Audit) string {
	if settings.File != "" {
		return settings.File
	}
	if settings.Syslog != "" {
		return "syslog " + settings.Syslog
	}
	return ""
}

// checkAuditSink is doctor's line on the sink.
func (a *app) checkAuditSink() []check {
	target := auditTarget(a.loaded.Audit)
	if target == "" {
		return nil
	}
	if err := a.orchestrator.SinkError(); err != nil {
		return []check{{
			"audit sink", checkFailed, err.Error(),
			"make " + target + " writable; entries are kept meanwhile and written then",
		}}
	}
	return []check{{"audit sink", checkOK, target + " takes every entry", ""}}
}
