package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
)

// whyFlag lets a person say why he does what he does. It is put on record.
func whyFlag(cmd *cobra.Command, why *string) {
	cmd.Flags().Var((*reason)(why), "why", "`reason`, which is recorded")
}

// reason is the value of --why.
type reason string

// Set refuses the word that stands for a reason where this program offers a command.
func (r *reason) Set(text string) error {
	if text == "TEXT" {
		return limitError("your reason in the place of TEXT, in quotes")
	}
	*r = reason(text)
	return nil
}

// String returns the reason.
func (r *reason) String() string { return string(*r) }

// Type is what the help calls it.
func (*reason) Type() string { return "string" }

// whyGiven refuses an order without a reason.
func whyGiven(why string) error {
	if strings.TrimSpace(why) == "" {
		return wrongUsef("say why, for the record: --why TEXT")
	}
	return nil
}

// orderResult says what an order did.
type orderResult struct {
	Run     string `json:"run"`
	Order   string `json:"order"`   // pause, continue, resume, cancel, resolve or waive
	Changed bool   `json:"changed"` // else it was so already
	Next    string `json:"next,omitempty"`

	Deleted []client.Staged `json:"deleted,omitempty"` // what the run had staged
}

// printOrder says what an order did, and what comes next.
func (a *app) printOrder(result orderResult, did string) error {
	return a.print(result, func(w io.Writer) error {
		did += already(result.Changed)
		if result.Next != "" {
			did += "; " + result.Next
		}
		_, err := fmt.Fprintf(w, "run %s %s\n", result.Run, did)
		return err
	})
}

// already follows what an order asks for, unless the order made it so: one that is given again is done, and not recorded.
func already(changed bool) string {
	if changed {
		return ""
	}
	return " already: nothing changed"
}

// findRun returns the run that word means.
func (a *app) findRun(ctx context.Context, word string) (found landscape.Run, err error) {
	err = a.query(ctx, word, func(_ *local.Home, run landscape.Run) error {
		found = run
		return nil
	})
	return found, err
}
