package payload

import (
	"context"
	"errors"
	"fmt"
)

// A Problem is an object that Scrub could not confirm.
type Problem struct {
	Digest Digest
	// Err wraps ErrCorrupt if the object is wrong. Otherwise the object could not be read, and may be good.
	Err error
}

// A ScrubReport counts what Scrub saw.
type ScrubReport struct {
	Objects    int   // all objects
	Bytes      int64 // length of the good ones
	Corrupt    int   // objects whose content is not what their name promises
	Unreadable int   // objects that could not be read, or are over the limit of the Store
}

// Scrub reads every object and compares its hash with its name. It calls onProblem, if not nil, for each object it could
// not confirm, in ascending order of digest, and changes nothing. An object deleted during the scrub is no problem.
//
// The error is not nil only if the walk itself failed or ctx ended; the report then covers what was seen until then.
func (s *Store) Scrub(ctx context.Context, onProblem func(Problem)) (ScrubReport, error) {
	var report ScrubReport
	err := s.backend.Walk(ctx, func(key string) error {
		data, err := s.read(ctx, Digest(key), s.maxBytes)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		report.count(len(data), err)
		if err != nil && onProblem != nil {
			onProblem(Problem{Digest: Digest(key), Err: err})
		}
		return nil
	})
	if err != nil {
		return report, fmt.Errorf("scrub payloads: %w", err)
	}
	return report, nil
}

func (r *ScrubReport) count(length int, err error) {
	r.Objects++
	r.Bytes += int64(length)
	switch {
	case errors.Is(err, ErrCorrupt):
		r.Corrupt++
	case err != nil:
		r.Unreadable++
	}
}
