// Package local executes runs in this process: Temporal's server, the landscape and the payload store live in a state folder. It is what
// `waymark run` uses, and what a Go program uses that wants the same:
//
//	home, err := local.Open(ctx, local.Options{State: ".waymark"})
//	…
//	defer home.Close()
//	execution, err := home.Start(ctx, client.StartRequest{File: "pipeline.yaml"})
//	…
//	status, err := execution.Wait(ctx)
//
// With Options.Cluster the workers of a cluster execute the runs, and this process starts and follows them.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"waymark/audit"
	"waymark/audit/evidence"
	"waymark/client"
	"waymark/internal/memory"
	"waymark/internal/temporal/embedded"
	"waymark/payload"
	"waymark/worker"
	"waymark/worker/runlog"
	"waymark/worker/storage"
	"waymark/workflows"
)

// Home is a landscape, its payload store, and what executes its runs. Its methods may be called concurrently. Until the first run is
// started or resumed, other processes may execute runs in the state folder; from then on, until Close, this one does.
type Home struct {
	*client.Client
	options Options
	stores  *storage.Storage

	active     sync.Map      // ids of runs that this process executes
	starting   chan struct{} // is full while a session waits for its turn, or starts the server
	mu         sync.Mutex
	planner    *worker.Planner    // nil until it is needed
	connection *client.Connection // nil until the first session, or the first question to a cluster
	stop       func() error       // of the connection
	permitted  bool               // this process may work for runs
	evidence   *evidence.Evidence // nil until this process may write
	notarize   func()             // ends the notary, after a last pass
	attendance *attendance        // which runs of the cluster are executed
	told       runlog.Keeper      // what is logged about runs
}

// Open opens the landscape and the payload store, and makes what is missing in the state folder. With Options.Existing it makes nothing,
// and the payload store is opened when it is needed. The error is an *Error: of kind NotFound if something is missing that must be there,
// Invalid if a URL names no storage, Unavailable if a service or the state folder cannot be used, and Interrupted if ctx ends. Close the Home
// when its runs have ended.
func Open(ctx context.Context, o Options) (_ *Home, err error) {
	defer func() { err = client.UnlessAway(err) }()
	o = o.filled()
	h := &Home{options: o, starting: make(chan struct{}, 1)}
	h.options.Logger = slog.New(h.told.Handler(o.Logger.Handler()))
	h.attendance = newAttendance(h.openRuns(), h.isOpen)
	if err := checkAnchors(o.LogAnchors...); err != nil {
		return nil, err
	}
	if o.Existing {
		stores, err := o.openLandscape(ctx)
		if err != nil {
			return nil, err
		}
		return h.with(stores), nil
	}
	if err := o.removed(); err != nil { // before anything is made
		return nil, err
	}
	if o.Cluster == nil {
		if err := o.State.make(); err != nil {
			return nil, err
		}
	}
	if _, err := h.plannerFor(client.ToStart); err != nil {
		return nil, err
	}
	stores, err := storage.Open(ctx, o.storage(true))
	if err != nil {
		return nil, o.worded(ctx, err)
	}
	if o.Cluster == nil {
		o.State.close()
		if _, err := evidence.Compare(ctx, stores.Log.Reader, o.evidence()); err != nil {
			return nil, errors.Join(o.wordedLog(ctx, err), stores.Close())
		}
	}
	return h.with(stores), nil
}

func (h *Home) with(stores *storage.Storage) *Home {
	h.stores = stores
	h.Client = client.New(stores.Log, stores.Place, h)
	h.Actor, h.Approvers = h.options.Actor, h.options.approvers
	return h
}

// plannerFor returns what compiles documents.
func (h *Home) plannerFor(purpose client.Purpose) (worker.Planner, error) {
	if h.planner == nil {
		planner, err := h.options.Planner(purpose)
		if err != nil {
			return worker.Planner{}, err
		}
		planner.Delivered = h.delivered
		h.planner = &planner
	}
	return *h.planner, nil
}

// lockedPlanner is plannerFor for who does not hold mu.
func (h *Home) lockedPlanner(purpose client.Purpose) (worker.Planner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plannerFor(purpose)
}

