package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"waymark/audit"
	"waymark/landscape"
	"waymark/worker/storage"
)

func (a *app) verifyCommand() *cobra.Command {
	var options audit.VerifyOptions
	cmd := &cobra.Command{
		Use:   "verify RUN",
		Short: "Verify a run: compute everything again and compare it with the record",
		Long: `Reads every stored record again, sends it through the steps again, holds the results and the published files
against the record, and checks that every row is accounted for and that nobody changed the schema. Says what was compared,
and what was not. Changes nothing. Exit code 4 if something is wrong.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.verify(cmd.Context(), args[0], options)
		},
	}
	cmd.Flags().BoolVar(&options.Deep, "deep", false, "ask the database about every row through its views as well, which takes much longer")
	return cmd
}

func (a *app) verify(ctx context.Context, word string, options audit.VerifyOptions) (err error) {
	defer limitMemory(verifyBytes, 100)()
	record, err := a.openAsItIs(ctx)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, record.close) }()
	id := word // of a run that is not recorded there may be records; and a damaged record may not tell
	run, missing := record.client.Find(ctx, word)
	if missing == nil {
		id = run.ID
	}
	auditor, err := a.auditor(ctx, record)
	if err != nil {
		return err
	}
	view := a.verifyView()
	options.Progress = view.show
	report, err := auditor.VerifyWith(ctx, id, options)
	view.close()
	switch {
	case missing != nil && errors.Is(err, landscape.ErrNotFound):
		return missing
	case err != nil:
		return err
	}
	code := exitDone
	if len(report.Problems) > 0 {
		code = exitUnverified
	}
	return endWith(code, a.print(report, report.WriteText))
}

// openAsItIs opens the record, and leaves the schema of a file as it is: it is what is verified.
func (a *app) openAsItIs(ctx context.Context) (*record, error) {
	options := a.storage(false)
	options.SQLite = openSQLite(true)
	return a.openedRecord(storage.OpenLandscape(ctx, options))
}
