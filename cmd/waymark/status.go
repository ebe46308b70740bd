package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/landscape/spent"
	"waymark/pipeline"
)

// statusOutput is what `waymark status --json` says.
type statusOutput struct {
	*client.RunReport
	Next string `json:"next,omitempty"` // what a person can do with a run that is not complete
}

func (a *app) statusCommand() *cobra.Command {
	at := ""
	cmd := &cobra.Command{
		Use:   "status RUN [--at MOMENT]",
		Short: "Show a run's status, with the counts of every node and sink, now or at any moment since it began",
		Long: `Shows how far a run is or how it ended, how many rows each node and sink got, where its outputs are, and what to do next.

--at shows how the run stood at a moment, counted from what the record had then. A chunk of rows counts as read when it was read, and as passed when all of
it was through the steps.

` + runArgument,
		Example: `  waymark status last
  waymark status last --at 2.5s`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at != "" {
				return a.askRun(cmd.Context(), args[0], func(r record, run landscape.Run) error {
					moment, err := momentOf(run, at)
					if err != nil {
						return err
					}
					return a.pastStatus(cmd.Context(), r, run, moment)
				})
			}
			return a.ask(cmd.Context(), func(r record) error { return a.status(cmd.Context(), r, args[0]) })
		},
	}
	atFlag(cmd, &at)
	return cmd
}

func (a *app) status(ctx context.Context, r record, word string) error {
	run, missing := r.Find(ctx, word)
	if missing != nil {
		return a.statusOfUnbegun(ctx, r, word, missing)
	}
	report, err := r.Report(ctx, run)
	if err != nil {
		return err
	}
	out := statusOutput{RunReport: report, Next: adviceText(report.Advice, run.ID)}
	return a.print(out, func(w io.Writer) error { return a.writeStatus(w, out) })
}

// statusOfUnbegun shows for what a run waits that word may mean, or why it did not begin.
func (a *app) statusOfUnbegun(ctx context.Context, r record, word string, missing error) error {
	home, here := r.(*local.Home)
	if !here {
		return a.statusAway(ctx, r.(*away), missing) //nolint:forcetypeassert // there is no third one
	}
	waiting, err := home.Waits(ctx, word)
	switch {
	case err != nil:
		return err
	case waiting == nil:
		return a.statusOfStart(ctx, home, word, missing)
	}
	return a.print(waiting, func(w io.Writer) error { return writeWaiting(w, waiting) })
}

// statusOfStart shows what became of a run that did not begin, as the command does that was to begin it. What is missing in place of the run says when.
func (a *app) statusOfStart(ctx context.Context, home *local.Home, word string, missing error) error {
	never, joined, err := home.NotBegun(ctx, word, missing)
	switch {
	case err != nil:
		return err
	case joined != "" && joined != word:
		return a.status(ctx, home, joined)
	case never == nil:
		return missing
	}
	outcome, err := never.Outcome(ctx, never.Ending())
	if err != nil {
		return err
	}
	failed := a.report(never, never.Ending(), outcome)
	if failed == nil || a.json {
		return failed
	}
	return exitError{exitOf(outcome.Err.Kind), missing}
}

func writeWaiting(w io.Writer, waiting *client.Waiting) error {
	return text.Table(w, [][]string{
		{"run", waiting.Run}, {"pipeline", waiting.Pipeline}, {"status", string(waiting.Status)}, {"reason", waiting.Reason}, {"since", moment(waiting.Since)},
		{"place", fmt.Sprintf("%d in the queue, with priority %d", waiting.Place, waiting.Priority)}, {"by", waiting.Actor},
		{"next", "cancel it: waymark cancel " + waiting.Run + " --why TEXT"},
	}...)
}

// runArgument explains RUN in the help of every command that takes one.
const runArgument = "RUN is a run's id, the id of the workflow that somebody started for it, a prefix of a run's id, or the word last: the run\nthat started most recently, however it ended."

