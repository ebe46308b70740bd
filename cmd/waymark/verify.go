package main

import (
	"github.com/spf13/cobra"

	"waymark/landscape"
)

func (a *app) verifyCommand() *cobra.Command {
	return &cobra.Command{
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
				report, err := auditor.Verify(cmd.Context(), run.ID)
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
}
