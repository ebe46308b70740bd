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
	var policy, record string
	cmd := &cobra.Command{
		Use:   "verify RUN | FILE",
		Short: "Verify a run by computing everything again, or an exported bundle or proof without the landscape",
		Long: `Reads every stored record, sends it through the steps again, compares the results and the published files with what is
recorded, and checks that every row is accounted for and that the schema is unchanged. Reports what was compared and what
was not. Changes nothing. Exit code 4 if something is wrong.

A file that waymark export wrote is a bundle. It is verified without landscape and network, and each check says what it proves and what it does
not. --policy names the trust policy that waymark keys policy prints; get it by another channel than the bundle. A file that waymark prove wrote is the
proof of one row, and is verified in the same way. A file is known by its content, whatever its name, and a name that ends with .zip or .proof is that of a file.

` + runArgument,
		Args:              exactlyOne("run, bundle or proof"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := kindOf(args[0])
			switch {
			case kind != "" && options.Deep:
				return wrongUsef("--deep is about a record, and %s is an exported file", args[0])
			case kind == proofFile:
				return a.verifyProof(args[0], policy, record)
			case record != "":
				return wrongUsef("--record is about a proof, and %q is none", args[0])
			case kind == bundleFile:
				return a.verifyBundle(args[0], policy)
			case policy != "":
				return wrongUsef("--policy is about a bundle or proof, and %q is neither", args[0])
			}
			if a.server != "" {
				return a.verifyAway(cmd.Context(), args[0], options)
			}
			o := a.options()
			o.Existing, o.Unchanged = true, true // the schema is what is verified as well
			return a.with(cmd.Context(), o, func(home *local.Home) error { return a.verify(cmd.Context(), home, args[0], options) })
		},
	}
	cmd.Flags().BoolVar(&options.Deep, "deep", false, "also check every row through the database's views, and a large database as a whole, which takes much longer")
	cmd.Flags().StringVar(&policy, "policy", "", "trust policy: the `file` that says which key the log has, and which witnesses must have cosigned it")
	cmd.Flags().StringVar(&record, "record", "", "of a proof: the `file` with the row's record as it was read, without its line end, to compare")
	return cmd
}

// verifyAway has the server verify a run.
func (a *app) verifyAway(ctx context.Context, word string, options audit.VerifyOptions) error {
	return a.ask(ctx, func(r record) error { return a.verify(ctx, r, word, options) })
}

func (a *app) verify(ctx context.Context, home record, word string, options audit.VerifyOptions) error {
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
