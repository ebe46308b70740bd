package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/landscape"
	"waymark/workflows"
)

// whyFlag lets a person say why he does what he does. It is put on record.
func whyFlag(cmd *cobra.Command, why *string) {
	cmd.Flags().StringVar(why, "why", "", "`reason`, which is put on record")
}

// whyGiven refuses an order without a reason.
func whyGiven(why string) error {
	if strings.TrimSpace(why) == "" {
		return wrongUsef("say why, for the record: --why TEXT")
	}
	return nil
}

// How a workflow that is still opening its run refuses an order, and how long to wait before the order is given again.
const (
	notYet      = "unknown update "
	notYetPause = 100 * time.Millisecond
)

// send gives an order to the workflow of a run, and waits until it is on record and obeyed.
func send(ctx context.Context, c client.Client, run, verb string, order workflows.Order) error {
	for {
		err := sendOnce(ctx, c, run, verb, order)
		if reason, is := refused(err); !is || !strings.HasPrefix(reason, notYet) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(notYetPause):
		}
	}
}

func sendOnce(ctx context.Context, c client.Client, run, verb string, order workflows.Order) error {
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflows.WorkflowID(run), UpdateName: verb, Args: []any{order}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// refused reports whether a workflow refused an order, and its reason.
func refused(err error) (string, bool) {
	application, is := errors.AsType[*temporal.ApplicationError](err)
	if !is {
		return "", false
	}
	return application.Message(), true
}

// orderResult says what an order did.
type orderResult struct {
	Run   string `json:"run"`
	Order string `json:"order"` // pause, continue, resume, cancel or resolve
	Next  string `json:"next,omitempty"`
}

// printOrder says what an order did, and what comes next.
func (a *app) printOrder(result orderResult, did string) error {
	return a.print(result, func(w io.Writer) error {
		if result.Next != "" {
			did += "; " + result.Next
		}
		_, err := fmt.Fprintf(w, "run %s %s\n", result.Run, did)
		return err
	})
}

// findRun returns the run that word means.
func (a *app) findRun(ctx context.Context, word string) (found landscape.Run, err error) {
	err = a.query(ctx, word, func(_ *record, run landscape.Run) error {
		found = run
		return nil
	})
	return found, err
}
