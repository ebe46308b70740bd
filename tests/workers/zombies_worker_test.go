package workers_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/worker"
	"waymark/workflows"
)

// workForRuns works for runs, on a Temporal server that others share, until the process is told to end. It comes to
// failpoints, so that it can be stopped at a moment. It returns the exit code.
func workForRuns(args []string) int {
	failpoint.Arm()
	flags := flag.NewFlagSet("worker", flag.ExitOnError)
	address := flags.String("address", "", "of the Temporal server")
	queue := flags.String("queue", "", "task queue")
	state := flags.String("state", "", "folder with landscape.db and payloads; empty: decide, and do nothing")
	deaf := flags.Bool("deaf", false, "do not hear that an attempt is not wanted any more")
	atOnce := flags.Int("at-once", 1, "how many activities are worked on at the same time")
	_ = flags.Parse(args) // or else the process ends
	if err := work(*address, *queue, *state, workerOptions(*state, *deaf, *atOnce)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// workerOptions are those of a worker that decides if there is no state, and else does what was decided.
func workerOptions(state string, deaf bool, atOnce int) sdkworker.Options {
	o := sdkworker.Options{
		WorkerStopTimeout: patience, MaxConcurrentActivityExecutionSize: atOnce,
		LocalActivityWorkerOnly: state == "", DisableWorkflowWorker: state != "",
	}
	if deaf {
		o.Interceptors = []interceptor.WorkerInterceptor{new(deafness)}
	}
	return o
}

// deafness lets activities go on that Temporal has given up.
type deafness struct {
	interceptor.WorkerInterceptorBase
}

func (*deafness) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	deaf := new(deafActivity)
	deaf.Next = next
	return deaf
}

type deafActivity struct {
	interceptor.ActivityInboundInterceptorBase
}

func (d *deafActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	return d.Next.ExecuteActivity(context.WithoutCancel(ctx), in)
}

// work works until the process is told to end, and then ends what it began.
func work(address, queue, state string, o sdkworker.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	sdkworker.SetBinaryChecksum("test")
	logger := sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Logger: logger})
	if ctx.Err() != nil { // it was told to end before it began anything
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	w := sdkworker.New(c, queue, o)
	if state == "" {
		w.RegisterWorkflowWithOptions(workflows.RunPipeline, workflow.RegisterOptions{Name: workflows.RunPipelineName})
		return runUntil(ctx, w)
	}
	act, closeAll, err := openState(context.WithoutCancel(ctx), state)
	if err != nil {
		return err
	}
	w.RegisterActivity(act)
	err = runUntil(ctx, w)
	activities.Land(act)
	return errors.Join(err, closeAll())
}

func runUntil(ctx context.Context, w sdkworker.Worker) error {
	if err := w.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	w.Stop()
	return nil
}

func openState(ctx context.Context, state string) (*activities.Activities, func() error, error) {
	driver, err := sqlitestore.Open(ctx, filepath.Join(state, "landscape.db"), sqlitestore.Options{})
	if err != nil {
		return nil, nil, err
	}
	objects, err := fsstore.Open(filepath.Join(state, "payloads"))
	if err != nil {
		return nil, nil, errors.Join(err, driver.Close())
	}
	log, payloads := landscape.New(driver, nil), payload.New(objects, payload.Options{})
	closeAll := func() error { return errors.Join(objects.Close(), driver.Close()) }
	return activities.New(log, payloads, worker.Planner{}, "test"), closeAll, nil
}
