package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

func (a *app) runsCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the recorded runs, newest first",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd.Context(), func(home record) error { return a.listRuns(cmd.Context(), home, limit) })
		},
	}
	numberFlag(cmd.Flags(), &limit, "limit", "n", 0, 50, "how many `runs` to show, 0 for all")
	return cmd
}

func (a *app) listRuns(ctx context.Context, home record, limit int) error {
	runs, total, err := home.Runs(ctx, limit)
	if err != nil {
		return err
	}
	switch {
	case total == unknownCount:
		a.note("older runs are not shown; --limit 0 shows all")
	case total > len(runs):
		a.note("%d older runs are not shown; --limit 0 shows all", total-len(runs))
	}
	var stuck []string
	if home, here := home.(*local.Home); here {
		stuck = home.Stuck(ctx)
	}
	if stuck != nil {
		a.note("no worker can do the next task of %s: waymark doctor says what to look at", strings.Join(stuck, ", "))
	}
	lines := [][]string{{"run", "pipeline", "status", "started", "took"}}
	for i := range runs {
		run := &runs[i]
		status := a.statusText(run)
		if slices.Contains(stuck, workflows.WorkflowID(run.ID)) {
			status += " (stuck)"
		}
		lines = append(lines, []string{run.ID, run.Pipeline, status, moment(run.Started), tookText(run)})
	}
	if slices.ContainsFunc(runs, func(run client.Run) bool { return run.Slot != "" }) {
		lines[0] = append(lines[0], "slot")
		for i := range runs {
			lines[i+1] = append(lines[i+1], cmp.Or(slotLine(&runs[i]), "-"))
		}
	}
	if slices.ContainsFunc(runs, func(run client.Run) bool { return run.Archived != "" }) {
		lines[0] = append(lines[0], "archived in")
		for i := range runs {
			lines[i+1] = append(lines[i+1], cmp.Or(runs[i].Archived, "-"))
		}
	}
	return printList(a, runs, func(w io.Writer) error { return text.Table(w, lines...) })
}

// tookText is how long the run took, or nothing if that is not known.
func tookText(run *client.Run) string {
	took, known := run.Took()
	if !known {
		return "-"
	}
	return fmt.Sprintf("%.1f s", took.Seconds())
}

// mostCompleted is how many runs are offered to somebody who typed nothing of an id.
const mostCompleted = 100

// completeRuns offers the ids of runs on record to the shell.
func (a *app) completeRuns(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 || a.settle(settable(cmd)) != nil {
		return nil, none
	}
	if a.server != "" { // who presses a key does not wait for a network
		return nil, none
	}
	var runs []landscape.RunHead
	err := a.existing(cmd.Context(), func(home *local.Home) (err error) {
		runs, err = home.Beginning(cmd.Context(), begun, mostCompleted)
		return err
	})
	if err != nil {
		return nil, none
	}
	words := []string{cobra.CompletionWithDesc(pipeline.LastRun, "the newest run")}
	for _, run := range runs {
		words = append(words, cobra.CompletionWithDesc(run.ID, run.Pipeline+", "+string(run.Status)+", "+moment(client.Time(run.Started))))
	}
	return words, none | cobra.ShellCompDirectiveKeepOrder
}
