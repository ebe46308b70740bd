// Package client starts, resumes, forks, retries, follows and cancels runs, and answers questions about them. It is what the command line
// is built on; package client/local executes runs in the process that uses it. The structs of answers are what `waymark --json` prints:
// their JSON names are one schema.
package client

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"waymark/audit"
	"waymark/audit/compare"
	"waymark/landscape"
	"waymark/landscape/persons"
	"waymark/pipeline"
	"waymark/workflows"
)

// Client answers questions about the runs of one landscape. It is safe for concurrent use if its host is. What somebody can act on is an
// *Error: of every method that takes a context, one of kind Interrupted if that ends, of every one that takes a run, or its id, one of kind
// NotFound if that is not recorded, and of kind Unavailable after Close, or while a service that must answer is away.
type Client struct {
	log   *landscape.Log
	place string
	host  Host

	closed      atomic.Bool
	comparisons *lru.Cache[comparedRuns, *compare.Comparison] // that were made last

	// Actor is who gives the orders and makes the requests that do not say who does; empty if all say so.
	Actor string

	// Approvers returns whose keys may sign off runs; nil if nobody says: then what is recorded beside each signature is taken.
	Approvers func() (*persons.Approvers, error)
}

// New returns a Client of a landscape. place says where that is, for people. The caller closes the landscape.
func New(log *landscape.Log, place string, host Host) *Client {
	return &Client{log: log, place: place, host: host, comparisons: newComparisons()}
}

// Place returns where the landscape is, for people.
func (c *Client) Place() string { return c.place }

// Close ends the use of the Client: from then on its methods refuse what is asked. The caller closes the landscape and the host.
func (c *Client) Close() { c.closed.Store(true) }

// Closed returns the *Error of kind Unavailable with which a closed Client refuses; nil until Close.
func (c *Client) Closed() error {
	if !c.closed.Load() {
		return nil
	}
	return &Error{Kind: Unavailable, Code: HomeClosed, Message: "this Home is closed: open another one"}
}

// Host is what executes runs: processes that use the state folder, or the workers of a cluster.
type Host interface {
	// Executes reports whether somebody executes a run that is running according to its record; nil if that is not known.
	Executes(ctx context.Context, run string) *bool

	// Continues reports whether the next process that serves continues a run that nobody executes now, as far as that is known.
	Continues(ctx context.Context, run string) bool

	// Reach connects to what executes runs besides this process; nil if nobody does. The caller closes the Executor.
	Reach(ctx context.Context) (*Executor, error)

	// Auditor returns what answers questions about rows and verifies runs. The error is an *Error of kind NotFound if the payload store is
	// not there. The Auditor is not used after the host is closed.
	Auditor(ctx context.Context) (*audit.Auditor, error)

	// Deposit opens what versions of pipelines are made with; with create, it makes a payload store that is missing. It is not used after the
	// host is closed.
	Deposit(ctx context.Context, create bool) (*Deposit, error)

	// Session opens what executes runs. The error is an *Error of kind Busy if another process does. The caller closes the Session.
	Session(ctx context.Context, purpose Purpose) (*Session, error)
}

// Purpose says what a Session is for.
type Purpose int

// The purposes.
const (
	ToStart  Purpose = iota // runs: what is missing is made
	ToResume                // a recorded run: nothing is made
	ToCancel                // a recorded run: the payload store need not be there
)

// WithExecutor finds what executes the run, besides this process, and does something with it. It returns false if nobody does.
func WithExecutor(ctx context.Context, host Host, run string, do func(*Executor) error) (found bool, err error) {
	executor, err := host.Reach(ctx)
	if err != nil || executor == nil {
		return false, err
	}
	defer executor.Close()
	found, err = executor.Executes(ctx, run)
	if err != nil || !found {
		return false, err
	}
	return true, do(executor)
}

// Find returns the run that word names: its id, or else the id of the workflow that somebody started for it, or else a prefix of its id that no other run
// has, or pipeline.LastRun. The error is an *Error of kind NotFound if there is none, Failed if it was asked for and did not begin, and Invalid if
// several have the prefix.
func (c *Client) Find(ctx context.Context, word string) (run landscape.Run, err error) {
	defer c.edge(ctx, &err)
	if word == pipeline.LastRun {
		newest, err := c.newest(ctx)
		if err != nil {
			return landscape.Run{}, err
		}
		word = newest
	}
	if run, err = c.log.Run(ctx, word); err == nil || !errors.Is(err, landscape.ErrNotFound) {
		return run, err
	}
	switch start, unknown := c.log.StartOfWorkflow(ctx, word); {
	case unknown == nil && start.State == landscape.StartBegun:
		return c.log.Run(ctx, start.Run)
	case unknown == nil: // what begins with the same word is something else
		return landscape.Run{}, c.unrecorded(ctx, word, noRun(word, c.place, err))
	case !errors.Is(unknown, landscape.ErrNotFound):
		return landscape.Run{}, unknown
	}
	run, err = c.log.FindRun(ctx, word)
	_, ambiguous := errors.AsType[*landscape.AmbiguousError](err)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return run, c.unrecorded(ctx, word, noRun(word, c.place, err))
	case ambiguous:
		return run, &Error{Kind: Invalid, Code: AmbiguousRun, Message: err.Error(), Err: err}
	}
	return run, err
}

// FindBegun is Find for an order that only a run obeys that has begun. The error is of kind Conflict for one that waits for places.
func (c *Client) FindBegun(ctx context.Context, word string) (run landscape.Run, err error) {
	run, missing := c.Find(ctx, word)
	if missing == nil || word == pipeline.LastRun {
		return run, missing
	}
	if known, ok := errors.AsType[*Error](missing); ok && (known.Cure == ServeOrCancel || known.Cure == CancelAndRun) { // nobody is there to refuse it
		return run, missing
	}
	waiting, err := c.Waits(ctx, word)
	if err != nil || waiting == nil {
		return run, missing
	}
	return run, &Error{Kind: Conflict, Code: RunQueued, Message: workflows.OnlyCancelled(waiting.Run), Run: waiting.Run, Err: missing}
}

func (c *Client) newest(ctx context.Context) (id string, err error) {
	runs, err := c.log.RecentRuns(ctx, nil, 1)
	if err != nil {
		return "", err
	}
	if len(runs) == 0 {
		return "", &Error{Kind: NotFound, Code: RunNotFound, Message: "no run is recorded in " + c.place, Err: landscape.ErrNotFound}
	}
	return runs[0].ID, nil
}

// NewestFirst orders runs, the last to start first.
func NewestFirst(a, b landscape.RunHead) int {
	return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(b.ID, a.ID))
}
