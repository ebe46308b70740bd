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
		Short: "Let a run that is going begin nothing new until it is resumed",
		Long: `Lets a run finish what is on its way and then wait, where it is worked for, until ` + "`waymark resume`" + ` lets it go on.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			return a.query(cmd.Context(), args[0], func(r *record, run landscape.Run) error {
				if err := r.client.Pause(cmd.Context(), run, actor(), why); err != nil {
					return err
				}
				return a.printOrder(orderResult{Run: run.ID, Order: workflows.PauseUpdate, Next: goOnWith(run.ID)}, "is paused")
			})
		},
	}
	whyFlag(cmd, &why)
	return cmd
}
