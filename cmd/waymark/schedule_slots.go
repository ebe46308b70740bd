package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
)

// slotsOrder is one of the commands that ask for something about slots.
type slotsOrder func(*local.Home, context.Context, client.SlotsRequested) (*client.SlotsAsked, error)

// askSlots asks for something about slots of the schedule that word means, and says what that changes.
func (a *app) askSlots(cmd *cobra.Command, order slotsOrder, word string, r client.SlotsRequested, why string) error {
	r.By = a.by(why)
	return a.onSchedule(cmd, word, func(home *local.Home, id string) error {
		r.Schedule = id
		asked, err := order(home, cmd.Context(), r)
		if err != nil {
			return err
		}
		return a.print(asked, func(w io.Writer) error { return writeAsked(w, asked) })
	})
}

// asks says what happens to slots because somebody asked.
var asks = map[string]string{
	"run": "a worker starts the run of", "backfill": "workers start runs for", "retry": "workers make another attempt at", "make_up": "workers make up for",
	"skip": "no run is wanted for",
}

// settledText says why a request changes nothing.
func settledText(asked *client.SlotsAsked) string {
	if len(asked.Others) == 0 {
		return "no slot of " + asked.Schedule + " failed: nothing changed"
	}
	return fmt.Sprintf("taken care of already, nothing changed: %s of %s: %s", count(len(asked.Others), "slot"), asked.Schedule, names(asked.Others))
}

func writeAsked(w io.Writer, asked *client.SlotsAsked) error {
	if len(asked.Slots) == 0 {
		_, err := fmt.Fprintln(w, settledText(asked))
		return err
	}
	what := asks[asked.Action]
	if asked.DryRun { // of a backfill
		what = "would start runs for"
	}
	_, err := fmt.Fprintf(w, "%s %s of %s: %s\n", what, count(len(asked.Slots), "slot"), asked.Schedule, names(asked.Slots))
	if err == nil && len(asked.Others) > 0 {
		_, err = fmt.Fprintf(w, "as they are: %s\n", names(asked.Others))
	}
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// mostNamed is how many slots or ranges a line names at most.
const mostNamed = 20

// names lists slots, by their states; neighbours are first and last.
func names(slots []client.ScheduledSlot) string {
	var parts []string
	for i := 0; i < len(slots); {
		j := i + 1
		for j < len(slots) && slots[j].State == slots[i].State && slots[j].Place == slots[j-1].Place+1 {
			j++
		}
		if len(parts) == mostNamed {
			parts = append(parts, fmt.Sprintf("and %d more", len(slots)-i))
			break
		}
		part := slots[i].Name
		if j > i+1 {
			part += ".." + slots[j-1].Name
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", part, strings.ReplaceAll(string(slots[i].State), "_", " ")))
		i = j
	}
	return strings.Join(parts, ", ")
}

// rangeOf reads FIRST..LAST, or one slot.
func rangeOf(word string) (first, last string) {
	first, last, _ = strings.Cut(word, "..")
	return first, last
}

func (a *app) scheduleRunCommand() *cobra.Command {
	r := client.SlotsRequested{AtOnce: 1}
	var why string
	cmd := &cobra.Command{
		Use:   "run SCHEDULE",
		Short: "Start the run of one slot now",
		Long: `Requests the run of a slot, by default the last that was due. A worker, or waymark serve, starts it. A slot that is done gets
another run only with --again.`,
		Example: "  waymark schedule run nightly --for 2026-11-21",
		Args:    exactlyOne("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askSlots(cmd, (*local.Home).RunSlot, args[0], r, why)
		},
	}
	cmd.Flags().StringVar(&r.First, "for", "", "the `slot`, such as 2026-11-21 (default the last one that was due)")
	cmd.Flags().BoolVar(&r.Again, "again", false, "start a new run even if the slot is done")
	numberFlag(cmd.Flags(), &r.Version, "version", "", 1, 0, "`version` of the pipeline (default the current one)")
	whyFlag(cmd, &why)
	return cmd
}

func (a *app) scheduleBackfillCommand() *cobra.Command {
	r := client.SlotsRequested{AtOnce: 1}
	var why, slots string
	var only []string
	cmd := &cobra.Command{
		Use:   "backfill SCHEDULE [FIRST..LAST]",
		Short: "Start runs for the slots of a range that have none, or that failed",
		Long: `Requests runs for slots, also for slots that were due before the schedule existed. Slots that are done stay as they are. The request is recorded:
workers start its runs, --at-once at a time, even if this command or some of the workers end. FIRST and LAST are names of slots, or dates. With
for_each, a range covers the slots of all values, or those of one: 2026-10-01..2026-10-31/tenant=acme. Slots without time need no range.`,
		Example: `  waymark schedule backfill nightly 2026-10-01..2026-10-31 --at-once 4
  waymark schedule backfill nightly 2026-10-01..2026-10-31 --only failed --dry-run`,
		Args: takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) == 2 && slots != "" {
				return wrongUsef("write the slots once: FIRST..LAST, or --slot")
			}
			if len(args) == 2 {
				slots = args[1]
			}
			if r.First, r.Last = rangeOf(slots); r.First == "" && slots != "" {
				return wrongUsef("%q is no range: write FIRST..LAST, or one slot", slots)
			}
			if r.Only, err = statesOf(only); err != nil {
				return err
			}
			return a.askSlots(cmd, (*local.Home).Backfill, args[0], r, why)
		},
	}
	cmd.Flags().StringVar(&slots, "slot", "", "the `slots`, instead of FIRST..LAST: one, or a range")
	cmd.Flags().StringSliceVar(&only, "only", nil, "`states` of the slots that get a run: none, missed, failed, skipped (default none,missed,failed)")
	numberFlag(cmd.Flags(), &r.AtOnce, "at-once", "", 1, 1, "how many of the `runs` execute at once")
	numberFlag(cmd.Flags(), &r.Version, "version", "", 1, 0, "`version` of the pipeline, for all of the runs (default the one that is current when each begins)")
	cmd.Flags().BoolVar(&r.DryRun, "dry-run", false, "list the slots without requesting runs")
	whyFlag(cmd, &why)
	return cmd
}

