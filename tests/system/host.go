package system

import (
	"context"
	"sync"

	sdk "go.temporal.io/sdk/client"

	"waymark/audit"
	"waymark/client"
	"waymark/payload"
	"waymark/worker"
	"waymark/workflows"
)

// host lets the members of a System execute the runs of its client, as the workers of a cluster do.
type host struct {
	*System
	files string
}

func (host) Executes(context.Context, string) *bool { return nil } // is not known

func (host) Continues(context.Context, string) bool { return false }

func (h host) Reach(context.Context) (*client.Executor, error) {
	o := h.options()
	c, err := sdk.NewClientFromExisting(h.Temporal, o) // the Executor closes it
	connection := client.Connect(c, o, "the Temporal server of the test")
	return &client.Executor{Connection: connection, Queue: workflows.TaskQueue}, err
}

func (h host) Auditor(context.Context) (*audit.Auditor, error) {
	return audit.New(h.Log.Reader, h.Payloads, h.Planner), nil
}

func (h host) Deposit(context.Context, bool) (*client.Deposit, error) {
	planner, _ := h.Planner.(worker.Planner)
	return &client.Deposit{Payloads: h.Payloads, Planner: planner, Code: "test"}, nil
}

func (h host) Session(context.Context, client.Purpose) (*client.Session, error) {
	planner, _ := h.Planner.(worker.Planner) // one of a test's own is for the members only
	return &client.Session{
		Connection: client.Connect(h.Temporal, h.options(), "the Temporal server of the test"),
		Log:        h.Log,
		Planner:    planner,
		Code:       "test",
		Payloads:   func(context.Context) (*payload.Store, error) { return h.Payloads, nil },
		Place:      "the landscape of the test",
		Queue:      workflows.TaskQueue,
		Files:      h.files,
		Actor:      "tester",
		Warn:       func(string) {},
		Active:     new(sync.Map),
		Release:    func() error { return nil },
	}, nil
}
