package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"waymark/landscape"
	"waymark/pipeline"
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
	Tokens      int64                 `json:"tokens,omitempty"`   // of all origins and lanes, if there are others than the rows read
	Barriers    []barrierStatus       `json:"barriers,omitempty"` // that hold rows
	Sinks       []sinkStatus          `json:"sinks"`
	Staged      []stagedOutput        `json:"staged,omitempty"` // of a run that is not complete
	Nodes       []landscape.NodeCount `json:"nodes"`

	Paused   *pausedBy   `json:"paused,omitempty"`
	TakenUp  []takenUp   `json:"taken_up,omitempty"` // again, in order
	Parent   *linkedRun  `json:"parent,omitempty"`   // the run that this one comes of
	Children []linkedRun `json:"children,omitempty"` // runs that come of this one
	Next     string      `json:"next,omitempty"`     // what a person can do with a run that is not complete

	text string // of the status, for people
}

// takenUp is one time that a run was taken up again.
type takenUp struct {
	Epoch int64              `json:"epoch"`
	Was   pipeline.RunStatus `json:"was"`
	Actor string             `json:"actor"`
	Why   string             `json:"why,omitempty"`
	Host  string             `json:"host"`
	At    *string            `json:"at"`

	at landscape.Micros
}

// linkedRun is a run that another one comes of, or that comes of it.
type linkedRun struct {
	Run  string         `json:"run"`
	Link landscape.Link `json:"link"`
}

// barrierStatus is what a barrier holds.
type barrierStatus struct {
	Barrier string `json:"barrier"`
	Open    int64  `json:"open_batches"`
	Held    int64  `json:"held_rows"`
}

