package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/audit"
	"waymark/audit/compare"
	"waymark/client"
	"waymark/internal/text"
)

func (a *app) compareCommand() *cobra.Command {
	filter, rows, p := compare.Filter{}, false, page{}
	cmd := &cobra.Command{
		Use:   "compare [EARLIER] RUN",
		Short: "Show which rows two runs treated differently, and the first node at which they did",
		Long: `Compares what two complete runs made of the same rows: where each row ended in both, and the first node at which the two made something else
of it. Rows are the same if they are equal as they were read, wherever they stand. It reads ways and hashes from the landscape, computes nothing
again, and needs no payloads. Rows that aggregates and other barriers make are not compared one by one; outputs are compared as a whole, and by the fields and types
of their schemas. EARLIER is by default the last run of the same pipeline that was complete before. Exit code 3 if the runs differ in a row.

--rows lists the rows that differ in anything, one by one; with --kind, --node, --from and --to those of which all of that is so. --from and --to are where
a row ended, as the comparison writes it: with both it may be one that ended alike. A list has exit code 0.

` + runArgument,
		Example: `  waymark compare last
  waymark compare 0198c1 last
  waymark compare last --rows --node triage --limit 10`,
		Args:              takes(1, 2),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			was, is := "", args[len(args)-1]
			if len(args) > 1 {
				was = args[0]
			}
			if !rows && (filter != (compare.Filter{}) || cmd.Flags().Changed("limit") || cmd.Flags().Changed("after")) {
				return wrongUsef("--kind, --node, --from, --to, --limit and --after say which rows to list: add --rows")
			}
			return a.ask(cmd.Context(), func(home record) error {
				if rows {
					return a.listCompared(cmd.Context(), home, was, is, filter, p)
				}
				return a.compare(cmd.Context(), home, was, is)
			})
		},
	}
	cmd.Flags().BoolVar(&rows, "rows", false, "list rows one by one")
	cmd.Flags().StringVar((*string)(&filter.Kind), "kind", "", "list the rows that are `flipped` (ended elsewhere), refused (of these, those that passed before) or changed (ended alike and had other values on the way)")
	cmd.Flags().StringVar(&filter.Node, "node", "", "list the rows that went apart first at this `node`")
	cmd.Flags().StringVar(&filter.From, "from", "", "list the rows that ended `there` in the earlier run")
	cmd.Flags().StringVar(&filter.To, "to", "", "list the rows that ended `there` in this run")
	p.addFlags(cmd, "rows", 50)
	return cmd
}

// listCompared lists the rows of two runs that a filter selects.
func (a *app) listCompared(ctx context.Context, home record, was, is string, filter compare.Filter, p page) error {
	filter.From, filter.To = audit.StoredEnd(filter.From), audit.StoredEnd(filter.To)
	rows, err := home.ComparedRows(ctx, was, is, filter, p.after, p.limit)
	if err != nil {
		return err
	}
	lines := [][]string{{"earlier", "now", "went apart at", "ended earlier", "ended now"}}
	for _, r := range rows {
		lines = append(lines, []string{r.Was, r.Is, r.Node, audit.EndWords(r.From), audit.EndWords(r.To)})
	}
	if n := len(rows); n > 0 {
		p.note(a, n, rows[n-1].Was)
	}
	return printList(a, rows, func(w io.Writer) error { return text.Table(w, lines...) })
}

func (a *app) compare(ctx context.Context, home record, was, is string) error {
	found, err := home.Compare(ctx, was, is)
	if err != nil {
		return err
	}
	code := exitDone
	if !found.Same() {
		code = exitRefused
	}
	return endWith(code, a.print(found, func(w io.Writer) error { return writeComparison(w, found) }))
}

