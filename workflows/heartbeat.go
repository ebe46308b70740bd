//go:build !failpoints

package workflows

import "time"

// heartbeatTimeout is how long an activity may be silent before another worker gets its next attempt.
func heartbeatTimeout() time.Duration { return usualHeartbeat }
