package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/pipeline"
	"waymark/pipeline/calendar"
)

func (a *app) scheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedule", Short: "Create, list, pause, backfill and retry the schedules of deployed pipelines", Args: noArgs,
		RunE: help,
	}
	deployed := []*cobra.Command{
		a.scheduleListCommand(), a.scheduleNextCommand(), a.scheduleGridCommand(), a.scheduleHistoryCommand(), a.schedulePauseCommand(), a.scheduleResumeCommand(), a.scheduleDeleteCommand(),
		a.scheduleRunCommand(), a.scheduleBackfillCommand(), a.scheduleRetryCommand(), a.scheduleSkipCommand(),
	}
	for _, sub := range deployed {
		sub.Flags().String(inEnvironment, "", "`environment` in which the pipeline is deployed (default all); also --env")
	}
	cmd.AddCommand(deployed...)
	cmd.AddCommand(a.scheduleCreateCommand())
	return cmd
}

// inEnvironment is the flag that chooses among the schedules of several environments.
const inEnvironment = "environment"

// askSchedule asks the record about the schedule that word means in the environment of the command, which do gets by its id.
func (a *app) askSchedule(cmd *cobra.Command, word string, do func(r record, id string) error) error {
	return a.ask(cmd.Context(), func(r record) error {
		id, err := r.ScheduleID(cmd.Context(), cmd.Flag(inEnvironment).Value.String(), word)
		if err != nil {
			return err
		}
		return do(r, id)
	})
}

// onSchedule opens what is there and does something with the schedule that word means in the environment of the command, which it gets by its id.
func (a *app) onSchedule(cmd *cobra.Command, word string, do func(home *local.Home, id string) error) error {
	return a.existing(cmd.Context(), func(home *local.Home) error {
		id, err := home.ScheduleID(cmd.Context(), cmd.Flag(inEnvironment).Value.String(), word)
		if err != nil {
			return err
		}
		return do(home, id)
	})
}

func (a *app) scheduleNextCommand() *cobra.Command {
	r := client.SlotsRequest{}
	cmd := &cobra.Command{
		Use:   "next SCHEDULE | FILE [NAME]",
		Short: "List the slots that are due next: of a schedule of a deployed pipeline, or of the schedules of a document",
		Long: `Lists the slots that are due next: what each covers, and when it is due. Times are in the schedule's zone, with their offset
from UTC. Days that a clock change makes longer or shorter are marked, and so are those that except leaves out,
or that somebody skipped or ran already.`,
		Example: `  waymark schedule next nightly
  waymark schedule next pipeline.yaml
  waymark schedule next pipeline.yaml nightly --from 2026-03-28 --count 3`,
		Args: takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Now = time.Now()
			if len(args) == 1 && namesSchedule(args[0]) {
				return a.nextSlots(cmd, args[0], r)
			}
			r.File = args[0]
			if len(args) == 2 {
				r.Schedule = args[1]
			}
			slots, err := client.Slots(r)
			if err != nil {
				return err
			}
			return printList(a, slots, func(w io.Writer) error { return writeSlots(w, slots) })
		},
	}
	cmd.Flags().IntVarP(&r.Count, "count", "n", 10, "how many `slots` to list")
	cmd.Flags().StringVar(&r.From, "from", "", "list what is due from this `time` on: a date in the schedule's zone, or an instant such as 2026-11-21T02:30:00Z (default now)")
	return cmd
}

// namesSchedule reports whether a word can only be the name of a schedule: no file has it, and schedules may.
func namesSchedule(word string) bool {
	_, err := os.Stat(word)
	noName := func(part string) bool { return pipeline.CheckName(part) != nil }
	return err != nil && !slices.ContainsFunc(strings.Split(word, "/"), noName)
}

// nextSlots lists the next slots of a schedule of a deployed pipeline.
func (a *app) nextSlots(cmd *cobra.Command, word string, r client.SlotsRequest) error {
	return a.onSchedule(cmd, word, func(home *local.Home, id string) error {
		r.Schedule = id
		slots, err := home.NextSlots(cmd.Context(), r)
		if err != nil {
			return err
		}
		return printList(a, slots, func(w io.Writer) error { return writeSlots(w, slots) })
	})
}

// writeSlots writes a table of slots, with the columns that they need.
func writeSlots(w io.Writer, slots []client.Slot) error {
	several, delayed, promised, layout := false, false, false, "2006-01-02 15:04 -07:00"
	for _, slot := range slots {
		several = several || slot.Schedule != slots[0].Schedule
		delayed = delayed || !slot.Start.Equal(slot.Due)
		promised = promised || !slot.Promised.IsZero()
		if slot.From.Second() != 0 || slot.Start.Second() != 0 {
			layout = "2006-01-02 15:04:05 -07:00"
		}
	}
	row := func(schedule, start, by string, others ...string) []string {
		var cells []string
		if several {
			cells = append(cells, schedule)
		}
		cells = append(cells, others[:4]...)
		if delayed {
			cells = append(cells, start)
		}
		if promised {
			cells = append(cells, by)
		}
		return append(cells, others[4:]...)
	}
	lines := [][]string{row("schedule", "start", "promised", "slot", "from", "to", "due", "zone", "")}
	for _, slot := range slots {
		zone, err := time.LoadLocation(slot.Zone)
		if err != nil {
			return err
		}
		show := func(at time.Time) string { return at.In(zone).Format(layout) }
		by := "-"
		if !slot.Promised.IsZero() {
			by = show(slot.Promised)
		}
		lines = append(lines, row(slot.Schedule, show(slot.Start), by, slot.Name, show(slot.From), show(slot.To), show(slot.Due), slot.Zone, marks(slot)))
	}
	return text.Table(w, lines...)
}

// marks says what is special about a slot.
func marks(slot client.Slot) string {
	var marks []string
	if slot.Longer != 0 {
		marks = append(marks, fmt.Sprintf("clocks change: lasts %g h", slot.To.Sub(slot.From).Hours()))
	}
	switch slot.ClockChange {
	case calendar.Shifted:
		marks = append(marks, "clocks skip the time at which it is due")
	case calendar.Repeated:
		marks = append(marks, "clocks show the time twice: due at the first")
	}
	if slot.Except {
		marks = append(marks, "excepted: no run")
	}
	if slot.Skipped != "" {
		marks = append(marks, slot.Skipped)
	}
	switch {
	case slot.Run != "":
		marks = append(marks, fmt.Sprintf("%s already: run %s", slot.State, slot.Run))
	case slot.State != "":
		marks = append(marks, string(slot.State)+" already")
	}
	return strings.Join(marks, "; ")
}
