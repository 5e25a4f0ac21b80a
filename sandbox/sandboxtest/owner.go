package sandboxtest

import (
	"crypto/rand"
	"testing"
)

// Owner makes an owner that no other test has, so that tests side by side on
// one engine spare each other's containers.
func Owner(testing.TB) string { return "test-" + rand.Text()[:16] }