// writeComparison says how two runs differ: in what they were told, in what they read, and in what they made of that.
func writeComparison(w io.Writer, c *client.Comparison) error {
	fmt.Fprintf(w, "earlier: run %s of %s; now: run %s of %s\n", c.Was.ID, c.Was.Pipeline, c.Is.ID, c.Is.Pipeline)
	writeToldOtherwise(w, c)
	for _, s := range c.Sources {
		fmt.Fprintf(w, "  source %s: %s\n", s.Name, sourceWords(s))
	}
	fmt.Fprintf(w, "%s in both: %s ended elsewhere, of these %s %s refused now; "+
		"%s more ended alike and had other values on the way\n",
		text.Count(c.Rows, "row"), text.Grouped(c.Flipped), text.Grouped(c.Refused), text.Agree(c.Refused, "is", "are"),
		text.Grouped(c.Changed))
	if len(c.Barriers) > 0 {
		fmt.Fprintf(w, "  not compared row by row: what %s made of many rows\n", strings.Join(c.Barriers, ", "))
	}
	for _, o := range c.Outputs {
		if !o.Same {
			fmt.Fprintf(w, "  output %s differs: %s and %s\n", o.Sink, outputRows(o.Was), outputRows(o.Is))
		}
		for _, f := range o.Fields {
			fmt.Fprintf(w, "  output %s, field %s: %s → %s\n", o.Sink, text.Cell(f.Field), f.Was.Text(), f.Is.Text())
		}
	}
	for _, b := range c.Disagreed {
		fmt.Fprintf(w, "  went apart at %s: %s, of which %s ended elsewhere, such as %s\n", b.Node, text.Count(b.Rows, "row"), text.Grouped(b.Flipped), pairsText(b.Examples))
	}
	for _, f := range c.Flips {
		was, is := audit.EndWords(f.From), audit.EndWords(f.To)
		fmt.Fprintf(w, "  %s → %s: %s, such as %s\n", was, is, text.Count(f.Rows, "row"), pairsText(f.Examples))
	}
	if c.Flipped == 0 {
		return nil
	}
	return writeEnds(w, c.Ends)
}

// writeToldOtherwise says what the runs were told otherwise.
func writeToldOtherwise(w io.Writer, c *client.Comparison) {
	for _, p := range c.Params {
		fmt.Fprintf(w, "  parameter %s: %s → %s\n", p.Name, setting(p.Was), setting(p.Is))
	}
	for _, change := range c.Changes {
		fmt.Fprintf(w, "  document %s %s: %s → %s\n", change.Change, text.Cell(change.Path), text.Cell(change.Before), text.Cell(change.After))
	}
	if !c.Code {
		fmt.Fprintln(w, "  by different versions of Waymark")
	}
}

func outputRows(rows *int64) string {
	if rows == nil {
		return "nothing published"
	}
	return text.Count(*rows, "row")
}

func setting(value *string) string {
	if value == nil {
		return "not given"
	}
	return text.Cell(*value)
}

// sourceWords says which rows of a source the runs have in common.
func sourceWords(s compare.Source) string {
	if s.Was == s.Is && s.Moved+s.OnlyWas+s.OnlyIs+s.NotPaired+s.Forgotten == 0 {
		return fmt.Sprintf("the same %s", text.Count(s.Was, "row"))
	}
	words := fmt.Sprintf("%s and %s", text.Count(s.Was, "row"), text.Count(s.Is, "row"))
	for _, part := range []struct {
		n    int64
		text string
	}{
		{s.Moved, "at another place"}, {s.OnlyWas, "only in the first run"}, {s.OnlyIs, "only in the second run"},
		{s.NotPaired, "of the first run not looked for: too many stand elsewhere"}, {s.Forgotten, "forgotten since, which cannot be compared"},
	} {
		if part.n > 0 {
			words += fmt.Sprintf(", %s %s", text.Grouped(part.n), part.text)
		}
	}
	return words
}

// pairsText names rows, with both names where these differ.
func pairsText(pairs []compare.Pair) string {
	var words []string
	for _, p := range pairs {
		if p.Was == p.Is {
			words = append(words, p.Was)
		} else {
			words = append(words, p.Was+" = "+p.Is)
		}
	}
	return strings.Join(words, ", ")
}
