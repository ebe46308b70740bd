package main

import (
	"github.com/spf13/cobra"

	"waymark/landscape"
	"waymark/workflows"
)

func (a *app) pauseCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "pause RUN --why TEXT",
		Short: "Pause a run once its work in flight is finished",
		Long: `Pauses a run where it is executed: the run finishes its work in flight, then waits until ` + "`waymark resume`" + ` continues it.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			return a.orderRun(cmd.Context(), args[0], func(home record, run landscape.Run) error {
				changed, err := home.Pause(cmd.Context(), run, a.by(why))
				if err != nil {
					return err
				}
				return a.printOrder(orderResult{Run: run.ID, Order: workflows.PauseUpdate, Changed: changed, Next: resumeWith(run.ID)}, "is paused")
			})
		},
	}
	whyFlag(cmd, &why)
	return cmd
}