// delivered returns the payload that holds a delivery of a webhook.
func (h *Home) delivered(ctx context.Context, digest string) ([]byte, error) {
	return h.stores.Delivered(ctx, digest)
}

// payloads opens the payload store, if it is not open yet.
func (h *Home) payloads(ctx context.Context, create bool) error {
	if h.stores.Payloads != nil {
		return nil
	}
	return h.options.openPayloads(ctx, h.stores, create)
}

// Auditor does what client.Host says. It is not safe for concurrent use; Explain, WhyNot and Verify have one of their own each.
func (h *Home) Auditor(ctx context.Context) (*audit.Auditor, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.Closed(); err != nil {
		return nil, err
	}
	if err := h.payloads(ctx, false); err != nil {
		return nil, err
	}
	planner, err := h.plannerFor(client.ToResume)
	if err != nil {
		return nil, err
	}
	return audit.New(h.stores.Log.Reader, h.stores.Payloads, everywhere(planner)), nil
}

// everywhere is a planner for who compiles recorded documents, and opens none of the files that they name: wherever these are.
func everywhere(planner worker.Planner) worker.Planner {
	planner.Allow = append(slices.Clone(planner.Allow), string(filepath.Separator))
	planner.Confined = false
	return planner
}

// Deposit does what client.Host says.
func (h *Home) Deposit(ctx context.Context, create bool) (*client.Deposit, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.Closed(); err != nil {
		return nil, err
	}
	purpose := client.ToResume
	if create {
		purpose = client.ToStart
	}
	planner, err := h.plannerFor(purpose)
	if err == nil {
		err = h.payloads(ctx, create)
	}
	if err != nil {
		return nil, err
	}
	return &client.Deposit{Payloads: h.stores.Payloads, Planner: planner, Code: h.options.build().Code()}, nil
}

// Doctor does what Options.Doctor does, for what the Home was opened with. Once this process executes runs, the Temporal server is found in
// use by it.
func (h *Home) Doctor(ctx context.Context) []client.Check { return h.options.Doctor(ctx) }

// Repair does what Options.Repair does, for what the Home was opened with.
func (h *Home) Repair(ctx context.Context) []client.Check { return h.options.Repair(ctx) }

// Close stops the Temporal server, or closes the connection to the cluster, and closes the stores. Runs that this process still executes
// are stopped where they are, as by a kill; they can be resumed. Repeating it changes nothing. What is asked afterwards is refused with an
// *client.Error of kind Unavailable.
func (h *Home) Close() error {
	h.attendance.close() // before the lock: it may be about to connect
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Closed() != nil {
		return nil
	}
	h.Client.Close()
	var err error
	if h.stop != nil {
		err, h.stop, h.connection = h.stop(), nil, nil
	}
	if h.notarize != nil {
		h.notarize()
		for _, why := range h.evidence.Notary.Failed() {
			h.options.Warn("signed heads of the log wait: " + why.Error())
		}
	}
	ctx, done := context.WithTimeout(context.Background(), client.AnswerTimeout)
	defer done()
	if untold := h.told.Close(ctx); untold != nil {
		h.options.Warn("what was logged about runs is not recorded: " + untold.Error())
	}
	return errors.Join(err, h.stores.Close())
}

// Executes does what client.Host says. In a state folder one process executes runs, and its lock says nothing about the runs of a landscape
// elsewhere; one that does not serve leaves those to the next that does. On a cluster every run has a workflow, and nobody executes one that has none,
// or whose workflow ended.
func (h *Home) Executes(ctx context.Context, run string) *bool {
	switch {
	case h.options.Cluster != nil:
		return h.attendance.executes(ctx, run)
	case !h.options.private():
		return nil
	}
	process, held, err := embedded.Holder(h.options.State.Temporal())
	if err != nil {
		return nil
	}
	if held && process.Address != "" && process.Queue == "" {
		held = !h.Continues(ctx, run)
	}
	return &held
}

