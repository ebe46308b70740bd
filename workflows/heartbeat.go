package workflows

import (
	"fmt"
	"os"
	"sync"
	"time"

	"waymark/internal/failpoint"
)

// heartbeatTimeout is how long an activity may be silent before another worker gets its next attempt. In a build whose
// failpoints are armed the environment may shorten it, so that tests need not wait.
func heartbeatTimeout() time.Duration { return heartbeat() }

var heartbeat = sync.OnceValue(func() time.Duration { return heartbeatFrom("WAYMARK_HEARTBEAT") })

func heartbeatFrom(variable string) time.Duration {
	if !failpoint.Enabled {
		return usualHeartbeat
	}
	text := os.Getenv(variable)
	if text == "" {
		return usualHeartbeat
	}
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 {
		fmt.Fprintf(os.Stderr, "waymark: environment variable %s: %q is no duration such as 1s\n", variable, text)
		os.Exit(2)
	}
	return timeout
}
