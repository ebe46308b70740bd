package main

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) startsCommand() *cobra.Command {
	var p page
	var state string
	cmd := &cobra.Command{
		Use:   "starts",
		Short: "List who asked for runs, and why none came of it, the newest first",
		Long: `Lists every time that somebody asked for a run, the newest first: also if no run came of it, with the reason. A document that
does not compile where a person runs it from its file asks for none.`,
		Example: `  waymark starts --only refused
  waymark starts --limit 1 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error { return a.listStarts(cmd.Context(), home, state, p) })
		},
	}
	cmd.Flags().StringVar(&state, "only", "", "`state` of those to show: accepted, waiting, begun, refused, cancelled, skipped or superseded")
	p.addFlags(cmd, "starts", 50)
	return cmd
}

// oneLine is a text of several lines, such as the problems of a document, as one.
func oneLine(lines string) string { return strings.ReplaceAll(strings.TrimSpace(lines), "\n", "; ") }

func (a *app) listStarts(ctx context.Context, home *local.Home, state string, p page) error {
	starts, err := home.Starts(ctx, landscape.StartState(state), p.after, p.limit)
	if err != nil {
		return err
	}
	lines := [][]string{{"start", "pipeline", "state", "accepted", "trigger", "actor", "reason"}}
	for i := range starts {
		s := &starts[i]
		lines = append(lines, []string{s.ID, s.Pipeline, string(s.State), moment(s.Accepted), s.Trigger, s.Actor, text.Cell(oneLine(cmp.Or(s.Reason, "-")))})
	}
	if n := len(starts); n > 0 {
		p.note(a, n, starts[n-1].ID)
	}
	return printList(a, starts, func(w io.Writer) error { return text.Table(w, lines...) })
}
