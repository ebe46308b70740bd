package landscape

import (
	"context"
	"errors"
)

// ErrUnavailable says that the database failed: it tells nothing about what is recorded.
var ErrUnavailable = errors.New("the record could not be asked")

// Marked returns the Reader of the same record whose errors wrap ErrUnavailable wherever the database failed. Any other error of a
// question says that what is recorded makes no sense.
func (r *Reader) Marked() *Reader {
	marked := *r
	marked.from = markedSource{r.from}
	return &marked
}

// markedSource marks the failures of a source.
type markedSource struct{ source }

func (s markedSource) Read(ctx context.Context, kind Record, q Query, yield func(Record) bool) error {
	return mark(s.source.Read(ctx, kind, q, yield))
}

func (s markedSource) Sweep(ctx context.Context, run string, deep bool) ([]Finding, error) {
	found, err := s.source.Sweep(ctx, run, deep)
	return found, mark(err)
}

func mark(err error) error {
	if err == nil || errors.Is(err, ErrIncomplete) {
		return err
	}
	return unavailable{err}
}

// unavailable is an error that wraps ErrUnavailable, and says the same as without.
type unavailable struct{ error }

func (u unavailable) Unwrap() error      { return u.error }
func (unavailable) Is(target error) bool { return target == ErrUnavailable }
