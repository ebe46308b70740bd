package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"waymark/internal/defect"
)

// Together asks an activity to do the same for several inputs of the activity that does it for one: side by side, and with one answer. It
// is for what is so small that scheduling an activity for each costs more than doing it.
//
// All are tried, whatever becomes of the others. If one fails, so does the whole, with a *TogetherError; a repeat finds on record what is
// done, and does the rest.
type Together[In any] struct {
	Run   string `json:"run"`
	Epoch int64  `json:"epoch,omitempty"`
	Each  []In   `json:"each"`
}

// Answers are the results for the inputs of a Together, in their order.
type Answers[Out any] struct {
	Each []Out `json:"each"`
}

// sideBySide is how many of those that are done together are worked on at once. They wait for disks and networks, most of the time.
const sideBySide = 16

// ReadChunks does what ReadChunk does, for several sources.
func (a *Activities) ReadChunks(ctx context.Context, in Together[ReadInput]) (Answers[ReadResult], error) {
	return together(ctx, a, in, (*Activities).readChunk)
}

// ProcessChunks does what ProcessChunk does, for several chunks. None may depend on what another one claims.
func (a *Activities) ProcessChunks(ctx context.Context, in Together[ProcessInput]) (Answers[ProcessResult], error) {
	return together(ctx, a, in, (*Activities).processChunk)
}

// FoldBarriers does what FoldBarrier does, for several barriers. None may get what comes out of another one.
func (a *Activities) FoldBarriers(ctx context.Context, in Together[FoldInput]) (Answers[FoldResult], error) {
	return together(ctx, a, in, (*Activities).foldBarrier)
}

// WriteChunks does what WriteChunk does, for several parts. None may have to wait until another one is written.
func (a *Activities) WriteChunks(ctx context.Context, in Together[WriteInput]) (Answers[WriteResult], error) {
	return together(ctx, a, in, (*Activities).writeChunk)
}

// PublishSinks does what PublishSink does, for several sinks.
func (a *Activities) PublishSinks(ctx context.Context, in Together[SinkInput]) error {
	_, err := together(ctx, a, in, func(a *Activities, ctx context.Context, in SinkInput) (none, error) {
		return none{}, a.publishSink(ctx, in)
	})
	return err
}

func together[In, Out any](ctx context.Context, a *Activities, in Together[In], do func(*Activities, context.Context, In) (Out, error)) (Answers[Out], error) {
	each := func(a *Activities, ctx context.Context, in Together[In]) (Answers[Out], error) {
		out := make([]Out, len(in.Each))
		failed := inParallel(len(in.Each), func(i int) (err error) {
			if err = ctx.Err(); err == nil {
				out[i], err = do(a, ctx, in.Each[i])
			}
			return err
		})
		return Answers[Out]{out}, joined(failed)
	}
	return attempt(ctx, a, in.Run, in.Epoch, in, each)
}

// inParallel calls do with every number below n, sideBySide at once, waits until all is done, and returns the
// error of each.
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

// TogetherError says which of the inputs of a Together failed, and why.
type TogetherError struct {
	Failed []int // their indexes, ascending
	Of     int   // so many inputs
	causes []error
}

// mostCauses is how many causes a message tells: it travels through workflow history.
const mostCauses = 3

// Error tells the first causes.
func (e *TogetherError) Error() string {
	told := errors.Join(e.causes[:min(mostCauses, len(e.causes))]...)
	if len(e.causes) == 1 {
		return told.Error()
	}
	return fmt.Sprintf("%d of %d failed: %v", len(e.causes), e.Of, told)
}

// Unwrap returns all causes.
func (e *TogetherError) Unwrap() []error { return e.causes }

// joined makes one error of the errors of several inputs; nil if all are nil. If no retry cures one of them, nothing is gained by
// trying the others again: those that a retry may cure are left out.
func joined(failed []error) error {
	e, last := &TogetherError{Of: len(failed)}, &TogetherError{Of: len(failed)}
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

func (e *TogetherError) add(i int, err error) {
	e.Failed, e.causes = append(e.Failed, i), append(e.causes, err)
}
