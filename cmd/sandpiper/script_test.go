package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// status is the script command `status N PROGRAM ARG...`: it runs the program
// and fails unless its exit status is N. Output stands in $WORK/stdout and
// $WORK/stderr, and is printed to the script's log.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// oneJSON is the script command `onejson FILE [KEY...]`: the file holds
// exactly one JSON value, an object with these keys.
func oneJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: onejson file [key...]")
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	var object map[string]json.RawMessage
	ts.Check(decoder.Decode(&object))
	if decoder.More() {
		ts.Fatalf("%s holds more than one JSON value", args[0])
	}
	for _, key := range args[1:] {
		if _, ok := object[key]; !ok {
			ts.Fatalf("%s has no key %q", args[0], key)
		}
	}
}

// newestTask is the script command `task NAME`: it sets NAME to the id of the
// newest task, read from the `tasks list --json` before it.
func newestTask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: task NAME")
	}
	var list []listedTask
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &list))
	if len(list) == 0 {
		ts.Fatalf("there are no tasks")
	}
	ts.Setenv(args[0], list[0].Task)
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
