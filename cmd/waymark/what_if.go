package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waymark/audit"
	"waymark/client"
	"waymark/internal/text"
)

// whatIf is what a person wants to know of another document.
type whatIf struct {
	file    string
	version int64 // of the run's pipeline
	params  []string
	most    string  // as written
	flips   float64 // percent of the rows that may go another way
}

func (a *app) whatIfCommand() *cobra.Command {
	var o whatIf
	cmd := &cobra.Command{
		Use:   "what-if RUN --pipeline FILE|--version N",
		Short: "Show what another document would have done with a run's rows",
		Long: `Sends the stored source records of a complete run through another document, or another version of the run's pipeline, and shows which rows would have ended elsewhere, had other
values, or been refused. The document gets the run's parameters, unless --param gives others, and lookup tables as they are now,
or with --server those of the run. Nothing is
written or recorded. Exit code 3 if more rows go another way than --max-flips allows.

` + runArgument,
		Example:           `  waymark what-if last --pipeline stricter.yaml --max-flips 0.5%`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if (o.file == "") == (o.version == 0) {
				return wrongUsef("which document? --pipeline FILE names it, or --version N, of the run's pipeline")
			}
			if o.flips, err = strconv.ParseFloat(strings.TrimSuffix(o.most, "%"), 64); err != nil || o.flips < 0 || o.flips > 100 {
				return wrongUsef("--max-flips %q: write a share of the rows from 0%% to 100%%, such as 0.5%%", o.most)
			}
			return a.ask(cmd.Context(), func(home record) error { return a.whatIf(cmd.Context(), home, args[0], o) })
		},
	}
	cmd.Flags().StringVar(&o.file, "pipeline", "", "the `file` of the other document")
	cmd.Flags().Int64Var(&o.version, "version", 0, "the `number` of another version of the run's pipeline")
	cmd.Flags().StringVar(&o.most, "max-flips", "0%", "largest `share` of rows that may go another way")
	paramFlag(cmd, &o.params)
	return cmd
}

func (a *app) whatIf(ctx context.Context, home record, word string, o whatIf) error {
	params, err := parsePairs("--param", "NAME=VALUE", o.params)
	if err != nil {
		return err
	}
	trial, err := home.WhatIf(ctx, client.WhatIfRequest{Run: word, File: o.file, Version: o.version, Params: params})
	if err != nil {
		return err
	}
	code := exitDone
	if trial.Stops != "" || float64(trial.Flipped)*100 > o.flips*float64(trial.Rows) {
		code = exitRefused
	}
	return endWith(code, a.print(trial, func(w io.Writer) error {
		writeTrial(w, trial)
		return writeEnds(w, trial.Ends)
	}))
}

// mostEnds is how many ends a matrix has at most: more do not fit on a line.
const mostEnds = 8

// writeEnds writes where rows ended, and where they would, as a matrix; nothing if all rows end alike, or in too many ways.
func writeEnds(w io.Writer, cells []audit.Ends) error {
	m := audit.NewMatrix(cells, mostEnds)
	if m == nil {
		return nil
	}
	ends := make([]string, len(m.Ends))
	for i, end := range m.Ends {
		ends[i] = audit.EndWords(end)
	}
	sums := make([]int64, len(m.Ends)+1) // of the columns, and of all
	lines := [][]string{append(append([]string{"was \\ is"}, ends...), "was")}
	for i, name := range ends {
		line, sum := []string{name}, int64(0)
		for j, n := range m.Rows[i] {
			line, sum, sums[j] = append(line, text.Grouped(n)), sum+n, sums[j]+n
		}
		lines, sums[len(m.Ends)] = append(lines, append(line, text.Grouped(sum))), sums[len(m.Ends)]+sum
	}
	last := []string{"is"}
	for _, n := range sums {
		last = append(last, text.Grouped(n))
	}
	fmt.Fprintln(w)
	return text.Table(w, append(lines, last)...)
}
