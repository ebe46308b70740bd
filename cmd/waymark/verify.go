package main

import (
	"github.com/spf13/cobra"

	"waymark/audit"
	"waymark/landscape"
)

func (a *app) verifyCommand() *cobra.Command {
	var options audit.VerifyOptions
	cmd := &cobra.Command{
		Use:   "verify RUN",
		Short: "Check everything on record about a run against what is there",
		Long: `Reads every stored record again, sends it through the steps again, holds the results and the published files
against the record, and checks that every row is accounted for. Changes nothing. Exit code 4 if something is wrong.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.query(cmd.Context(), args[0], func(r *record, run landscape.Run) error {
				auditor, err := a.auditor(cmd.Context(), r)
				if err != nil {
					return err
				}
				report, err := auditor.VerifyWith(cmd.Context(), run.ID, options)
				if err != nil {
					return err
				}
				code := exitDone
				if len(report.Problems) > 0 {
					code = exitUnverified
				}
				return endWith(code, a.print(report, report.WriteText))
			})
		},
	}
	cmd.Flags().BoolVar(&options.Deep, "deep", false, "ask the database of every row through its views as well, which takes much longer")
	return cmd
}
