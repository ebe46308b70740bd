package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) triggersArrivalsCommand() *cobra.Command {
	var p page
	var state string
	cmd := &cobra.Command{
		Use:   "arrivals TRIGGER",
		Short: "List what arrived at a trigger, and which run took it, the last first",
		Long: `Lists what arrived at a trigger, the last first: which run took it, or why none did. An item is the path of a file, RUN/SINK of another pipeline's output, webhook:// and the
receipt of a delivery, or rows:// and the number of a page of rows; each change of a file is another revision of it.`,
		Example: `  waymark triggers arrivals drop
  waymark triggers arrivals drop --only ready --limit 0`,
		Args: exactlyOne("trigger"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askTrigger(cmd, args[0], func(ctx context.Context, r record, id string) error {
				list, err := r.Arrivals(ctx, id, landscape.ArrivalState(state), p.after, p.limit)
				if err != nil {
					return err
				}
				lines := [][]string{{"item", "revision", "arrived", "state", "run", "reason"}}
				for i := range list {
					lines = append(lines, arrivalLine(&list[i]))
				}
				if n := len(list); n > 0 {
					p.note(a, n, list[n-1].ID)
				}
				return printList(a, list, func(w io.Writer) error { return text.Table(w, lines...) })
			})
		},
	}
	cmd.Flags().StringVar(&state, "only", "", "show only arrivals in this `state`: ready, taken, done, ignored or gone")
	p.addFlags(cmd, "arrivals", 50)
	return cmd
}

func arrivalLine(a *client.Arrival) []string {
	return []string{
		text.Cell(a.Item), fmt.Sprint(a.Revision), zoned(a.Arrived, ""), string(a.State), cmp.Or(a.Run, "-"), text.Cell(cmp.Or(a.Reason, "-")),
	}
}

func (a *app) triggersIgnoreCommand() *cobra.Command {
	var why string
	var all bool
	cmd := &cobra.Command{
		Use:   "ignore TRIGGER {ITEM | --all} --why TEXT",
		Short: "Let what arrived at a trigger, and waits, get no run",
		Long: `Lets what arrived at a trigger, and waits, get no run: one item, or with --all everything that waits, also at a trigger that was removed. What arrives later gets runs. It is recorded
who wanted that, and why.`,
		Example: `  waymark triggers ignore drop /data/in/broken.csv --why "the supplier sends it again"
  waymark triggers ignore old --all --why "the trigger is gone"`,
		Args: takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			if all == (len(args) == 2) {
				return wrongUsef("name one item, or say --all: waymark triggers arrivals %s --only ready lists what waits", args[0])
			}
			return a.askTrigger(cmd, args[0], func(ctx context.Context, r record, id string) error {
				var done client.ArrivalOrder
				var err error
				if all {
					done, err = r.IgnoreWaiting(ctx, id, a.by(why))
				} else {
					done, err = r.IgnoreArrival(ctx, id, args[1], a.by(why))
				}
				if err != nil {
					return err
				}
				return a.print(done, func(w io.Writer) error { return writeArrivalOrder(w, done, "ignored") })
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "everything that waits")
	whyFlag(cmd, &why)
	return cmd
}

func (a *app) triggersAgainCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "again TRIGGER ITEM --why TEXT",
		Short: "Let what arrived at a trigger arrive once more, so that a run reads it again",
		Long: `Lets what arrived at a trigger arrive once more, as another revision, so that a run reads it again: what a complete run has read, what was ignored, or what is there again. It is
recorded who wanted that, and why.`,
		Example: `  waymark triggers again drop /data/in/a.csv --why "the lookup table was wrong"`,
		Args:    takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			return a.askTrigger(cmd, args[0], func(ctx context.Context, r record, id string) error {
				done, err := r.ArriveAgain(ctx, id, args[1], a.by(why))
				if err != nil {
					return err
				}
				return a.print(done, func(w io.Writer) error { return writeArrivalOrder(w, done, "waiting for a run") })
			})
		},
	}
	whyFlag(cmd, &why)
	return cmd
}

// writeArrivalOrder says what became of an order.
func writeArrivalOrder(w io.Writer, done client.ArrivalOrder, now string) error {
	if done.Item == "" {
		_, err := fmt.Fprintf(w, "%s at trigger %s: %s now\n", text.Count(done.Count, "arrival"), done.Trigger, now)
		return err
	}
	_, err := fmt.Fprintf(w, "%s at trigger %s is %s%s\n", text.Cell(done.Item), done.Trigger, now, already(done.Count > 0))
	return err
}
