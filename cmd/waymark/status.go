package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/landscape"
)

// runStatus is one run with its figures.
type runStatus struct {
	runHead
	Rows        int64                 `json:"rows_read"`
	Blank       int64                 `json:"blank_lines"`
	Comments    int64                 `json:"comment_lines"`
	Bytes       int64                 `json:"bytes_read"`
	Passed      int64                 `json:"rows_passed"`
	Succeeded   int64                 `json:"rows_succeeded"`
	Failed      int64                 `json:"rows_failed"`
	Quarantined int64                 `json:"rows_quarantined"`
	Filtered    int64                 `json:"rows_filtered"`
	Discarded   int64                 `json:"rows_discarded"`
	Chunks      int64                 `json:"chunks"`
	Sinks       []sinkStatus          `json:"sinks"`
	Staged      []stagedOutput        `json:"staged,omitempty"` // of a run that is not complete
	Nodes       []landscape.NodeCount `json:"nodes"`
}

// sinkStatus is what one sink gets and got. Path and SHA256 are set when the output is visible under its name.
type sinkStatus struct {
	Sink      string `json:"sink"`
	Planned   int64  `json:"rows_planned"`
	Finalized int64  `json:"rows"`
	Path      string `json:"path,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "status RUN",
		Short:             "Show how a run stands or ended, with the counts of every node and sink",
		Long:              runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.query(cmd.Context(), args[0], func(r *record, run landscape.Run) error {
				status, err := r.status(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				status.attend(a.attended())
				if status.Staged, err = staged(run); err != nil {
					return err
				}
				return a.print(status, status.write)
			})
		},
	}
}

// runArgument explains RUN in the help of every command that takes one.
const runArgument = "RUN is the id of a run, the beginning of one, or the word last: the run that began last, however it ended."

// status reads the figures of a run from the record.
func (r *record) status(ctx context.Context, run string) (*runStatus, error) {
	summary, err := r.log.Summary(ctx, run)
	if err != nil {
		return nil, err
	}
	artifacts, err := r.log.Artifacts(ctx, run)
	if err != nil {
		return nil, err
	}
	status := &runStatus{
		runHead: headOf(summary.Run), Rows: summary.Rows, Blank: summary.Blank, Comments: summary.Comments, Bytes: summary.Bytes,
		Passed: summary.Passed, Succeeded: summary.Succeeded, Failed: summary.Failed, Quarantined: summary.Quarantined,
		Filtered: summary.Filtered, Discarded: summary.Discarded, Chunks: summary.Chunks, Nodes: summary.Nodes,
	}
	for _, count := range summary.Sinks {
		sink := sinkStatus{Sink: count.Sink, Planned: count.Planned, Finalized: count.Finalized}
		for _, artifact := range artifacts {
			if artifact.Sink == count.Sink {
				sink.Path, sink.Bytes, sink.SHA256 = artifact.Path, artifact.Bytes, artifact.SHA256
			}
		}
		status.Sinks = append(status.Sinks, sink)
	}
	return status, nil
}

func (s *runStatus) write(w io.Writer) error {
	lines := [][]string{
		{"run", s.Run}, {"pipeline", s.Pipeline}, {"status", s.statusText()}, {"reason", s.Reason},
		{"started", moment(s.started)}, {"took", s.tookText()}, {"by", s.Actor + " (" + s.Trigger + ") on " + s.Host},
		{"program", s.Code}, {"folder", s.Folder}, {"rows", s.rowsLine()},
	}
	lines = append(lines, s.stagedLines()...)
	if err := table(w, withValue(lines)...); err != nil {
		return err
	}
	fmt.Fprintln(w)
	nodes := [][]string{{"node", "in", "out", "dropped", "refused"}}
	for _, node := range s.Nodes {
		nodes = append(nodes, []string{node.Node, grouped(node.In), grouped(node.Out), grouped(node.Dropped), grouped(node.Diverted)})
	}
	if err := table(w, nodes...); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeSinks(w, s.Sinks)
}

// rowsLine accounts for the rows in one line.
func (s *runStatus) rowsLine() string {
	line := many(s.Rows, "row") + " read"
	for _, part := range []struct {
		count int64
		word  string
	}{
		{s.Failed, "refused"}, {s.Quarantined, "of these in quarantine"}, {s.Filtered, "filtered"}, {s.Discarded, "discarded"},
		{s.Rows - s.Passed, "not finished"},
	} {
		if part.count > 0 {
			line += ", " + grouped(part.count) + " " + part.word
		}
	}
	return line
}

func writeSinks(w io.Writer, sinks []sinkStatus) error {
	lines := [][]string{{"sink", "rows", "output"}}
	for _, sink := range sinks {
		output := sink.Path
		if output == "" {
			output = fmt.Sprintf("not published; %s of %s confirmed", grouped(sink.Finalized), many(sink.Planned, "row"))
		}
		lines = append(lines, []string{sink.Sink, grouped(sink.Finalized), output})
	}
	return table(w, lines...)
}

// withValue leaves out the lines whose second cell is empty.
func withValue(lines [][]string) [][]string {
	var kept [][]string
	for _, line := range lines {
		if line[1] != "" {
			kept = append(kept, line)
		}
	}
	return kept
}
