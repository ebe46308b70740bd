package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
)

func (a *app) triggersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "triggers",
		Short: "List the triggers of deployed pipelines, which begin runs as files or outputs arrive; pause and resume them",
		Long: `Lists the triggers of deployed pipelines: how many files, or outputs of another pipeline, wait for a run and since when, how many are on the lists of runs that are not complete,
when somebody looked last for what arrives, and why that failed.`,
		Example: `  waymark triggers
  waymark triggers pause drop --why "the supplier sends rubbish"
  waymark triggers resume orders/drop`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				list, err := home.Triggers(cmd.Context(), cmd.Flag(inEnvironment).Value.String())
				if err != nil {
					return err
				}
				lines := [][]string{{"trigger", "source", "after", "version", "waiting", "oldest", "taken", "runs", "looked", "paused", "error"}}
				for i := range list {
					lines = append(lines, triggerLine(&list[i]))
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
	cmd.PersistentFlags().String(inEnvironment, "", "`environment` in which the pipeline is deployed (default all); also --env")
	cmd.AddCommand(a.triggersPauseCommand(), a.triggersResumeCommand())
	return cmd
}

func triggerLine(t *client.Trigger) []string {
	paused := "-"
	if t.Paused {
		paused = fmt.Sprintf("by %s: %s", t.Actor, t.Why)
	}
	after := "-"
	if t.After != nil {
		after = t.After.Pipeline + "/" + t.After.Sink
	}
	count := func(n int64) string { return fmt.Sprint(n) }
	return []string{
		t.ID, t.Source, after, count(t.Version), count(t.Waiting), zoned(t.Oldest, ""), count(t.Taken), count(t.Runs), zoned(t.Looked, ""), text.Cell(paused), text.Cell(cmp.Or(t.Error, "-")),
	}
}

func (a *app) triggersPauseCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "pause TRIGGER --why TEXT",
		Short: "Pause a trigger, so that it begins no runs",
		Long: `Pauses a trigger until it is resumed: it begins no runs. Runs that are executing continue. What arrives meanwhile is recorded, and gets runs when the trigger
is resumed.`,
		Example: `  waymark triggers pause drop --why "the supplier sends rubbish"`,
		Args:    exactlyOne("trigger"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				done, err := home.PauseTrigger(cmd.Context(), cmd.Flag(inEnvironment).Value.String(), args[0], a.by(why))
				if err != nil {
					return err
				}
				return a.print(done, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "trigger %s is paused%s; resume it: waymark triggers resume %[1]s\n", done.ID, already(done.Changed))
					return err
				})
			})
		},
	}
	whyFlag(cmd, &why)
	return cmd
}

func (a *app) triggersResumeCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:     "resume TRIGGER",
		Short:   "Resume a paused trigger, so that it begins runs again, also of what arrived meanwhile",
		Example: `  waymark triggers resume drop`,
		Args:    exactlyOne("trigger"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				done, err := home.ResumeTrigger(cmd.Context(), cmd.Flag(inEnvironment).Value.String(), args[0], a.by(why))
				if err != nil {
					return err
				}
				return a.print(done, func(w io.Writer) error {
					wait := "files wait"
					if done.Waiting == 1 {
						wait = "file waits"
					}
					_, err := fmt.Fprintf(w, "trigger %s is resumed%s; %d %s\n", done.ID, already(done.Changed), done.Waiting, wait)
					return err
				})
			})
		},
	}
	whyFlag(cmd, &why)
	return cmd
}
