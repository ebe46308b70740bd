package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/pipeline"
)

func (a *app) scheduleGridCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "grid SCHEDULE",
		Short: "Show what became of each slot of a schedule",
		Long: `Shows the slots of a schedule, by default the last 31 that were due, and what became of each:

  ✓ done   ◑ done, with refused rows   ✗ failed   – skipped   ○ missed   ● running   … due   · never rang, or to come   ▲ was late

Below it is what a person may want to do something about.`,
		Example: `  waymark schedule grid nightly
  waymark schedule grid nightly --from 2026-11-01 --to 2026-11-30`,
		Args: exactlyOne("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				grid, err := home.ScheduleGrid(cmd.Context(), args[0], from, to)
				if err != nil {
					return err
				}
				return a.print(grid, func(w io.Writer) error { return writeGrid(w, grid) })
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the first `slot`, or a date")
	cmd.Flags().StringVar(&to, "to", "", "the last `slot`, or a date (default the one that was due last)")
	return cmd
}

// A line of the grid has at most so many slots, and characters.
const (
	perLine   = 31
	lineWidth = 140
)

func writeGrid(w io.Writer, grid *client.Grid) error {
	var b strings.Builder
	from := fmt.Sprintf("version %d", grid.Version)
	if grid.Origin == landscape.FromCommand {
		from = "made by command"
	}
	fmt.Fprintf(&b, "%s   %s   %s", grid.ID, from, grid.Zone)
	switch {
	case grid.Deleted:
		fmt.Fprintf(&b, "   deleted by %s: %s", grid.Actor, grid.Why)
	case grid.Removed:
		b.WriteString("   removed")
	case grid.Paused:
		b.WriteString("   paused " + pauseText(&grid.Schedule))
	case grid.NextSlot != "":
		fmt.Fprintf(&b, "   next: %s at %s", grid.NextSlot, zoned(grid.Next, grid.Zone))
	}
	b.WriteByte('\n')
	for i := 0; i < len(grid.Slots); {
		group, label := labels(grid.Slots[i].Name)
		j := i
		for j < len(grid.Slots) && j-i < min(perLine, lineWidth/(len(label)+2)) {
			if other, _ := labels(grid.Slots[j].Name); other != group {
				break
			}
			j++
		}
		writeGridLine(&b, group, grid.Slots[i:j])
		i = j
	}
	writeNotes(&b, grid)
	_, err := io.WriteString(w, b.String())
	return err
}

// labels splits the name of a slot: what it has in common with its neighbours, and what not.
func labels(name string) (group, label string) {
	at := strings.LastIndexAny(name, "-T")
	if at < 0 {
		return "", name
	}
	return name[:at], name[at+1:]
}

func writeGridLine(b *strings.Builder, group string, slots []client.ScheduledSlot) {
	marks := make([]string, len(slots))
	width := 0
	for i := range slots {
		_, label := labels(slots[i].Name)
		marks[i] = markOf(&slots[i])
		width = max(width, len(label), utf8.RuneCountInString(marks[i]))
	}
	var names, below strings.Builder
	for i := range slots {
		_, label := labels(slots[i].Name)
		fmt.Fprintf(&names, "  %-*s", width, label)
		fmt.Fprintf(&below, "  %-*s", width, marks[i])
	}
	fmt.Fprintf(b, "\n%s%s\n", group, strings.TrimRight(names.String(), " "))
	fmt.Fprintf(b, "%s%s\n", strings.Repeat(" ", len(group)), strings.TrimRight(below.String(), " "))
}

// markOf is what the grid shows of a slot.
func markOf(s *client.ScheduledSlot) string {
	marks := map[client.SlotState]string{
		client.SlotState(landscape.SlotDue): "…", client.SlotState(landscape.SlotRunning): "●", client.SlotState(landscape.SlotDone): "✓",
		client.SlotState(landscape.SlotFailed): "✗", client.SlotState(landscape.SlotSkipped): "–", client.SlotState(landscape.SlotMissed): "○",
	}
	mark := cmp.Or(marks[s.State], "·")
	if s.State == client.SlotState(landscape.SlotDone) && s.Status == pipeline.CompletedWithFailures {
		mark = "◑"
	}
	if s.Late.Known() {
		mark += "▲"
	}
	return mark
}

// mostNotes is how many notes are below a grid at most.
const mostNotes = 40

// writeNotes writes what there is to say about single slots, and what a person can do.
func writeNotes(b *strings.Builder, grid *client.Grid) {
	notes := 0
	for i := 0; i < len(grid.Slots) && notes < mostNotes; {
		s := &grid.Slots[i]
		j := i + 1
		for j < len(grid.Slots) && grid.Slots[j].State == s.State && grid.Slots[j].Reason == s.Reason && grid.Slots[j].Run == s.Run {
			j++
		}
		note := noteOf(s, grid.ID, grid.Slots[j-1].Name)
		if note != "" && notes == 0 {
			b.WriteByte('\n')
		}
		if note != "" {
			notes++
		}
		b.WriteString(note)
		if i = j; notes == mostNotes && i < len(grid.Slots) {
			b.WriteString("and perhaps more: name a shorter range\n")
		}
	}
}

// noteOf is a line about the slots from s to the one named last.
func noteOf(s *client.ScheduledSlot, schedule, last string) string {
	which := s.Name
	if last != s.Name {
		which += ".." + last
	}
	about := fmt.Sprintf("%s %s", markOf(s), which)
	switch s.State {
	case client.SlotState(landscape.SlotFailed):
		return fmt.Sprintf("%s  run %s: %s: waymark schedule retry %s --slot %s\n", about, s.Run, cmp.Or(s.Reason, string(s.Status)), schedule, which)
	case client.SlotState(landscape.SlotMissed):
		return fmt.Sprintf("%s  missed: %s: waymark schedule backfill %s %s\n", about, s.Reason, schedule, which)
	case client.SlotState(landscape.SlotSkipped), client.SlotState(landscape.SlotDue):
		return fmt.Sprintf("%s  %s: %s\n", about, s.State, cmp.Or(s.Reason, "a worker, or waymark serve, is to begin its run"))
	case client.SlotState(landscape.SlotRunning):
		if s.Reason != "" {
			return fmt.Sprintf("%s  waits: %s\n", about, s.Reason)
		}
		return fmt.Sprintf("%s  running: waymark follow %s\n", about, s.Run)
	}
	return ""
}