// statesOf reads the states of slots for which a backfill begins runs.
func statesOf(words []string) (states []client.SlotState, err error) {
	for _, word := range words {
		switch word {
		case "none", "missed", "failed", "skipped":
			states = append(states, client.SlotState(word))
		default:
			return nil, wrongUsef("--only %s: write none, missed, failed or skipped, with commas between them", word)
		}
	}
	return states, nil
}

func (a *app) scheduleRetryCommand() *cobra.Command {
	r := client.SlotsRequested{AtOnce: 1}
	var why, slots string
	cmd := &cobra.Command{
		Use:   "retry SCHEDULE",
		Short: "Retry failed slots",
		Long:  "Requests another attempt at all failed slots, or those of --slot. If the run can be resumed, it is resumed; otherwise a new run starts.",
		Example: `  waymark schedule retry nightly
  waymark schedule retry nightly --slot 2026-11-06`,
		Args: exactlyOne("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.First, r.Last = rangeOf(slots)
			return a.askSlots(cmd, (*local.Home).RetrySlots, args[0], r, why)
		},
	}
	cmd.Flags().StringVar(&slots, "slot", "", "the `slots`: one, or FIRST..LAST")
	numberFlag(cmd.Flags(), &r.AtOnce, "at-once", "", 1, 1, "how many of the `runs` execute at once")
	whyFlag(cmd, &why)
	return cmd
}

func (a *app) scheduleSkipCommand() *cobra.Command {
	r := client.SlotsRequested{AtOnce: 1}
	var why, slots string
	cmd := &cobra.Command{
		Use:     "skip SCHEDULE --slot SLOT --why TEXT",
		Short:   "Skip slots, so that they get no run, even before they are due",
		Example: `  waymark schedule skip nightly --slot 2026-12-24 --why "the source is closed"`,
		Args:    exactlyOne("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			if slots == "" {
				return wrongUsef("say which: --slot SLOT, or --slot FIRST..LAST")
			}
			r.First, r.Last = rangeOf(slots)
			return a.askSlots(cmd, (*local.Home).SkipSlots, args[0], r, why)
		},
	}
	cmd.Flags().StringVar(&slots, "slot", "", "the `slots`: one, or FIRST..LAST")
	whyFlag(cmd, &why)
	return cmd
}
