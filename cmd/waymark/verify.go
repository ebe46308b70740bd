package main

import (
	"context"

	"github.com/spf13/cobra"

	"waymark/audit"
	"waymark/client/local"
	"waymark/internal/memory"
)

func (a *app) verifyCommand() *cobra.Command {
	var options audit.VerifyOptions
	var policy string
	cmd := &cobra.Command{
		Use:   "verify RUN | FILE.zip",
		Short: "Verify a run, computing everything again, or a bundle of evidence, without the record",
		Long: `Reads every stored record again, sends it through the steps again, holds the results and the published files
against the record, and checks that every row is accounted for and that nobody changed the schema. Says what was compared,
and what was not. Changes nothing. Exit code 4 if something is wrong.

A name that ends with .zip is a bundle that waymark export wrote: it is verified without record and network, and each check says what it proves
and what not. --policy names the file that waymark keys policy prints, which came in another way than the bundle.

` + runArgument,
		Args:              exactlyOne("run or bundle"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case isBundle(args[0]) && options.Deep:
				return wrongUsef("--deep is about a record, and %s is a bundle", args[0])
			case isBundle(args[0]):
				return a.verifyBundle(args[0], policy)
			case policy != "":
				return wrongUsef("--policy is about a bundle, and %q does not end with .zip", args[0])
			}
			o := a.options()
			o.Existing, o.Unchanged = true, true // the schema is what is verified as well
			return a.with(cmd.Context(), o, func(home *local.Home) error { return a.verify(cmd.Context(), home, args[0], options) })
		},
	}
	cmd.Flags().BoolVar(&options.Deep, "deep", false, "ask the database about every row through its views as well, which takes much longer")
	cmd.Flags().StringVar(&policy, "policy", "", "trust policy: the `file` that says which key the log has")
	return cmd
}

func (a *app) verify(ctx context.Context, home *local.Home, word string, options audit.VerifyOptions) error {
	defer memory.Limit(verifyBytes, 100)()
	view := a.verifyView()
	options.Progress = view.show
	report, err := home.Verify(ctx, word, options)
	view.close()
	if err != nil {
		return err
	}
	code := exitDone
	if len(report.Problems) > 0 {
		code = exitUnverified
	}
	return endWith(code, a.print(report, report.WriteText))
}

// verifyBytes is for a verification. Measured with 200,000 groups and 100,000 rows beyond them: 340 and 412 MB with limits of 240 and
// 320 MB, and the same CPU time to a tenth.
const verifyBytes = 240 << 20
