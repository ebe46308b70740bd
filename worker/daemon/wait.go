package daemon

import (
	"context"
	"log/slog"
	"time"
)

// Pauses between the tries to reach a service that is not there yet.
const (
	firstPause = 250 * time.Millisecond
	maxPause   = 10 * time.Second
)

// waitFor tries until it succeeds, until the error lasts, or until ctx ends, whose error it then returns. While it waits it says for
// what, and why.
func waitFor[T any](ctx context.Context, what string, logger *slog.Logger, ready *readiness, lasts func(error) bool, try func(context.Context) (T, error)) (T, error) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		found, err := try(ctx)
		if err == nil || lasts(err) {
			return found, err
		}
		ready.set(what, nil, err)
		logger.Warn("waiting for "+what, "error", err, "again in", pause.String())
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return found, ctx.Err()
		}
	}
}
