package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"waymark/internal/defect"
	"waymark/landscape/inhand"
)

// A Batch asks an activity for one piece of work of its kind, or for several, with one answer: to schedule an activity
// for each costs more than to do what is small. A large piece has a batch of its own.
//
// The pieces are done side by side, and each is tried even if others fail. If one fails, the activity fails with a
// *BatchError; a repeat finds on record what is done, and does the rest.
type Batch[In any] struct {
	Run   string `json:"run"`
	Epoch int64  `json:"epoch,omitempty"`
	Each  []In   `json:"each"`
}

// Work returns the run that the batch is about, and its pieces.
func (b Batch[In]) Work() (run string, each []any) { return b.Run, anyOf(b.Each) }

// Results are what an activity answers for the pieces of a Batch, in their order.
type Results[Out any] struct {
	Each []Out `json:"each"`
}

// All returns the results.
func (r Results[Out]) All() []any { return anyOf(r.Each) }

func anyOf[T any](things []T) []any {
	all := make([]any, len(things))
	for i, thing := range things {
		all[i] = thing
	}
	return all
}

// sideBySide is how many pieces of a batch are worked on at once. They wait for disks and networks, most of the time.
const sideBySide = 16

// How long what a piece records waits for the others, so that it is one transaction.
const (
	inPassing  = 3 * time.Millisecond // of pieces that may wait for each other
	untilReady = 20 * time.Second     // of those that do not
)

// inBatch does the pieces of a batch. patience is how long what a piece records waits for the others.
func inBatch[In, Out any](
	ctx context.Context, a *Activities, in Batch[In], patience time.Duration,
	do func(*Activities, context.Context, *run, In) (Out, error),
) (Results[Out], error) {
	return inBatchAfter(ctx, a, in, patience, func(*Activities, context.Context, *run) error { return nil }, do)
}

// inBatchAfter is inBatch for pieces before which something is done for all of them.
func inBatchAfter[In, Out any](
	ctx context.Context, a *Activities, in Batch[In], patience time.Duration,
	first func(*Activities, context.Context, *run) error, do func(*Activities, context.Context, *run, In) (Out, error),
) (Results[Out], error) {
	each := func(a *Activities, ctx context.Context, in Batch[In]) (Results[Out], error) {
		r, err := a.get(ctx, in.Run)
		if err != nil {
			return Results[Out]{}, err
		}
		r.share.GiveWay(ctx)
		if err := first(a, ctx, r); err != nil {
			return Results[Out]{}, err
		}
		out := make([]Out, len(in.Each))
		err = eachPiece(ctx, len(in.Each), patience, func(ctx context.Context, i int) (err error) {
			out[i], err = do(a, ctx, r, in.Each[i])
			return err
		})
		return Results[Out]{out}, err
	}
	return attempt(ctx, a, in.Run, in.Epoch, in, each)
}

// eachPiece calls do with every number below n, and returns a *BatchError if one fails. After ctx ends it begins no more:
// the others fail with the error of ctx. What the pieces record at the same time is one transaction.
func eachPiece(
	ctx context.Context, n int, patience time.Duration, do func(ctx context.Context, i int) error,
) error {
	group := inhand.NewGroup(patience)
	for range min(n, sideBySide) {
		group.Enter()
	}
	return joined(inParallel(n, func(i int) error {
		if i >= sideBySide { // the others entered before any of them could commit
			group.Enter()
		}
		defer group.Leave()
		if err := ctx.Err(); err != nil {
			return err
		}
		return do(group.Member(ctx), i)
	}))
}

// inParallel calls do with every number below n, sideBySide at once, waits until all is done, and returns the error of
// each.
func inParallel(n int, do func(i int) error) []error {
	var busy sync.WaitGroup
	failed := make([]error, n)
	places := make(chan struct{}, sideBySide)
	for i := range n {
		places <- struct{}{}
		busy.Go(func() {
			defer func() { <-places }()
			failed[i] = defect.Catch("activity", func() error { return do(i) })
		})
	}
	busy.Wait()
	return failed
}

// BatchError says which pieces of a Batch failed, and why.
type BatchError struct {
	Failed []int // their indexes, ascending
	Of     int   // number of pieces
	causes []error
}

// mostCauses is how many causes a message tells: it travels through workflow history.
const mostCauses = 3

// Error tells the first causes.
func (e *BatchError) Error() string {
	first := errors.Join(e.causes[:min(mostCauses, len(e.causes))]...)
	if len(e.causes) == 1 {
		return first.Error()
	}
	return fmt.Sprintf("%d of %d failed: %v", len(e.causes), e.Of, first)
}

// Unwrap returns all causes.
func (e *BatchError) Unwrap() []error { return e.causes }

// joined makes one error of the errors of several pieces; nil if all are nil. If no retry cures one of them, nothing is
// gained by trying the others again: those that a retry may cure are left out.
func joined(failed []error) error {
	e, last := &BatchError{Of: len(failed)}, &BatchError{Of: len(failed)}
	for i, err := range failed {
		if err != nil {
			e.add(i, err)
		}
		if err != nil && finalKind(err) != "" {
			last.add(i, err)
		}
	}
	switch {
	case len(last.causes) > 0:
		return last
	case len(e.causes) > 0:
		return e
	default:
		return nil
	}
}

func (e *BatchError) add(i int, err error) {
	e.Failed, e.causes = append(e.Failed, i), append(e.causes, err)
}