// Continues does what client.Host says.
func (h *Home) Continues(ctx context.Context, run string) bool {
	if h.options.Cluster != nil {
		return false
	}
	queue, err := embedded.OpenQueue(ctx, h.options.State.Temporal(), workflows.WorkflowID(run))
	return err == nil && queue != "" && queue != workflows.ProcessQueue(run)
}

// openRuns returns what lists the open workflows of runs on the cluster. It warns once each time that the cluster
// becomes silent.
func (h *Home) openRuns() func(context.Context) (map[string]bool, error) {
	var silent atomic.Bool
	return func(ctx context.Context) (map[string]bool, error) {
		connection, err := h.dialed(ctx)
		var open map[string]bool
		if err == nil {
			open, err = openOn(ctx, connection)
		}
		if before := silent.Swap(err != nil); err != nil && !before && h.Closed() == nil {
			h.options.Warn(fmt.Sprintf("whether somebody executes runs is unknown: %v", err))
		}
		return open, err
	}
}

// isOpen reports whether the run has an open workflow on the cluster.
func (h *Home) isOpen(ctx context.Context, run string) (bool, error) {
	connection, err := h.dialed(ctx)
	if err != nil {
		return false, err
	}
	return connection.Open(ctx, run)
}

// dialed returns the connection to the cluster. Who waits for a cluster that is silent keeps nobody from anything else.
func (h *Home) dialed(ctx context.Context) (*client.Connection, error) {
	present := func(made *client.Connection) (*client.Connection, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if err := h.Closed(); err != nil {
			return nil, err
		}
		if h.connection == nil && made != nil {
			h.keep(made)
		}
		return h.connection, nil
	}
	connection, err := present(nil)
	if connection != nil || err != nil {
		return connection, err
	}
	made, err := h.options.Cluster.Dial(ctx, h.options.identity())
	if err != nil {
		return nil, err
	}
	if connection, err = present(made); connection != made { // another one was faster, or the Home is closed
		made.Temporal.Close()
	}
	return connection, err
}

// Reach does what client.Host says: it connects to the process that uses the state folder, or to the cluster.
func (h *Home) Reach(ctx context.Context) (*client.Executor, error) {
	cluster := h.options.Cluster
	if cluster == nil {
		return h.reachProcess(ctx)
	}
	connection, err := h.dialed(ctx)
	if err == nil {
		connection, err = cluster.Share(ctx, connection)
	}
	if err != nil {
		return nil, err
	}
	return &client.Executor{Connection: connection, Queue: cluster.TaskQueue(), Gone: cluster.Gone}, nil
}

// reachProcess connects to the process that executes runs in the state folder, which may be this one.
func (h *Home) reachProcess(ctx context.Context) (*client.Executor, error) {
	executor, err := h.options.State.Reach(ctx, h.options.databases())
	if executor != nil && executor.Process == os.Getpid() && h.serves() {
		executor.Active = &h.active
	}
	return executor, err
}

// serves reports whether this Home has a Temporal server of its own.
func (h *Home) serves() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.connection != nil
}

