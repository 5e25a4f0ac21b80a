package bot

import (
	"math/rand/v2"
	"time"
)

// backoff doubles first for each failure up to longest, and takes a random part
// between half and all of that, so that what failed together is not tried again
// together.
func backoff(first, longest time.Duration, failures int) time.Duration {
	wait := longest
	if failures < 30 {
		wait = min(longest, first<<failures)
	}
	if wait <= 0 { // the shift overflowed
		wait = longest
	}
	half := wait / 2
	return half + rand.N(half+1)
}
