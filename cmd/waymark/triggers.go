package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
)

func (a *app) triggersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "triggers",
		Short: "List the triggers of deployed pipelines, which begin runs as something arrives; pause and resume them",
		Long: `Lists the triggers of deployed pipelines: what arrives (files, outputs of another pipeline, rows of a table, or deliveries that others post), how many of these wait for a run and since when, how
many are gone before a run took them or are ignored, how many are on the lists of runs that are not complete, when somebody looked last for what arrives, and why that failed. A trigger that was removed is listed
as long as something waits for it.`,
		Example: `  waymark triggers
  waymark triggers arrivals drop
  waymark triggers pause drop --why "the supplier sends rubbish"
  waymark triggers resume orders/drop`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd.Context(), func(home record) error {
				list, err := home.Triggers(cmd.Context(), cmd.Flag(inEnvironment).Value.String())
				if err != nil {
					return err
				}
				lines := [][]string{{"trigger", "source", "brings", "version", "waiting", "oldest", "gone", "ignored", "taken", "runs", "looked", "paused", "error"}}
				for i := range list {
					lines = append(lines, triggerLine(&list[i]))
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
	cmd.PersistentFlags().String(inEnvironment, "", "`environment` in which the pipeline is deployed (default all); also --env")
	cmd.AddCommand(a.triggersArrivalsCommand(), a.triggersPauseCommand(), a.triggersResumeCommand(), a.triggersIgnoreCommand(), a.triggersAgainCommand(), a.triggersTestCommand())
	return cmd
}

// askTrigger asks the record about the trigger that word means in the environment of the command, which do gets by its id.
func (a *app) askTrigger(cmd *cobra.Command, word string, do func(ctx context.Context, r record, id string) error) error {
	return a.ask(cmd.Context(), func(r record) error {
		id, err := r.TriggerID(cmd.Context(), cmd.Flag(inEnvironment).Value.String(), word)
		if err != nil {
			return err
		}
		return do(cmd.Context(), r, id)
	})
}

func triggerLine(t *client.Trigger) []string {
	paused := "-"
	if t.Paused {
		paused = fmt.Sprintf("by %s: %s", t.Actor, t.Why)
	}
	brings, version := string(t.Kind), fmt.Sprint(t.Version)
	if t.After != nil {
		brings = t.After.Pipeline + "/" + t.After.Sink
	}
	if t.Removed {
		version = "removed"
	}
	count := func(n int64) string { return fmt.Sprint(n) }
	return []string{
		t.ID, t.Source, brings, version, count(t.Waiting), zoned(t.Oldest, ""), count(t.Gone), count(t.Ignored), count(t.Taken), count(t.Runs), zoned(t.Looked, ""), text.Cell(paused), text.Cell(cmp.Or(t.Error, "-")),
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
			return a.askTrigger(cmd, args[0], func(ctx context.Context, r record, id string) error {
				done, err := r.PauseTrigger(ctx, id, a.by(why))
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
			return a.askTrigger(cmd, args[0], func(ctx context.Context, r record, id string) error {
				done, err := r.ResumeTrigger(ctx, id, a.by(why))
				if err != nil {
					return err
				}
				return a.print(done, func(w io.Writer) error {
					waits := done.Kind.Count(done.Waiting) + text.Agree(done.Waiting, " waits", " wait")
					_, err := fmt.Fprintf(w, "trigger %s is resumed%s; %s\n", done.ID, already(done.Changed), waits)
					return err
				})
			})
		},
	}
	whyFlag(cmd, &why)
	return cmd
}
