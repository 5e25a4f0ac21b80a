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

// growthProgram tells what algorithm-check says of made-up times, quiet and noisy.
const growthProgram = `
import math, random, sys
sys.path.insert(0, "/skills/algorithm-check/scripts")
import growth
from sandpiper.speech import of
dice, say = random.Random(7), of("en")
def told(cost, noise=0.02, sizes=[2**n for n in range(6, 19)], spread=None):
    times = [growth.Timed(n, cost(n) * (1 + dice.uniform(-noise, noise)), noise if spread is None else spread) for n in sizes]
    print(growth.told(growth.growth(times), say).replace("**", ""))
told(lambda n: 1e-3)
told(lambda n: 2e-5 + 1e-7 * n)
told(lambda n: 1e-7 * n * math.log2(n), 0.005)
told(lambda n: 1e-7 * n * math.log2(n), 0.12, sizes=[2**n for n in range(10, 16)])
told(lambda n: 1e-8 * n * n, 0.08)
told(lambda n: 1e-9 * n**3, 0.08)
told(lambda n: 1e-9 * 2**n, 0.08, sizes=list(range(14, 27, 2)))
told(lambda n: 1e-7 * n, 0.02, spread=0.4)
told(lambda n: 1e-7 * n, 0.02, sizes=[1024, 2048, 4096])
told(lambda n: 1e-3 * (1 + n % 7), 0.02)
seconds, spread = growth.steady([1.0, 1.01, 0.99, 1.0, 7.5, 1.02, 30.0, 1.0, 0.98])
print(0.98 < seconds < 1.02, spread < 0.03)
`

func TestGrowthIsToldAsFarAsTimesTellIt(t *testing.T) {
	catalogue, err := skills.Load(skills.Options{Builtin: skills.Builtin()})
	require.NoError(t, err)
	s, err := catalogue.Get("algorithm-check")
	require.NoError(t, err)
	session, err := lessor(t)(t.Context(), "growth")
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	for _, name := range s.Files {
		file, err := fs.ReadFile(s.FS, name)
		require.NoError(t, err)
		require.NoError(t, session.Put(t.Context(), "skills/algorithm-check/"+name, int64(len(file)), bytes.NewReader(file)))
	}
	result, err := session.Run(t.Context(), sandbox.Program{Language: sandbox.Python, Code: growthProgram})
	require.NoError(t, err)
	require.Equal(t, sandbox.OK, result.Verdict, result.Stderr.Head)
	lines := strings.Split(strings.TrimSpace(result.Stdout.Head), "\n")
	for i, want := range []string{
		"constant (", "linear (", "n log n (", "which these times do not tell apart", "quadratic (", "cubic (", "exponential (",
		"cannot be told: repeated times differ by 40%", "cannot be told: too few sizes", "cannot be told: the times are", "True True",
	} {
		require.Contains(t, lines[i], want, "line %d", i)
	}
	require.Contains(t, lines[3], "linear or n log n")
}
