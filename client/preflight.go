package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/activities/bundle"
	"waymark/internal/temporal/belonging"
	"waymark/workflows"
)

// Preflight says how the sources and sinks of a version were found where its runs will be executed.
type Preflight struct {
	activities.Preflight

	Worker  bool   `json:"worker"`            // a worker looked; else this process
	Skipped string `json:"skipped,omitempty"` // why nobody looked
}

// preflightTimeout is how long a worker may take to look.
const preflightTimeout = 45 * time.Second

// preflight looks at what a version would read and write, with the eyes of a worker if there are any. What they look at must be stored for that.
func (c *Client) preflight(ctx context.Context, deposit *Deposit, made bundle.Bundle, doc *Document, environment string) (found Preflight, err error) {
	executor, err := c.host.Reach(ctx)
	if err != nil {
		return found, err
	}
	if executor != nil {
		defer executor.Close()
	}
	switch {
	case executor == nil || executor.Queue == "":
		return Preflight{Preflight: activities.Look(ctx, doc.Plan)}, nil
	case executor.Unattended(ctx, executor.Queue):
		return Preflight{Skipped: "no worker listens on queue " + executor.Queue}, nil
	}
	if err := bundle.Put(ctx, deposit.Payloads, made); err != nil {
		return found, err
	}
	in := activities.PreflightInput{Bundle: string(made.Manifest().Digest()), Environment: environment, Params: doc.Params}
	id, err := c.log.ID(ctx)
	if err != nil {
		return found, err
	}
	found.Worker = true
	found.Preflight, err = executor.preflight(belonging.With(ctx, id), in)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return Preflight{Skipped: fmt.Sprintf("no worker answered within %v", preflightTimeout)}, nil
	}
	return found, err
}

func (e *Executor) preflight(ctx context.Context, in activities.PreflightInput) (found activities.Preflight, err error) {
	ctx, done := context.WithTimeout(ctx, preflightTimeout)
	defer done()
	begun, err := e.Temporal.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{
		ID: "waymark.preflight." + uuid.NewString(), TaskQueue: e.Queue, WorkflowExecutionTimeout: preflightTimeout,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, workflows.PreflightName, in)
	if err == nil {
		err = begun.Get(ctx, &found)
	}
	return found, err
}

// held reports whether something was not looked at because the version is not recorded yet.
func (p Preflight) held() bool {
	return slices.ContainsFunc(p.Looks, func(l activities.PlaceLooked) bool { return l.State == activities.LookHeld })
}

// refuse returns why the version cannot be deployed; nil if its runs can be executed as far as anybody looked.
func (p Preflight) refuse(file string) error {
	problems := p.Problems
	for _, look := range p.Looks {
		if look.State == activities.LookFaulty {
			problems = append(problems, look.Kind+" "+look.Node+": "+look.Message)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Code: NotReady, Cure: DeployUnready, Message: fmt.Sprintf("%s: no run of it could succeed on %s:\n%s", file, p.Host, strings.Join(problems, "\n"))}
}
