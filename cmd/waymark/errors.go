package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
)

func (a *app) errorsCommand() *cobra.Command {
	var o retrying
	var p page
	var each bool
	cmd := &cobra.Command{
		Use:   "errors RUN",
		Short: "Show why rows were refused, or retry them",
		Long: `Shows why rows were refused, grouped by reason, with counts and samples; --each lists the rows one by one.

--retry sends each quarantined record once through a new run that is linked to this one. It uses the recorded bytes and the
recorded document, or the document that --pipeline names. With the same document, outputs get new names, such as
out/orders.retry-1.csv. Records of which some part reached a sink are left out and listed.

` + runArgument,
		Example: `  waymark errors last
  waymark errors last --retry --pipeline mended.yaml --why "amounts may be empty"`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			if !each && (cmd.Flags().Changed("limit") || cmd.Flags().Changed("after")) || each && o.wanted {
				return wrongUsef("--each lists errors one by one, --limit and --after say which: give all of them without --retry")
			}
			if o.wanted {
				ctx, stop := a.untilInterrupted(cmd.Context())
				defer stop()
				return a.retry(ctx, args[0], o)
			}
			return a.askRun(cmd.Context(), args[0], func(home record, run landscape.Run) error {
				if each {
					return a.listErrors(cmd.Context(), home, run, p)
				}
				groups, err := home.Errors(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				files, err := home.Files(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				return printList(a, groups, func(w io.Writer) error { return writeErrors(w, run, groups, files > 1) })
			})
		},
	}
	cmd.Flags().BoolVar(&each, "each", false, "list refused rows one by one, as TOKEN@NODE")
	p.addFlags(cmd, "errors", 50)
	o.addFlags(cmd)
	waitFlag(cmd.Flags(), &a.patience)
	return cmd
}

// listErrors lists errors one by one.
func (a *app) listErrors(ctx context.Context, home record, run landscape.Run, p page) error {
	list, err := home.RowErrors(ctx, run.ID, p.after, p.limit)
	if err != nil {
		return err
	}
	lines := [][]string{{"error", "line", "code", "field", "message", "sent to", "retried by"}}
	for _, e := range list {
		lines = append(lines, []string{
			e.ID, text.Grouped(e.Line), e.Code, e.Field, cmp.Or(e.Message, e.Forgotten), destination(e.SentTo),
			cmp.Or(e.RetriedBy, "-"),
		})
	}
	if n := len(list); n > 0 {
		p.note(a, n, list[n-1].ID)
	}
	return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
}

// writeErrors writes the groups for people; withFiles says in which file a line is.
func writeErrors(w io.Writer, run landscape.Run, groups []client.ErrorGroup, withFiles bool) error {
	if len(groups) == 0 {
		hint := ""
		if run.Status == pipeline.Failed {
			hint = "; the run failed for another reason: see waymark status " + run.ID
		}
		_, err := fmt.Fprintf(w, "no row of run %s was refused%s\n", run.ID, hint)
		return err
	}
	question := ""
	for _, group := range groups {
		fmt.Fprintf(w, "%s refused by %s: %s\n", text.Count(group.Count, "row"), group.Node, text.Cell(headline(group.ErrorGroup)))
		writeCauses(w, group)
		if group.Retried > 0 {
			commands := "waymark errors " + strings.Join(group.RetriedBy, ", waymark errors ")
			fmt.Fprintf(w, "  %s retried since: what was refused again is shown by %s\n", someOf(group.Retried), commands)
		}
		if group.Forgotten > 0 {
			fmt.Fprintf(w, "  %s %s\n", someOf(group.Forgotten), text.Cell(strings.Join(group.ForgottenBy, "; ")))
		}
		lines := make([][]string, len(group.Samples))
		for i, sample := range group.Samples {
			if sample.Forgotten != "" && sample.Message == "" {
				sample.Message = "forgotten"
			}
			if question == "" {
				question = sampleQuestion(&sample)
			}
			lines[i] = []string{"  " + sampleName(&sample), samplePlace(&sample, withFiles), sample.Message, "→ " + destination(sample.SentTo)}
		}
		if err := text.Table(w, lines...); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "waymark explain %s %s tells more about this one\n", run.ID, question)
	return err
}

// someOf begins a sentence about what happened to some of the rows of a group.
func someOf(n int64) string { return text.Grouped(n) + " of these " + text.Agree(n, "was", "were") }

// writeCauses says which values a group has and where in the source its rows are, if that says more than the samples.
func writeCauses(w io.Writer, group client.ErrorGroup) {
	if group.Values != nil {
		often := make([]string, len(group.Values))
		for i, v := range group.Values {
			often[i] = text.Visible(v.Value) + " in " + text.Count(v.Count, "row")
			if v.AtLeast {
				often[i] += " or more"
			}
		}
		fmt.Fprintln(w, "  often: "+strings.Join(often, " · "))
	}
	if group.Where != nil && group.Count > int64(len(group.Samples)) {
		first, last, count := group.Where.Densest()
		at := "at row " + text.Grouped(first)
		if last > first {
			at = fmt.Sprintf("between rows %s and %s", text.Grouped(first), text.Grouped(last))
		}
		fmt.Fprintf(w, "  where: [%s]  %s %s of the %s of %s\n", text.Bars(group.Where.Counts, count),
			text.Grouped(count), at, text.Grouped(group.Where.Rows), group.Where.Source)
	}
}

// sampleName names the token of a sample: a row of a source by its number, others by their ids.
func sampleName(s *client.ErrorSample) string {
	if s.Token != "" {
		return s.Token
	}
	return s.Source + " row " + fmt.Sprint(s.Row)
}

// sampleQuestion asks explain about the row.
func sampleQuestion(s *client.ErrorSample) string {
	if s.Token != "" {
		return "--token " + shellWord(s.Token)
	}
	return fmt.Sprintf("--source %s --row %d", s.Source, s.Row)
}

// samplePlace says where the record was read; rows that came out of a barrier were not.
func samplePlace(s *client.ErrorSample, withFiles bool) string {
	switch {
	case s.File == "":
		return "came out of " + s.Source
	case withFiles:
		return "line " + fmt.Sprint(s.Line) + " of " + s.File
	default:
		return "line " + fmt.Sprint(s.Line)
	}
}

// destination names where a refused row went.
func destination(sink string) string {
	switch sink {
	case pipeline.QuarantineSink:
		return "quarantine"
	case pipeline.DiscardSink:
		return "discarded"
	default:
		return sink
	}
}

func headline(group landscape.ErrorGroup) string {
	line := group.Code
	if group.Field != "" {
		line += ", " + group.Field
	}
	if group.Message != "" { // else its rows were forgotten
		line += ": " + group.Message
	}
	return line
}
