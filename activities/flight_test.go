package activities

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/tests/blank"
)

// work is what an activity does.
type work func(context.Context) (string, error)

// attempting begins an attempt at one activity, which does the work unless an earlier attempt's is there. Its end is
// that of the attempt, for a cause.
type attempting func(work work) (end context.CancelCauseFunc, results <-chan result)

// flying runs a test within an activity, because the attempts of one know who they are. Each attempt is ended by its
// own function. The execution is over if the test says so.
func flying(t *testing.T, over bool, test func(t *testing.T, attempt attempting)) {
	t.Helper()
	a := flyer(t)
	a.flights.over = func(context.Context) bool { return over }
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{})
	begin := func(ctx context.Context, work work) (context.CancelCauseFunc, <-chan result) {
		ctx, end := context.WithCancelCause(ctx)
		results := make(chan result, 1)
		go func() {
			var r result
			do := func(_ *Activities, ctx context.Context, _ string) (string, error) { return work(ctx) }
			r.out, r.err = anyAttempt(ctx, a, "r1", 0, "the same", do)
			results <- r
		}()
		return end, results
	}
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		test(t, func(work work) (context.CancelCauseFunc, <-chan result) {
			return begin(ctx, work)
		})
		return nil
	}, activity.RegisterOptions{Name: "Fly"})
	_, err := env.ExecuteActivity("Fly")
	require.NoError(t, err)
}

// flyer returns activities with a landscape of their own.
func flyer(t *testing.T) *Activities {
	t.Helper()
	driver, err := blank.Open(t.Context(), t.TempDir()+"/landscape.db")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	return New(landscape.New(driver, nil), nil, nil, "test")
}

type result struct {
	out string
	err error
}

