package main

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) startsCommand() *cobra.Command {
	var p page
	var state string
	cmd := &cobra.Command{
		Use:   "starts",
		Short: "List the requests for runs, newest first, and why any did not become a run",
		Long: `Lists every request for a run, newest first, with the reason if it did not become a run. Running a document from its file
makes no request if the document does not compile.`,
		Example: `  waymark starts --only refused
  waymark starts --limit 1 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd.Context(), func(home record) error { return a.listStarts(cmd.Context(), home, state, p) })
		},
	}
	cmd.Flags().StringVar(&state, "only", "", "show only requests in this `state`: accepted, waiting, begun, refused, cancelled, skipped or superseded")
	p.addFlags(cmd, "starts", 50)
	return cmd
}

// oneLine is a text of several lines, such as the problems of a document, as one.
func oneLine(lines string) string { return strings.ReplaceAll(strings.TrimSpace(lines), "\n", "; ") }

func (a *app) listStarts(ctx context.Context, home record, state string, p page) error {
	starts, err := home.Starts(ctx, landscape.StartState(state), p.after, p.limit)
	if err != nil {
		return err
	}
	lines := [][]string{{"start", "pipeline", "state", "accepted", "trigger", "actor", "why", "reason"}}
	for i := range starts {
		s := &starts[i]
		lines = append(lines, []string{s.ID, s.Pipeline, string(s.State), moment(s.Accepted), s.Trigger, s.Actor, text.Cell(oneLine(cmp.Or(s.Why, "-"))), text.Cell(oneLine(cmp.Or(s.Reason, "-")))})
	}
	if n := len(starts); n > 0 {
		p.note(a, n, starts[n-1].ID)
	}
	return printList(a, starts, func(w io.Writer) error { return text.Table(w, lines...) })
}
