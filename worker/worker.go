// Package worker registers everything that runs pipelines on a Temporal worker, and compiles documents for it.
package worker

import (
	"runtime"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/workflows"
)

// New returns a worker for the queue, not yet started. As many chunks are worked on at once as there are processors, and
// one more that waits for the disk.
func New(c client.Client, queue string, act *activities.Activities) worker.Worker {
	w := worker.New(c, queue, worker.Options{
		MaxConcurrentActivityExecutionSize: runtime.GOMAXPROCS(0) + 1,
	})
	w.RegisterWorkflowWithOptions(workflows.RunPipeline, workflow.RegisterOptions{Name: workflows.RunPipelineName})
	w.RegisterActivity(act)
	return w
}
