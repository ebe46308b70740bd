package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) rowsCommand() *cobra.Command {
	filter, p, at := client.RowFilter{}, page{}, ""
	cmd := &cobra.Command{
		Use:   "rows RUN [--node NODE | --edge FROM:TO[:LABEL] | --sink SINK] [--at MOMENT]",
		Short: "Count the rows on every edge of the graph, or list the rows of a node, an edge or a sink",
		Long: `Counts the rows that passed from node to node. An edge without FROM counts rows that start at the node: a source's records,
the copies of a fork, rows made by a coalesce or a barrier. An edge without TO counts rows that end there, as LABEL says.

--node lists the rows that reached a node or started there, or that ended in quarantine or discard; --edge lists the rows
that took an edge, or with ::PATH all that ended so; --sink lists those that a sink's target confirmed and holds. The list
says how each row ended. waymark explain RUN --token shows one of them in full. With --at, the rows are those that had come there at a moment.

` + runArgument,
		Example: `  waymark rows last
  waymark rows last --edge triage:review:major --limit 10
  waymark rows last --node quarantine`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if filter == (client.RowFilter{}) && (cmd.Flags().Changed("limit") || cmd.Flags().Changed("after")) {
				return wrongUsef("--limit and --after say which rows to list: name a --node, an --edge or a --sink")
			}
			edges := filter == (client.RowFilter{})
			return a.askRun(cmd.Context(), args[0], func(home record, run landscape.Run) (err error) {
				if filter.At, err = momentOf(run, at); err != nil {
					return err
				}
				if edges {
					return a.listEdges(cmd.Context(), home, run.ID, filter.At)
				}
				return a.listRows(cmd.Context(), home, run.ID, filter, p)
			})
		},
	}
	cmd.Flags().StringVar(&filter.Node, "node", "", "list the rows that reached this `node`")
	cmd.Flags().StringVar(&filter.Edge, "edge", "", "list the rows that took this edge: `FROM:TO[:LABEL]`")
	cmd.Flags().StringVar(&filter.Sink, "sink", "", "list the rows that the target of this `sink` confirmed and holds")
	atFlag(cmd, &at)
	p.addFlags(cmd, "rows", 50)
	return cmd
}

// listEdges lists the edges of a run's graph, now or at a moment.
func (a *app) listEdges(ctx context.Context, home record, run string, at client.Time) error {
	edges, err := edgesAt(ctx, home, run, at)
	if err != nil {
		return err
	}
	lines := [][]string{{"edge", "kind", "rows"}}
	for _, e := range edges {
		lines = append(lines, []string{e.ID, string(e.Kind), text.Grouped(e.Rows)})
	}
	return printList(a, edges, func(w io.Writer) error { return text.Table(w, lines...) })
}

func edgesAt(ctx context.Context, home record, run string, at client.Time) ([]client.Edge, error) {
	if !at.Known() {
		return home.Edges(ctx, run)
	}
	past, err := home.Past(ctx, run, at)
	if err != nil {
		return nil, err
	}
	return past.Edges, nil
}

// listRows lists the rows that a filter selects.
func (a *app) listRows(ctx context.Context, home record, run string, filter client.RowFilter, p page) error {
	rows, err := home.Rows(ctx, run, filter, p.after, p.limit)
	if err != nil {
		return err
	}
	lines := [][]string{{"token", "ended as", "at", "sink"}}
	for _, r := range rows {
		lines = append(lines, []string{r.Token, string(r.Path), r.Node, destination(r.Sink)})
	}
	if n := len(rows); n > 0 {
		p.note(a, n, rows[n-1].Token)
	}
	return printList(a, rows, func(w io.Writer) error { return text.Table(w, lines...) })
}
