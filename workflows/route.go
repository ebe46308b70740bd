package workflows

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
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

	// usualWorkers is for how many processes a run is split, as long as fewer were seen at work.
	usualWorkers = 4

	// leastShare is how many chunks a share has, at least.
	leastShare = 4

	// maxSplitChunks bounds how many chunks of a run that is split are in flight.
	maxSplitChunks = 512
)

// TypeNoWorker is the type of the error that stops a run for which no worker came. Stored; never rename.
const TypeNoWorker = "NoWorker"

// FilesQueue returns the task queue of the workers that see the files of this name, beside the workers' common queue.
func FilesQueue(common, files string) string { return common + "@" + files }

// perform lets an activity be done: by the process with the sticky queue, if it comes for it in time, else by any
// worker that can. Without a sticky queue any worker can do it as well as another, and so with the queue of shares.
func (f *flow) perform(ctx workflow.Context, sticky string, activity, in any) workflow.Future {
	anywhere := onQueue(ctx, f.state.Plan.Queue)
	switch sticky {
	case "":
		return workflow.ExecuteActivity(anywhere, activity, in)
	case f.sharesQueue(ctx):
		return workflow.ExecuteActivity(onQueue(ctx, sticky), activity, in)
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
func (f *flow) stickyQueue(ctx workflow.Context) string {
	switch {
	case f.state.Plan.Spread() && f.state.Plan.Split:
		return f.sharesQueue(ctx)
	case f.state.Plan.Spread() && f.stickyChunks >= maxStickyChunks:
		return ""
	}
	return f.state.Sticky
}

// sharesQueue returns the queue of the run's shares, if it is split; "" if the process that executes it works alone.
func (f *flow) sharesQueue(ctx workflow.Context) string {
	if f.state.Sticky == "" {
		return ""
	}
	return activities.SharesQueue(cmp.Or(f.state.Plan.Queue, workflow.GetInfo(ctx).TaskQueueName))
}

// shares is in how many activities chunks of a run that is split, which were just read, go through the steps. At first
// each takes few, so that all processes have something to do soon, and few towards the end of the run, so that all end at
// about the same time.
func (f *flow) shares(read int) int {
	left := f.chunksLeft() + int64(read)
	size := int(max(min(f.state.chunks()/4, left/int64(max(len(f.workers), 2)), stretchChunks), 2))
	return max((read+size/2)/size, (read+stretchChunks-1)/stretchChunks, 1)
}

// sharesAhead is how many chunks each of the shares is to have that are found next. Few are found at first, so that all
// processes have something to do soon. The fewer chunks are left, the smaller is a share, so that all processes end at
// about the same time.
func (f *flow) sharesAhead() (sizes []int) {
	chunks, left := f.state.chunks(), f.chunksLeft()
	most, found := min(8*chunks+8, surveyChunks), int64(0)
	for found < most {
		size := max(min(2*left/int64(3*max(len(f.workers), usualWorkers)), 3*chunks, stretchChunks), leastShare)
		sizes, left, found = append(sizes, int(size)), left-size, found+size
	}
	return sizes
}

// sharesWanted reports whether another share can begin. A queue may give the last first, and places are given in
// order: so no more shares wait than processes take soon, and those that come to help.
func (f *flow) sharesWanted() bool {
	return f.unpassed < 2*max(len(f.workers), 1)+usualWorkers && f.state.Paused == nil || !f.running()
}

// chunksLeft is how many chunks of a run that is split were not read, nor found, as far as its size tells.
func (f *flow) chunksLeft() int64 {
	if f.state.Bytes == 0 {
		return 0
	}
	return max(f.state.Plan.Bytes-f.state.Bytes, 0) * f.state.chunks() / f.state.Bytes
}
