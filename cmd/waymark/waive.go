package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) waiveCommand() *cobra.Command {
	var why string
	var p proposal
	cmd := &cobra.Command{
		Use:   "waive RUN POLICY --why TEXT",
		Short: "Let a run publish its outputs although a policy did not pass",
		Long: `Records that a policy of the pipeline's document need not pass for this run, who decided that, and why. Then ` + "`waymark resume`" + `
publishes the outputs, if no other policy keeps the run from it. ` + "`waymark status`" + ` shows the policies of a run and their results.

` + runArgument,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("takes a run and a policy, not %s (put a name with spaces in quotes): %s",
					text.Count(int64(len(args)), "word"), cmd.UseLine())
			}
			return nil
		},
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(whyGiven(why), p.check(why)); err != nil {
				return err
			}
			if p.propose {
				return a.propose(cmd, p, local.ProposeRequest{Verb: landscape.OrderWaive, Run: args[0], Args: map[string]string{"policy": args[1]}, Why: why})
			}
			return a.query(cmd.Context(), args[0], func(home *local.Home, run landscape.Run) error {
				done, err := home.Waive(cmd.Context(), run, args[1], a.by(why))
				if err != nil {
					return err
				}
				did := fmt.Sprintf("has policy %q waived", args[1])
				return a.printOrder(orderResult{Run: run.ID, Order: landscape.VerbWaive, Changed: done.Changed, Next: adviceText(done.Advice, run.ID)}, did)
			})
		},
	}
	whyFlag(cmd, &why)
	p.flags(cmd)
	return cmd
}