func (a *app) writeStatus(w io.Writer, out statusOutput) error {
	s := out.Status
	status := a.statusText(&s.Run)
	if s.Paused != nil {
		status += " (paused)"
	}
	lines := [][]string{
		{"run", s.ID}, {"pipeline", s.Pipeline}, {"version", deployedLine(&s.Run)}, {"slot", slotLine(&s.Run)}, {"status", status}, {"reason", s.Reason},
		{"started", moment(s.Started)}, {"took", tookText(&s.Run)}, {"spent on", spentLine(s.Spent)},
		{"by", s.Actor + " (" + s.Trigger + ") on " + s.Host}, {"why", text.Cell(s.Why)},
		{"program", s.Code}, {"folder", s.Folder}, {"params", paramsLine(s.Given())}, {"rows", rowsLine(s)}, {"paused", pausedLine(s.Paused)}, {"resumed", resumedLine(s.Resumed)},
		{"VALUES", text.Cell(s.OtherValues)},
		{"log", logLine(out.Log)}, {"sealed", sealLine(out)}, {"archived", archivedLine(&s.Run)},
	}
	if out.Log != nil {
		for _, m := range out.Log.Missing {
			lines = append(lines, []string{"MISSING", "it " + m.String()})
		}
	}
	for _, signed := range s.SignOffs {
		lines = append(lines, []string{"signed off", "by " + signed.String()})
	}
	lines = append(lines, []string{"sign-offs", requiredLine(s)})
	lines = append(lines, attestedLines(s.Sinks)...)
	for _, o := range out.Orders {
		lines = append(lines, []string{"order", fmt.Sprintf("%.12s to %s: %s", o.Digest, o.Verb, orderText(o))})
	}
	lines = append(lines, []string{"trigger", arrivalsLine(s.Arrivals)})
	lines = append(lines, linkLines(s)...)
	lines = append(lines, stagedLines(s)...)
	lines = append(lines, []string{"kept", keptLine(s.Kept)})
	lines = append(lines, []string{"next", out.Next})
	if err := text.Table(w, withValue(lines)...); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeTables(w, s)
}

// requiredLine says in which of the roles that the document requires the run is signed off now; nothing if it requires none.
func requiredLine(s *client.Status) string {
	var roles []string
	for _, r := range s.Required {
		roles = append(roles, text.Visible(r.String()))
	}
	return strings.Join(roles, "; ")
}

// attestedLines tell what the newest attestation of each output found.
func attestedLines(sinks []client.Sink) (lines [][]string) {
	for _, sink := range sinks {
		a := sink.Attested
		if a == nil {
			continue
		}
		name, said := "attested", fmt.Sprintf("%s %s at %s", sink.Sink, a.Result, moment(a.At))
		if a.Altered() {
			name = strings.ToUpper(string(a.Result))
		}
		for _, more := range []string{a.Reason, a.Since} {
			if more != "" {
				said += "; " + text.Cell(more)
			}
		}
		lines = append(lines, []string{name, said})
	}
	return lines
}

// paramsLine lists the parameters that were given.
func paramsLine(params map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, name+"="+text.Cell(params[name]))
	}
	return strings.Join(pairs, " ")
}

// slotLine names the slot of time that the run is about, and the schedule that began it; nothing if it is about none.
func slotLine(s *client.Run) string {
	if s.Slot == "" || s.Schedule == "" {
		return s.Slot
	}
	return s.Slot + " of " + s.Schedule
}

// arrivalsLine names what a trigger brought the run; nothing if none began it.
func arrivalsLine(brought *client.RunArrivals) string {
	if brought == nil {
		return ""
	}
	items := make([]string, len(brought.Items))
	for i, item := range brought.Items {
		items[i] = text.Cell(item)
	}
	line := brought.Trigger + " brought " + strings.Join(items, ", ")
	if more := brought.More(); more > 0 {
		line += fmt.Sprintf(" and %s more", text.Grouped(more))
	}
	return line
}

// deployedLine tells of which version a run is, and in which environment; nothing for a file.
func deployedLine(r *client.Run) string {
	if r.Version == 0 {
		return ""
	}
	line := fmt.Sprint(r.Version)
	if r.Environment != "" {
		line += ", deployed in " + r.Environment
	}
	if r.Values != "" {
		line += ", with the values " + r.Values
	}
	return line
}

