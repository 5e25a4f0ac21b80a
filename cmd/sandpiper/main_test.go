package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// TestMain lets the test binary be the sandpiper of the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sandpiper": main})
}

// TestScripts runs testdata/script: the outer contract, line by line, through
// the binary.
func TestScripts(t *testing.T) {
	runScripts(t, "testdata/script")
}

// TestEngineScripts runs those that need the engine.
func TestEngineScripts(t *testing.T) {
	sandboxtest.Engine(t)
	runScripts(t, "testdata/script/engine")
}

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               isolate,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status, "onejson": oneJSON, "task": newestTask},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// isolate gives each script a home and a data folder of its own, and a file
// that no text archive can hold.
func isolate(env *testscript.Env) error {
	env.Setenv("HOME", env.WorkDir+"/home")
	env.Setenv("XDG_STATE_HOME", "")
	env.Setenv("XDG_CONFIG_HOME", "")
	env.Setenv("USER", "alice")
	env.Setenv("SUDO_USER", "")
	env.Setenv("DOCKER_HOST", os.Getenv("DOCKER_HOST"))
	rubbish := make([]byte, 4096)
	for i := range rubbish {
		rubbish[i] = byte(i * 7)
	}
	if err := os.WriteFile(env.WorkDir+"/rubbish.csv", rubbish, 0o600); err != nil {
		return err
	}
	return os.MkdirAll(env.WorkDir+"/home", 0o700)
}