// Temporal loses sight of an attempt: its work goes on, and the next attempt joins it.
func TestWorkOutlastsAnAttemptThatIsGivenUp(t *testing.T) {
	flying(t, false, func(t *testing.T, attempt attempting) {
		var computed atomic.Int64
		finish := make(chan struct{})
		work := func(ctx context.Context) (string, error) {
			computed.Add(1)
			select {
			case <-finish:
				return "done", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		lost := []error{serviceerror.NewNotFound("no such activity"), serviceerror.NewUnavailable("no connection")}
		for _, cause := range lost {
			end, first := attempt(work)
			end(cause)
			require.ErrorIs(t, (<-first).err, cause, "the attempt ends at once")
		}
		_, next := attempt(work)
		close(finish)
		require.Equal(t, result{out: "done"}, <-next)
		require.EqualValues(t, 1, computed.Load())

		_, late := attempt(work)
		require.Equal(t, result{out: "done"}, <-late, "a result that reached no attempt is there for the next one")
		require.EqualValues(t, 1, computed.Load())
	})
}

// Whoever orders an activity to stop gets that: its work ends before the attempt does.
func TestWorkEndsWhenItIsOrderedTo(t *testing.T) {
	ordered := []error{
		temporal.NewCanceledError(), worker.ErrWorkerShutdown, context.Canceled, context.DeadlineExceeded,
	}
	for _, cause := range ordered {
		flying(t, false, endsWork(cause))
	}
	flying(t, true, endsWork(serviceerror.NewNotFound("workflow execution already completed")))
}

// endsWork requires that work ends before its attempt does, which ends for a cause.
func endsWork(cause error) func(t *testing.T, attempt attempting) {
	return func(t *testing.T, attempt attempting) {
		t.Helper()
		var ended atomic.Bool
		end, first := attempt(func(ctx context.Context) (string, error) {
			<-ctx.Done()
			ended.Store(true)
			return "", context.Cause(ctx)
		})
		end(cause)
		require.Error(t, (<-first).err)
		require.True(t, ended.Load())
	}
}

// An activity that is scheduled again wants a new result, and one that failed is tried again.
func TestResultsAreForRepeats(t *testing.T) {
	flying(t, false, func(t *testing.T, attempt attempting) {
		for n, out := range []result{{err: errors.New("broken")}, {out: "one"}, {out: "two"}} {
			var again bool
			_, results := attempt(func(ctx context.Context) (string, error) {
				again = repeated(ctx)
				return out.out, out.err
			})
			got := <-results
			require.Equal(t, n == 2, again, "what succeeded, and was not taken, is done again")
			require.Equal(t, out.out, got.out, n)
			require.Equal(t, out.err == nil, got.err == nil, n)
		}
	})
}

// What an activity gave once is not what it gives when it is scheduled again, not even after an attempt that failed.
func TestResultsAreForWhatWasScheduled(t *testing.T) {
	a, asked := flyer(t), 0
	work := func(_ *Activities, _ context.Context, _ string) (int, error) {
		if asked++; asked == 2 {
			return 0, errors.New("broken")
		}
		return asked, nil
	}
	ask := func(ctx context.Context) (int, error) { return anyAttempt(ctx, a, "r1", 0, "the same", work) }
	asking := func(ctx workflow.Context) (got []int, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		for err == nil && len(got) < 2 {
			var one int
			err = workflow.ExecuteActivity(ctx, ask).Get(ctx, &one)
			got = append(got, one)
		}
		return got, err
	}
	require.Equal(t, []int{1, 3}, scheduling(t, asking, ask))
}

// What takes too long within a task is done by an activity, which takes the result. What is asked for later has one of
// its own.
func TestActivityTakesTheResultOfWhatTookTooLong(t *testing.T) {
	a, asked := flyer(t), 0
	late := make(chan struct{})
	work := func(_ *Activities, ctx context.Context, _ string) (int, error) {
		if asked++; asked > 1 {
			return asked, nil
		}
		select {
		case <-late:
			return asked, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	ask := func(ctx context.Context) (int, error) { return anyAttempt(ctx, a, "r1", 0, "the same", work) }
	asking := func(ctx workflow.Context) (got []int, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		once := workflow.LocalActivityOptions{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}}
		for _, once.StartToCloseTimeout = range []time.Duration{time.Millisecond, time.Minute} {
			var one int
			within := workflow.WithLocalActivityOptions(ctx, once)
			if err = workflow.ExecuteLocalActivity(within, ask).Get(ctx, &one); err != nil {
				close(late)
				err = workflow.ExecuteActivity(ctx, ask).Get(ctx, &one)
			}
			got = append(got, one)
		}
		return got, err
	}
	require.Equal(t, []int{1, 2}, scheduling(t, asking, ask))
}

// scheduling returns the result of a workflow that schedules an activity.
func scheduling(t *testing.T, asks, activity any) (got []int) {
	t.Helper()
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	env.RegisterActivity(activity)
	env.ExecuteWorkflow(asks)
	require.NoError(t, env.GetWorkflowError())
	require.NoError(t, env.GetWorkflowResult(&got))
	return got
}

// A defect is the error of the attempt, not the end of the process. What the process knew of the run may be half
// changed, and is learnt again.
func TestPanicIsThatOfTheAttempt(t *testing.T) {
	flying(t, false, func(t *testing.T, attempt attempting) {
		_, results := attempt(func(context.Context) (string, error) { panic("a defect") })
		_, ok := errors.AsType[*defect.Error]((<-results).err)
		require.True(t, ok)
		_, results = attempt(func(context.Context) (string, error) { return "done", nil })
		require.Equal(t, result{out: "done"}, <-results, "it is tried again")
	})
	a := flyer(t)
	known := &run{}
	a.keep(&run{id: "r1"})
	a.keep(known)
	_, err := fly(t.Context(), a, task{run: "r1"}, new(atomic.Pointer[string]), func(*Activities) (int, error) {
		return 0, joined(inParallel(3, func(i int) error {
			if i == 1 {
				panic("beside others")
			}
			return nil
		}))
	})
	_, ok := errors.AsType[*defect.Error](err)
	require.True(t, ok)
	require.Nil(t, a.runs.of("r1").run.Load())
	require.Same(t, known, a.runs.of("").run.Load(), "another run")
	require.Zero(t, a.runs.of("r1").busy)
}

// Work for which no attempt comes any more ends: its execution was terminated.
func TestLonelyWorkEnds(t *testing.T) {
	f := &flight{waiting: 1}
	ended := make(chan error, 1)
	f.cancel = func(cause error) { ended <- cause }
	new(flights).leave(f, false)
	require.NotNil(t, f.lonely)
	require.True(t, f.lonely.Reset(time.Millisecond), "it would have taken longer")
	require.ErrorIs(t, <-ended, errLonely)
}

// Who records that a run stops need not wait for what the run was doing, such as for a source that is silent.
func TestWorkEndsWhenItsRunStops(t *testing.T) {
	f := &flights{open: map[task]*flight{}}
	ended := map[task]error{}
	open := func(execution, run, activity string) task {
		of := task{execution: execution, run: run, activity: activity}
		f.open[of] = &flight{cancel: func(cause error) { ended[of] = cause }}
		return of
	}
	read := open("e1", "r1", "Read")
	open("e1", "r1", "StopRun")
	open("e1", "r1", "RecordAction")
	open("e1", "r2", "Read")
	open("e2", "r1", "Read")
	f.stop("e1", "r1")
	require.Equal(t, map[task]error{read: errStopping}, ended)

	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := fly(ctx, flyer(t), read, new(atomic.Pointer[string]), func(*Activities) (string, error) {
		cancel(errStopping)
		return "", context.Canceled
	})
	final, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, err)
	require.True(t, final.NonRetryable(), "it does not begin again")
}

// A process that ends leaves no work behind for which no attempt waits, and lets the rest come to its end.
func TestWorkLands(t *testing.T) {
	a := &Activities{flights: new(flights)}
	a.flights.landed, _ = simplelru.NewLRU[task, *flight](2, nil)
	finish := make(chan struct{}) // the attended work's end: after the lonely one's, so that Land waits for both
	open := func(name string, waiting int, work func(context.Context) error) *flight {
		ctx, cancel := context.WithCancelCause(t.Context())
		f := &flight{done: make(chan struct{}), cancel: cancel, waiting: waiting}
		go func() {
			f.err = work(ctx)
			a.flights.land(task{activity: name}, f)
		}()
		return f
	}
	lonely := open("lonely", 0, func(ctx context.Context) error {
		<-ctx.Done()
		close(finish)
		return context.Cause(ctx)
	})
	attended := open("attended", 1, func(ctx context.Context) error {
		<-finish
		return context.Cause(ctx)
	})
	a.flights.open = map[task]*flight{{activity: "lonely"}: lonely, {activity: "attended"}: attended}
	Land(a)
	require.Empty(t, a.flights.open)
	require.ErrorIs(t, lonely.err, errLonely)
	require.NoError(t, attended.err)
	Land(a)
}
