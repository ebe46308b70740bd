package workflows

import (
	"errors"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// stickyTimeout is how long a process may take to come for what it is best placed to do. After that anybody may do
	// it: what the process has in memory is rebuilt from the record.
	stickyTimeout = 10 * time.Second

	// seenTimeout is how long it may take until a worker that sees the files of a run comes to open it. All places of
	// one that is there may be taken by the chunks of other runs.
	seenTimeout = 5 * time.Minute

	// maxStickyChunks is how many chunks the process that read them sends through the steps itself, while others may
	// take the rest. It has them in memory; others must fetch them.
	maxStickyChunks = 2

	// moreChunks is how many more chunks are in flight for each further process that was seen at work.
	moreChunks = 2

	// maxWindowChunks bounds that.
	maxWindowChunks = 64

	// maxSplitChunks bounds how many chunks of a run that is split are in flight.
	maxSplitChunks = 512
)

// TypeNoWorker is the type of the error that stops a run for which no worker came. Stored; never rename.
const TypeNoWorker = "NoWorker"

// FilesQueue returns the task queue of the workers that see the files of this name, beside the workers' common queue.
func FilesQueue(common, files string) string { return common + "@" + files }

// perform lets an activity be done: by the process with the sticky queue, if it comes for it in time, else by any
// worker that can. Without a sticky queue any worker can do it as well as another.
func (f *flow) perform(ctx workflow.Context, sticky string, activity, in any) workflow.Future {
	anywhere := onQueue(ctx, f.state.Plan.Queue)
	if sticky == "" {
		return workflow.ExecuteActivity(anywhere, activity, in)
	}
	done, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		future := workflow.ExecuteActivity(soon(onQueue(ctx, sticky), stickyTimeout), activity, in)
		if notFetched(future.Get(ctx, nil)) {
			future = workflow.ExecuteActivity(anywhere, activity, in)
		}
		settle.Chain(future)
	})
	return done
}

// onQueue returns a context for activities on the queue; "" is that of the workflow, and so is one that Temporal would
// not take: workers say what theirs are called.
func onQueue(ctx workflow.Context, queue string) workflow.Context {
	if queue == "" || len(queue) > maxIDBytes || strings.HasPrefix(queue, "/_sys/") {
		return ctx
	}
	return workflow.WithTaskQueue(ctx, queue)
}

// soon returns a context for activities for which a worker must come in time.
func soon(ctx workflow.Context, patience time.Duration) workflow.Context {
	return workflow.WithScheduleToStartTimeout(ctx, patience)
}

// notFetched reports whether an activity failed because no worker came for it in time.
func notFetched(err error) bool {
	var late *temporal.TimeoutError
	return errors.As(err, &late) && late.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// stickTo notes which process did something that it now has in memory. Reading and folding continue there.
func (f *flow) stickTo(worker string) {
	if worker != "" {
		f.state.Sticky = worker
		f.noteWorker(worker)
	}
}

// noteWorker notes a process at work.
func (f *flow) noteWorker(worker string) {
	if worker != "" {
		f.workers[worker] = true
	}
}

// window is how many chunks may be in flight. Of a run that is split they are three stretches for each process, one of
// them to be written, and three that nobody has taken: so who comes to help finds work.
func (f *flow) window() int {
	if f.state.Plan.Split {
		return min(3*stretchChunks*(max(len(f.workers), 1)+1), maxSplitChunks)
	}
	return min(windowChunks+moreChunks*max(len(f.workers)-1, 0), maxWindowChunks)
}

// stickyQueue returns the queue of the process that is to send the next chunk through the steps. Where nothing is
// gathered and the order does not count, the work is spread: in a run that is split anybody takes it.
func (f *flow) stickyQueue() string {
	spread := len(f.state.Plan.Barriers) == 0 && !f.way.inTurns
	if spread && (f.state.Plan.Split || f.stickyChunks >= maxStickyChunks) {
		return ""
	}
	return f.state.Sticky
}

// shares is in how many activities chunks of a run that is split, which were just read, go through the steps. At first
// each takes few, so that all processes have something to do soon, and few towards the end of the run, so that all end at
// about the same time.
func (f *flow) shares(read int) int {
	chunks, left := f.state.chunks(), int64(read)
	if f.state.Bytes > 0 {
		left += max(f.state.Plan.Bytes-f.state.Bytes, 0) * chunks / f.state.Bytes
	}
	size := int(max(min(chunks/4, left/int64(max(len(f.workers), 2)), stretchChunks), 2))
	return max((read+size/2)/size, (read+stretchChunks-1)/stretchChunks, 1)
}
