package main

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"waymark/landscape"
	"waymark/pipeline"
)

// runHead is one run in a list.
type runHead struct {
	Run      string             `json:"run"`
	Pipeline string             `json:"pipeline"`
	Status   pipeline.RunStatus `json:"status"`
	Final    bool               `json:"final,omitempty"` // cancelled for good
	Epoch    int64              `json:"epoch"`           // how often it was taken up again
	Alive    *bool              `json:"alive,omitempty"` // of a running run: whether a process works for it, if that can be told
	Reason   string             `json:"reason,omitempty"`
	Started  *string            `json:"started"`
	Finished *string            `json:"finished,omitempty"`
	Seconds  float64            `json:"seconds,omitempty"`
	Actor    string             `json:"actor"`
	Trigger  string             `json:"trigger"`
	Host     string             `json:"host"`
	Code     string             `json:"code"`
	Folder   string             `json:"folder"`
	Document string             `json:"document_sha256"`
	Plan     string             `json:"plan_sha256"`

	started, finished landscape.Micros
	endKnown          bool
}

func headOf(run landscape.RunHead) runHead {
	head := runHead{
		Run: run.ID, Pipeline: run.Pipeline, Status: run.Status, Final: run.Final, Epoch: run.Epoch, Reason: run.Reason,
		Started: stamp(run.Started), Finished: stamp(run.Finished),
		Actor: run.Actor, Trigger: run.Trigger, Host: run.Host, Code: run.Code, Folder: run.BaseDir,
		Document: run.DocumentSHA256, Plan: run.PlanSHA256, started: run.Started, finished: run.Finished,
		endKnown: endKnown(run),
	}
	if head.endKnown {
		head.Seconds = run.Finished.Time().Sub(run.Started.Time()).Seconds()
	}
	return head
}

func (a *app) runsCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs on record, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			runs, err := a.runs(cmd.Context())
			if err != nil {
				return err
			}
			runs = newest(runs)
			if limit > 0 && len(runs) > limit {
				a.note("%d older runs are not shown; --limit 0 shows all", len(runs)-limit)
				runs = runs[:limit]
			}
			return a.printRuns(cmd.Context(), runs)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "how many `runs` to show, 0 for all")
	return cmd
}

func (a *app) printRuns(ctx context.Context, runs []landscape.RunHead) error {
	heads := make([]runHead, len(runs))
	works, done := a.attendance(ctx)
	defer done()
	lines := [][]string{{"run", "pipeline", "status", "started", "took"}}
	for i, run := range runs {
		heads[i] = headOf(run)
		heads[i].attend(works)
		lines = append(lines, []string{run.ID, run.Pipeline, a.statusText(&heads[i]), moment(run.Started), heads[i].tookText()})
	}
	return printList(a, heads, func(w io.Writer) error { return table(w, lines...) })
}

// newest returns the runs, the last to start first.
func newest(runs []landscape.RunHead) []landscape.RunHead {
	return slices.SortedStableFunc(slices.Values(runs), func(a, b landscape.RunHead) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(b.ID, a.ID))
	})
}

// completeRuns offers the ids of the runs on record to the shell.
func (a *app) completeRuns(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 || a.settle(cmd.Flags()) != nil {
		return nil, none
	}
	runs, err := a.runs(cmd.Context())
	if err != nil {
		return nil, none
	}
	words := []string{cobra.CompletionWithDesc(lastRun, "the newest run")}
	for _, run := range newest(runs) {
		words = append(words, cobra.CompletionWithDesc(run.ID, run.Pipeline+", "+string(run.Status)+", "+moment(run.Started)))
	}
	return words, none | cobra.ShellCompDirectiveKeepOrder
}
