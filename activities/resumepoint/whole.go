package resumepoint

import (
	"context"
	"errors"

	"waymark/landscape"
)

// whole reads what is recorded of a run that may go on meanwhile. A contradiction is one only if nothing comes on
// record while it is read again: else what was read first may be older than what was read last.
func whole[T any](ctx context.Context, log *landscape.Reader, run string, read func() (T, error)) (T, error) {
	value, err := read()
	for contradicts(err) {
		before, failed := log.Progress(ctx, run)
		if failed != nil {
			return value, failed
		}
		value, err = read()
		after, failed := log.Progress(ctx, run)
		if failed != nil {
			return value, failed
		}
		if after == before {
			return value, err
		}
	}
	return value, err
}

func contradicts(err error) bool {
	_, diverged := errors.AsType[*DivergedError](err)
	return diverged
}