// sinkStatus is what one sink gets and got. Path and SHA256 are set when the output is visible under its name.
type sinkStatus struct {
	Sink      string `json:"sink"`
	Planned   int64  `json:"rows_planned"`
	Finalized int64  `json:"rows"`
	Path      string `json:"path,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	Completed int64  `json:"chunks_completed"` // the target confirmed them
	Missing   int64  `json:"chunks_missing"`   // nothing was written
	Unknown   int64  `json:"chunks_unknown"`   // an attempt was begun, and nobody knows yet how it ended
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
				status, err := a.status(cmd.Context(), r, run)
				if err != nil {
					return err
				}
				return a.print(status, status.write)
			})
		},
	}
}

// status reads everything about a run.
func (a *app) status(ctx context.Context, r *record, run landscape.Run) (*runStatus, error) {
	status, err := r.status(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	works, done := a.attendance(ctx)
	status.attend(works)
	done()
	status.text = a.statusText(&status.runHead)
	if status.Staged, err = staged(run); err != nil {
		return nil, err
	}
	if status.Paused, err = a.paused(ctx, r, run, status.Alive); err != nil {
		return nil, err
	}
	if status.Paused != nil {
		status.text += " (paused)"
	}
	if err := status.addLinks(ctx, r, run); err != nil {
		return nil, err
	}
	if dead := status.Alive != nil && !*status.Alive; status.Status != pipeline.Running || dead || status.Paused != nil {
		status.Next, err = r.next(ctx, run)
	}
	return status, err
}

// addLinks adds by whom the run was taken up again, and the runs that it is linked with.
func (s *runStatus) addLinks(ctx context.Context, r *record, run landscape.Run) error {
	resumptions, err := r.log.Resumptions(ctx, run.ID)
	if err != nil {
		return err
	}
	for _, x := range resumptions {
		s.TakenUp = append(s.TakenUp, takenUp{x.Epoch, x.Was, x.Actor, x.Why, x.Host, stamp(x.At), x.At})
	}
	if run.Parent != "" {
		s.Parent = &linkedRun{run.Parent, run.Link}
	}
	linked, err := r.log.LinkedRuns(ctx, run.ID)
	for _, child := range linked {
		s.Children = append(s.Children, linkedRun{child.Run, child.Link})
	}
	return err
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
	if summary.Tokens != summary.Passed {
		status.Tokens = summary.Tokens
	}
	if status.Barriers, err = r.barriers(ctx, run); err != nil {
		return nil, err
	}
	chunks, err := r.log.SinkChunks(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, count := range summary.Sinks {
		sink := sinkStatus{Sink: count.Sink, Planned: count.Planned, Finalized: count.Finalized}
		for _, chunk := range chunks {
			if chunk.Sink == count.Sink {
				sink.Completed, sink.Missing, sink.Unknown = chunk.Completed, chunk.Missing, chunk.Unknown
			}
		}
		for _, artifact := range artifacts {
			if artifact.Sink == count.Sink {
				sink.Path, sink.Bytes, sink.SHA256 = artifact.Path, artifact.Bytes, artifact.SHA256
			}
		}
		status.Sinks = append(status.Sinks, sink)
	}
	return status, nil
}

// barriers returns what the barriers of a run hold after their last folds; nil if they hold nothing.
func (r *record) barriers(ctx context.Context, run string) ([]barrierStatus, error) {
	origins, err := r.log.Sources(ctx, run) // a source has no folds
	if err != nil {
		return nil, err
	}
	var holding []barrierStatus
	for _, origin := range origins {
		folds, err := r.log.Folds(ctx, run, origin.Source)
		if err != nil {
			return nil, err
		}
		if len(folds) == 0 {
			continue
		}
		if last := folds[len(folds)-1]; last.Open > 0 || last.Held > 0 {
			holding = append(holding, barrierStatus{origin.Source, last.Open, last.Held})
		}
	}
	return holding, nil
}

func (s *runStatus) write(w io.Writer) error {
	lines := [][]string{
		{"run", s.Run}, {"pipeline", s.Pipeline}, {"status", s.text}, {"reason", s.Reason},
		{"started", moment(s.started)}, {"took", s.tookText()}, {"by", s.Actor + " (" + s.Trigger + ") on " + s.Host},
		{"program", s.Code}, {"folder", s.Folder}, {"rows", s.rowsLine()}, {"paused", s.pausedLine()}, {"taken up", s.takenUpLine()},
	}
	lines = append(lines, s.linkLines()...)
	lines = append(lines, s.stagedLines()...)
	lines = append(lines, []string{"next", s.Next})
	if err := table(w, withValue(lines)...); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := writeNodes(w, s.Nodes); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if len(s.Barriers) > 0 {
		if err := writeBarriers(w, s.Barriers); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if !ended(s.Status) {
		return writeOpenSinks(w, s.Sinks)
	}
	return writeSinks(w, s.Sinks)
}

func (s *runStatus) pausedLine() string {
	if s.Paused == nil {
		return ""
	}
	return "by " + s.Paused.Actor + ": " + s.Paused.Why
}

// takenUpLine tells how often the run was taken up again, and by whom last.
func (s *runStatus) takenUpLine() string {
	if len(s.TakenUp) == 0 {
		return ""
	}
	last := s.TakenUp[len(s.TakenUp)-1]
	line := fmt.Sprintf("%s by %s", moment(last.at), last.Actor)
	if last.Why != "" {
		line += ": " + last.Why
	}
	if len(s.TakenUp) > 1 {
		line = many(int64(len(s.TakenUp)), "time") + ", at last " + line
	}
	return line
}

// linkWords say what the runs are that come of a run.
var linkWords = map[landscape.Link]string{landscape.ForkLink: "forked", landscape.RetryLink: "retried"}

func (s *runStatus) linkLines() [][]string {
	var lines [][]string
	if s.Parent != nil {
		lines = append(lines, []string{linkWords[s.Parent.Link], "from run " + s.Parent.Run})
	}
	for _, child := range s.Children {
		lines = append(lines, []string{linkWords[child.Link], "into run " + child.Run})
	}
	return lines
}

// nodeColumns are the columns of the table of nodes. What only happens where rows are copied, gathered or held is left out
// if it did not happen.
var nodeColumns = []struct {
	head   string
	always bool
	count  func(landscape.NodeCount) int64
}{
	{"in", true, func(n landscape.NodeCount) int64 { return n.In }},
	{"made", false, func(n landscape.NodeCount) int64 { return n.Created }},
	{"out", true, func(n landscape.NodeCount) int64 { return n.Out }},
	{"dropped", true, func(n landscape.NodeCount) int64 { return n.Dropped }},
	{"refused", true, func(n landscape.NodeCount) int64 { return n.Diverted }},
	{"taken", false, func(n landscape.NodeCount) int64 { return n.Consumed }},
	{"held", false, func(n landscape.NodeCount) int64 { return n.Held }},
}

func writeNodes(w io.Writer, nodes []landscape.NodeCount) error {
	lines := make([][]string, len(nodes)+1)
	lines[0] = []string{"node"}
	for i, node := range nodes {
		lines[i+1] = []string{node.Node}
	}
	for _, column := range nodeColumns {
		if !column.always && !slices.ContainsFunc(nodes, func(n landscape.NodeCount) bool { return column.count(n) > 0 }) {
			continue
		}
		lines[0] = append(lines[0], column.head)
		for i, node := range nodes {
			lines[i+1] = append(lines[i+1], grouped(column.count(node)))
		}
	}
	return table(w, lines...)
}

func writeBarriers(w io.Writer, barriers []barrierStatus) error {
	lines := [][]string{{"barrier", "open batches", "rows held"}}
	for _, barrier := range barriers {
		lines = append(lines, []string{barrier.Barrier, grouped(barrier.Open), grouped(barrier.Held)})
	}
	return table(w, lines...)
}

// rowsLine accounts for the rows in one line.
func (s *runStatus) rowsLine() string {
	line := many(s.Rows, "row") + " read"
	if s.Tokens > 0 {
		line += ", which became " + many(s.Tokens, "token")
	}
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
		output := shown(sink.Path)
		if output == "" {
			output = fmt.Sprintf("not published; %s of %s confirmed", grouped(sink.Finalized), many(sink.Planned, "row"))
		}
		lines = append(lines, []string{sink.Sink, grouped(sink.Finalized), output})
	}
	return table(w, lines...)
}

// writeOpenSinks writes how far the sinks of a run are that is not complete.
func writeOpenSinks(w io.Writer, sinks []sinkStatus) error {
	lines := [][]string{{"sink", "rows", "chunks completed", "missing", "unknown", "output"}}
	for _, sink := range sinks {
		output := shown(sink.Path)
		if output == "" {
			output = "not published"
		}
		lines = append(lines, []string{
			sink.Sink, fmt.Sprintf("%s of %s", grouped(sink.Finalized), grouped(sink.Planned)), grouped(sink.Completed),
			grouped(sink.Missing), grouped(sink.Unknown), output,
		})
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