// logLine tells where the run is in the record's log; nothing if that has not begun.
func logLine(in *client.RunInLog) string {
	switch {
	case in == nil:
		return ""
	case in.Entry < 0:
		return "no entry: the run is older than the log, or a process without a key that counts recorded it"
	case !in.Signed:
		return fmt.Sprintf("entry %d, not signed yet", in.Entry)
	}
	return fmt.Sprintf("entry %d, signed, at %d of %s", in.Entry, in.Anchored, text.Count(int64(in.Anchors), "anchor"))
}

// sealLine tells what the run's seal is; nothing of a run that is running.
func sealLine(out statusOutput) string {
	switch {
	case out.Status.Status == pipeline.Running:
		return ""
	case out.Seal == nil:
		return "no: waymark seal " + out.ID
	}
	return sealText(*out.Seal)
}

func pausedLine(p *client.Pause) string {
	if p == nil {
		return ""
	}
	return "by " + p.Actor + ": " + p.Why
}

// resumedLine tells how often the run was resumed, and by whom last.
func resumedLine(resumed []client.Resumption) string {
	if len(resumed) == 0 {
		return ""
	}
	last := resumed[len(resumed)-1]
	line := fmt.Sprintf("%s by %s", moment(last.At), last.Actor)
	if last.Why != "" {
		line += ": " + last.Why
	}
	if len(resumed) > 1 {
		line = text.Count(int64(len(resumed)), "time") + ", most recently " + line
	}
	return line
}

// spentLine tells what the time of a run was spent on: a run with more workers than it has work for waits for what is
// not the steps.
func spentLine(t *spent.Time) string {
	if t == nil {
		return ""
	}
	line := fmt.Sprintf("steps %.0f %% (%.1f workers at once)", 100*t.Steps, t.Workers)
	for _, wait := range []struct {
		share float64
		what  string
	}{
		{t.Writing, "writing"}, {t.Reading, "reading"}, {t.Paused, "paused"}, {t.NoProcess, "no process"},
		{t.Other, "other"},
	} {
		if wait.share >= 0.005 {
			line += fmt.Sprintf(", %s %.0f %%", wait.what, 100*wait.share)
		}
	}
	return line
}

// linkWords say what the runs are that come of a run.
var linkWords = map[landscape.Link]string{landscape.ForkLink: "forked", landscape.RetryLink: "retried"}

func linkLines(s *client.Status) [][]string {
	var lines [][]string
	if s.Parent != nil {
		lines = append(lines, []string{linkWords[s.Parent.Link], "from run " + s.Parent.Run})
	}
	for _, child := range s.Children {
		lines = append(lines, []string{linkWords[child.Link], "into run " + child.Run})
	}
	return lines
}

// rowsLine accounts for the rows in one line.
func rowsLine(s *client.Status) string {
	line := text.Count(s.Rows, "row") + " read"
	if s.Tokens > 0 {
		line += ", which became " + text.Count(s.Tokens, "token")
	}
	for _, part := range []struct {
		count int64
		word  string
	}{
		{s.Failed, "refused"}, {s.Quarantined, "of these in quarantine"}, {s.Filtered, "filtered"}, {s.Discarded, "discarded"},
		{s.Rows - s.Passed, "not finished"},
	} {
		if part.count > 0 {
			line += ", " + text.Grouped(part.count) + " " + part.word
		}
	}
	return line
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

// keptLine says until when what is deleted after a time is kept; nothing if nothing is deleted.
func keptLine(all []client.Kept) string {
	var parts []string
	hold := int64(0)
	for _, kept := range all {
		until := "for ever"
		if kept.Until.Known() {
			until = "until " + moment(kept.Until)
		}
		parts, hold = append(parts, fmt.Sprintf("%s %s", kept.Class, until)), max(hold, kept.Hold)
	}
	line := strings.Join(parts, ", ")
	if hold > 0 {
		line += fmt.Sprintf("; hold %d keeps all of it longer", hold)
	}
	return line
}
