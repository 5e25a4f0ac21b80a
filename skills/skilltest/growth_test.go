package skilltest_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/skills"
)

// growthProgram tells the exponents that algorithm-check finds in made-up times.
const growthProgram = `
import math, runpy, sys
check = runpy.run_path("/skills/algorithm-check/scripts/check.py", run_name="check")
from sandpiper.speech import of
sizes = [2**n for n in range(4, 21)]
for cost in (lambda n: 1e-3, lambda n: 1e-7 * n, lambda n: 1e-7 * n * math.log2(n), lambda n: 1e-8 * n * n, lambda n: 1e-9 * n**3):
    slope = check["_growth"]([(n, cost(n)) for n in sizes])
    print(check["_kind"](slope, of("en")))
print(check["_growth"]([(16, 1e-6), (32, 1e-6)]))
`

func TestGrowthIsToldFromTimes(t *testing.T) {
	catalogue, err := skills.Load(skills.Options{Builtin: skills.Builtin()})
	require.NoError(t, err)
	s, err := catalogue.Get("algorithm-check")
	require.NoError(t, err)
	session, err := lessor(t)(t.Context(), "growth")
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	program, err := fs.ReadFile(s.FS, s.Run)
	require.NoError(t, err)
	require.NoError(t, session.Put(t.Context(), "skills/algorithm-check/"+s.Run, int64(len(program)), bytes.NewReader(program)))
	result, err := session.Run(t.Context(), sandbox.Program{Language: sandbox.Python, Code: growthProgram})
	require.NoError(t, err)
	require.Equal(t, sandbox.OK, result.Verdict, result.Stderr.Head)
	require.Equal(t, []string{
		"nearly constant or logarithmic", "linear or n log n", "linear or n log n", "quadratic", "cubic", "None",
	}, strings.Split(strings.TrimSpace(result.Stdout.Head), "\n"))
}
