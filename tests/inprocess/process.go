package inprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/plugin"
	"waymark/tests/started"
	"waymark/workflows"
)

// Kind says what a process does to the world.
type Kind string

// The kinds.
const (
	Commit  Kind = "commit"  // a transaction of the record
	Put     Kind = "put"     // of a payload
	Open    Kind = "open"    // of a target, as all that follow
	Write   Kind = "write"   // of a part
	Check   Kind = "check"   // whether a part is there
	Publish Kind = "publish" // of an output
	Discard Kind = "discard" // of what was staged
)

// Deed is something that a process is about to do to the world.
type Deed struct {
	Kind    Kind
	Sink    string       // of a target; else ""
	Ordinal int64        // of a part; else -1
	Batch   landscape.Tx // of a commit; else zero
}

// Fate decides whether a deed is done, and the error that the process sees; if there is none, it sees that of the deed. A lost
// request is (false, err), a lost reply (true, err). It is called by several goroutines at once.
type Fate func(Deed) (done bool, err error)

// ErrGone is what a process sees of the world after it died. No retry cures it.
var ErrGone = fmt.Errorf("the process is gone: %w", landscape.ErrReadOnly)

// process is one life of a program: whatever it does after its end is not done.
type process struct {
	alive sync.RWMutex // held to read while something is done
	gone  bool
	fate  Fate
	done  func(Deed)
}

func (p *process) do(deed Deed, do func() error) error {
	p.alive.RLock()
	defer p.alive.RUnlock()
	if p.gone {
		return ErrGone
	}
	done, err := true, error(nil)
	if p.fate != nil {
		done, err = p.fate(deed)
	}
	if !done {
		return err
	}
	if failed := do(); failed != nil {
		return errors.Join(err, failed)
	}
	if p.done != nil {
		p.done(deed)
	}
	return err
}

// end waits for what is being done. Nothing is done afterwards.
func (p *process) end() {
	p.alive.Lock()
	defer p.alive.Unlock()
	p.gone = true
}

// execute lets a new process work on a run until its workflow ends, in as many executions as it takes.
func (r *Record) execute(t testing.TB, in workflows.RunInput, listen func(*testsuite.TestWorkflowEnvironment)) error {
	t.Helper()
	p := &process{fate: r.Fate, done: r.Done}
	defer p.end()
	log, payloads := r.log(driver{r.store, p}), payload.New(objects{r.objects, p}, payload.Options{})
	work := activities.NewAt(activities.Affinity{Split: r.Split}, log, payloads, planner{r.Planner, p}, "test")
	for {
		err := r.executeOnce(work, in, listen)
		var next *workflow.ContinueAsNewError
		if !errors.As(err, &next) {
			return err
		}
		in = workflows.RunInput{}
		if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
			return err
		}
		r.Continued = append(r.Continued, in)
	}
}

// executeOnce executes a workflow in an environment whose time begins where that of the one before ended.
func (r *Record) executeOnce(work *activities.Activities, in workflows.RunInput, listen func(*testsuite.TestWorkflowEnvironment)) error {
	sdkworker.SetBinaryChecksum("test") // or else the SDK reads the whole binary of the tests
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(patience)
	env.SetWorkerOptions(sdkworker.Options{DeadlockDetectionTimeout: patience, BackgroundActivityContext: started.Context("tester")}) // on a busy machine the usual second is nothing
	env.SetStartTime(r.now)
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: workflows.WorkflowID(in.Run)})
	if in.State != nil {
		env.SetContinuedExecutionRunID("the one before")
	}
	env.RegisterWorkflow(workflows.RunPipeline)
	env.RegisterActivity(work)
	if listen != nil {
		listen(env)
	}
	env.ExecuteWorkflow(workflows.RunPipeline, in)
	r.now = env.Now()
	if err := env.GetWorkflowError(); err != nil {
		return err
	}
	return env.GetWorkflowResult(&r.Result)
}

// driver is a landscape whose writes are a process's deeds.
type driver struct {
	landscape.Driver
	process *process
}

func (d driver) Commit(ctx context.Context, b landscape.Tx) error {
	return d.process.do(Deed{Kind: Commit, Ordinal: -1, Batch: b}, func() error { return d.Driver.Commit(ctx, b) })
}

// objects is a payload store whose writes are a process's deeds.
type objects struct {
	payload.Backend
	process *process
}

func (o objects) Write(ctx context.Context, key string, data []byte) error {
	return o.process.do(Deed{Kind: Put, Ordinal: -1}, func() error { return o.Backend.Write(ctx, key, data) })
}

// planner compiles documents to plans in which whatever is done to targets is a process's deed.
type planner struct {
	recompute.Planner
	process *process
}

func (p planner) Plan(request plan.Request) (*plan.Plan, error) {
	compiled, err := p.Planner.Plan(request)
	if err != nil {
		return nil, err
	}
	for _, i := range compiled.Sinks() {
		node := &compiled.Nodes[i]
		node.Sink = sink{node.Sink, node.Name, p.process}
	}
	return compiled, nil
}

type sink struct {
	plugin.Sink
	name    string
	process *process
}

func (s sink) Target(run string) plugin.Target {
	t := target{s.Sink.Target(run), s.name, s.process}
	if rejecter, ok := t.Target.(plugin.RowRejecter); ok {
		return rejecting{t, rejecter}
	}
	return t
}

// rejecting is a target that can reject single rows.
type rejecting struct {
	target
	rejecter plugin.RowRejecter
}

func (t rejecting) Rejected(ctx context.Context, part plugin.Part) ([]plugin.RejectedRow, error) {
	return t.rejecter.Rejected(ctx, part)
}

type target struct {
	plugin.Target
	sink    string
	process *process
}

func (t target) Open(ctx context.Context, header []byte) (made bool, err error) {
	err = t.process.do(Deed{Kind: Open, Sink: t.sink, Ordinal: -1}, func() (err error) {
		made, err = t.Target.Open(ctx, header)
		return err
	})
	return made, err
}

func (t target) Write(ctx context.Context, part plugin.Part, data []byte) error {
	return t.process.do(Deed{Kind: Write, Sink: t.sink, Ordinal: part.Ordinal}, func() error { return t.Target.Write(ctx, part, data) })
}

func (t target) Check(ctx context.Context, part plugin.Part) (answer plugin.Applied, err error) {
	err = t.process.do(Deed{Kind: Check, Sink: t.sink, Ordinal: part.Ordinal}, func() (err error) {
		answer, err = t.Target.Check(ctx, part)
		return err
	})
	return answer, err
}

func (t target) Publish(ctx context.Context, header []byte, parts []plugin.Part) (artifact plugin.Artifact, err error) {
	err = t.process.do(Deed{Kind: Publish, Sink: t.sink, Ordinal: -1}, func() (err error) {
		artifact, err = t.Target.Publish(ctx, header, parts)
		return err
	})
	return artifact, err
}

func (t target) Discard(ctx context.Context) error {
	return t.process.do(Deed{Kind: Discard, Sink: t.sink, Ordinal: -1}, func() error { return t.Target.Discard(ctx) })
}
