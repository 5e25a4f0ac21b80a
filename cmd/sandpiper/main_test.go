package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the sandpiper of the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sandpiper": main})
}

// TestScripts runs testdata/script: the outer contract, line by line, through
// the binary. A script that needs the engine stands in script/engine.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               isolate,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status, "onejson": oneJSON},
	})
}

// isolate gives each script a home and a data folder of its own.
func isolate(env *testscript.Env) error {
	env.Setenv("HOME", env.WorkDir+"/home")
	env.Setenv("XDG_STATE_HOME", "")
	env.Setenv("XDG_CONFIG_HOME", "")
	env.Setenv("USER", "alice")
	env.Setenv("SUDO_USER", "")
	env.Setenv("DOCKER_HOST", os.Getenv("DOCKER_HOST"))
	return os.MkdirAll(env.WorkDir+"/home", 0o700)
}
