package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
)

func (a *app) outputsCommand() *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use:   "outputs TARGET",
		Short: "List the runs that wrote to a file, bucket or table, and show which one made its present content",
		Long: `Lists the runs that published an output at a target, newest first, and shows which of them made its present content. The target is read and
compared with the recorded digests. If no published digest matches, something other than a run changed the target.

TARGET is a path, s3://BUCKET/PREFIX, postgres://HOST/DATABASE/SCHEMA.TABLE, or the name of a table. For a table, the entries that runs left
beside it are compared, not its rows: waymark attest compares these, and what it found last is shown. Of the newest output it shows which fields
the rows have, and of which types.`,
		Example: `  waymark outputs out/review.csv
  waymark outputs s3://birds/out/all
  waymark outputs dw.orders --json`,
		Args: exactlyOne("target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				outputs, err := home.Outputs(cmd.Context(), args[0], limit)
				if err != nil {
					return err
				}
				return a.print(outputs, func(w io.Writer) error { return writeOutputs(w, outputs) })
			})
		},
	}
	numberFlag(cmd.Flags(), &limit, "limit", "n", 0, 10, "how many `outputs` to show, 0 for all")
	return cmd
}

func writeOutputs(w io.Writer, o *client.TargetOutputs) error {
	lines := [][]string{{"target", o.Target}, {"now", nowText(o)}}
	if o.Detail != "" {
		lines = append(lines, []string{"found", text.Cell(oneLine(o.Detail))})
	}
	if o.Writing != "" {
		lines = append(lines, []string{"written by", "run " + o.Writing + ", which has not published yet"})
	}
	if err := text.Table(w, lines...); err != nil || len(o.Published) == 0 {
		return err
	}
	table := [][]string{{"published", "run", "pipeline", "sink", "slot", "rows", "bytes", "sha256", "there", "attested"}}
	for _, p := range o.Published {
		table = append(table, []string{
			moment(p.At), p.Run, p.Pipeline, p.Sink, cmp.Or(p.Slot, "-"), text.Grouped(p.Rows), text.Grouped(p.Bytes), fmt.Sprintf("%.12s", p.SHA256),
			map[bool]string{true: "yes", false: "-"}[p.There], attestedText(p.Attested),
		})
	}
	fmt.Fprintln(w)
	if err := text.Table(w, table...); err != nil {
		return err
	}
	return writeSchema(w, o.Published[0])
}

// writeSchema says which fields the rows of an output have.
func writeSchema(w io.Writer, p client.Publication) error {
	if p.Schema == nil {
		return nil
	}
	fmt.Fprintf(w, "\nfields of the output of run %s:\n", p.Run)
	table := [][]string{{"field", "values", "known"}}
	for _, f := range p.Schema.Fields {
		table = append(table, []string{text.Cell(f.Name), f.Text(), map[bool]string{true: "as seen", false: "as declared"}[f.Seen]})
	}
	if p.Schema.Others {
		table = append(table, []string{"others", "any", "too many to name"})
	}
	return text.Table(w, table...)
}

// attestedText says what the newest attestation found, and when.
func attestedText(a *client.SinkAttested) string {
	if a == nil {
		return "-"
	}
	return string(a.Result) + " " + moment(a.At)
}

// rowsText says what is known of a table's rows.
func rowsText(published []client.Publication) string {
	for _, p := range published {
		if p.There && p.Attested != nil {
			return fmt.Sprintf("rows of run %s were found %s at %s", p.Run, p.Attested.Result, moment(p.Attested.At))
		}
	}
	return "nobody read its rows again (waymark attest " + published[0].Run + ")"
}

// nowText says who made what a target holds.
func nowText(o *client.TargetOutputs) string {
	switch o.State {
	case client.OutputPublished:
		if o.Table {
			return "the entries of run " + o.Run + " are beside it: " + rowsText(o.Published)
		}
		if last := o.Published[0].Run; last != o.Run {
			return "as run " + o.Run + " published it: somebody put it back after run " + last
		}
		return "as run " + o.Run + " published it"
	case client.OutputChanged:
		if o.Table && slices.ContainsFunc(o.Published, func(p client.Publication) bool { return p.There }) {
			return "the entries of runs are beside it, and rows were changed since"
		}
		return "nobody's: it was changed since run " + o.Published[0].Run + " published it"
	case client.OutputWriting:
		return "nothing was published yet"
	default:
		return "unknown"
	}
}
