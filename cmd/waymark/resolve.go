package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

// decision is what a person found out about an effect that nobody knew the end of.
type decision struct {
	applied, notApplied bool
	why                 string
}

func (a *app) resolveCommand() *cobra.Command {
	var d decision
	var p proposal
	cmd := &cobra.Command{
		Use:   "resolve RUN EFFECT --applied|--not-applied --why TEXT",
		Short: "Record whether a blocked write reached its target",
		Long: `Records whether a write reached its target when the target itself cannot say: look there, then pass --applied or
--not-applied, and say how you know. EFFECT is the id that ` + "`waymark effects`" + ` shows.

--applied      the part counts as written
--not-applied  the part is written when the run is resumed, without asking the target again

` + runArgument,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				given := text.Count(int64(len(args)), "word")
				return fmt.Errorf("takes a run and an effect, not %s: %s", given, cmd.UseLine())
			}
			return nil
		},
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(d.check(), p.check(d.why)); err != nil {
				return err
			}
			if p.propose {
				return a.propose(cmd, p, local.ProposeRequest{Verb: landscape.OrderDecide, Run: args[0], Args: map[string]string{"applied": fmt.Sprint(d.applied), "effect": args[1]}, Why: d.why})
			}
			return a.askRun(cmd.Context(), args[0], func(home record, run landscape.Run) error {
				return a.resolve(cmd.Context(), home, run, args[1], d)
			})
		},
	}
	whyFlag(cmd, &d.why)
	p.flags(cmd)
	cmd.Flags().BoolVar(&d.applied, "applied", false, "the write reached the target")
	cmd.Flags().BoolVar(&d.notApplied, "not-applied", false, "nothing of the write reached the target")
	return cmd
}

func (d decision) check() error {
	if d.applied == d.notApplied {
		return wrongUsef("say what you found: --applied or --not-applied")
	}
	return whyGiven(d.why)
}

func (a *app) resolve(ctx context.Context, home record, run landscape.Run, effect string, d decision) error {
	done, err := home.Resolve(ctx, run, effect, d.applied, a.by(d.why))
	if err != nil {
		return err
	}
	did := "has " + effect + " on record as applied"
	if d.notApplied {
		did = "will write " + effect + " again"
	}
	return a.printOrder(orderResult{Run: run.ID, Order: "resolve", Changed: done.Changed, Next: adviceText(done.Advice, run.ID)}, did)
}
