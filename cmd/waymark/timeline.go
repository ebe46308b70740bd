package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) timelineCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "timeline RUN",
		Short: "Show where the time of a run went: when rows passed, what each worker did, which chunks took long",
		Long: `Shows, for a run that is running or has ended, how many rows went through the steps when, which share of the time each worker spent in steps and on
writing to sinks, what happened besides, and the chunks that took longest. It reads a few values for each chunk, and no rows.

` + runArgument,
		Example:           `  waymark timeline last`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askRun(cmd.Context(), args[0], func(home record, run landscape.Run) error {
				found, err := home.Timeline(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				return a.print(found, func(w io.Writer) error { return writeTimeline(w, found) })
			})
		},
	}
}

func writeTimeline(w io.Writer, t *client.Timeline) error {
	fmt.Fprintf(w, "run %s, %s from %s: each mark stands for %.3g s\n\n", t.Run, tookWords(t), moment(t.Begun), t.Bin)
	lines := [][]string{{"rows/s", text.Bars(t.Rate, slices.Max(t.Rate)), "at most " + text.Grouped(int64(slices.Max(t.Rate)))}}
	for _, worker := range t.Workers {
		told := fmt.Sprintf("%s, %s", text.Count(worker.Chunks, "chunk"), text.Count(worker.Rows, "row"))
		if worker.Lost > 0 {
			told += fmt.Sprintf(", %s to write without a recorded end", text.Count(worker.Lost, "attempt"))
		}
		lines = append(lines, []string{"steps", text.Bars(worker.Steps, 1), text.Cell(worker.Worker) + ": " + told}, []string{"writes", text.Bars(worker.Writes, 1), ""})
	}
	if err := text.Table(w, lines...); err != nil {
		return err
	}
	table := [][]string{{"at", "what", "by", "why"}}
	for _, m := range t.Marks {
		table = append(table, []string{moment(m.At), text.Cell(m.What), text.Cell(m.By), text.Cell(m.Why)})
	}
	fmt.Fprintln(w)
	if err := text.Table(w, table...); err != nil {
		return err
	}
	table = [][]string{{"slowest", "rows", "seconds", "worker", "attempt"}}
	for _, c := range t.Slowest {
		table = append(table, []string{fmt.Sprintf("%s:%d", c.Source, c.FirstRow), text.Grouped(c.Rows), fmt.Sprintf("%.3f", c.Seconds), text.Cell(c.Worker), fmt.Sprint(c.Attempt)})
	}
	if len(table) == 1 {
		return nil
	}
	fmt.Fprintln(w)
	return text.Table(w, table...)
}

func tookWords(t *client.Timeline) string {
	return fmt.Sprintf("%.3g s", t.Ended.Time().Sub(t.Begun.Time()).Seconds())
}