// Session does what client.Host says. The sessions of a Home share its connection, which stays until Close.
func (h *Home) Session(ctx context.Context, purpose client.Purpose) (*client.Session, error) {
	select {
	case h.starting <- struct{}{}:
		defer func() { <-h.starting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	turn, err := h.turn(ctx, purpose)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	o := &h.options
	planner, err := h.prepare(ctx, purpose)
	if err != nil {
		if turn != nil {
			err = errors.Join(err, turn.Release())
		}
		return nil, err
	}
	if err := h.connect(ctx, turn); err != nil {
		return nil, err
	}
	h.told.To(h.stores.Log)
	s := &client.Session{
		Connection: h.connection, Log: h.stores.Log, Planner: planner, Code: o.build().Code(), Place: h.stores.Place,
		Databases: o.databases(), Private: o.private(), Actor: o.Actor, Warn: o.Warn, Active: &h.active,
		Payloads: func(ctx context.Context) (*payload.Store, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			err := h.payloads(ctx, purpose == client.ToStart)
			return h.stores.Payloads, err
		},
		Release: func() error {
			h.attendance.forget() // a run that was resumed is executed again
			return nil
		},
	}
	if o.Cluster != nil {
		s.Queue, s.Files, s.Gone = o.Cluster.TaskQueue(), o.Cluster.Files, o.Cluster.Gone
	} else {
		s.State = o.State.File("")
	}
	return s, nil
}

// StoreInput stores standard input for a run of this process, as client.StoreInput does. Close it.
func (h *Home) StoreInput(ctx context.Context, run string, input io.Reader) (*client.Input, error) {
	planner, err := h.lockedPlanner(client.ToStart)
	if err != nil {
		return nil, err
	}
	return client.StoreInput(ctx, planner.InputFile(run), input)
}

// turn waits for the turn of this process to start a Temporal server in the state folder; nil if it needs none, or has
// one. What refuses the session is looked at before. Meanwhile others may use the Home.
func (h *Home) turn(ctx context.Context, purpose client.Purpose) (*embedded.Lock, error) {
	if err := h.admit(ctx, purpose); err != nil || h.options.Cluster != nil || h.serves() {
		return nil, err
	}
	return h.options.State.take(ctx, h.options.Turn)
}

// admit opens and makes what the session needs before it is its turn. A process that works for runs itself must be
// allowed to write the landscape; the state folder is not there if the landscape lies elsewhere.
func (h *Home) admit(ctx context.Context, purpose client.Purpose) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.Closed(); err != nil {
		return err
	}
	if purpose != client.ToCancel {
		if err := h.payloads(ctx, purpose == client.ToStart); err != nil {
			return err
		}
	}
	if err := h.mayWork(ctx); err != nil || h.options.Cluster != nil {
		return err
	}
	return h.options.State.Make()
}

// prepare opens what the session needs.
func (h *Home) prepare(ctx context.Context, purpose client.Purpose) (planner worker.Planner, err error) {
	if err := h.Closed(); err != nil { // meanwhile
		return planner, err
	}
	if err := h.openLog(ctx); err != nil {
		return planner, err
	}
	if purpose != client.ToCancel && h.options.Cluster == nil && h.evidence.Revoked { // the entries of other runs are the workers'; one that ends here ends without a seal
		return planner, noEntry(h.evidence.Unsealed)
	}
	return h.plannerFor(purpose)
}

// mayWork refuses a landscape that this process may not write, if it works for runs itself. It tells the owner of the landscape that he need
// not.
func (h *Home) mayWork(ctx context.Context) error {
	if h.permitted || h.options.Cluster != nil {
		return nil
	}
	if err := h.stores.MayWrite(ctx); err != nil {
		return err
	}
	warning, err := h.stores.OwnerWarning(ctx)
	if warning != "" {
		h.options.Warn(warning)
	}
	h.permitted = err == nil
	return err
}

// connect connects to the cluster, or to a Temporal server that it starts in this process, whose turn it is.
func (h *Home) connect(ctx context.Context, turn *embedded.Lock) error {
	if h.connection != nil {
		return nil
	}
	if h.options.Cluster != nil {
		return h.dial(ctx)
	}
	lift := func() {}
	if h.options.LimitMemory {
		lift = memory.Limit(runBytes, 200)
	}
	connection, stop, err := h.options.State.connect(ctx, turn, h.options.identity(), h.options.Logger, h.told.ClientOptions)
	if err != nil {
		lift()
		return err
	}
	h.connection, h.stop = connection, func() error {
		defer lift()
		return stop()
	}
	return nil
}

// runBytes is for a process that executes runs, Temporal's server included. Measured with 1 M rows of 10 columns: 302, 310 and 384 MB of
// resident memory with limits of 160, 180 and 240 MB, and the same CPU time to a twentieth.
const runBytes = 180 << 20

// dial connects to the cluster.
func (h *Home) dial(ctx context.Context) error {
	if h.connection != nil {
		return nil
	}
	connection, err := h.options.Cluster.Dial(ctx, h.options.identity())
	if err == nil {
		h.keep(connection)
	}
	return err
}

// keep has the Home use a connection to the cluster until Close.
func (h *Home) keep(connection *client.Connection) {
	h.connection, h.stop = connection, func() error { connection.Temporal.Close(); return nil }
}
