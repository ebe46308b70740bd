package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/pipeline/calendar"
)

func (a *app) scheduleGridCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "grid SCHEDULE",
		Short: "Show the result of each slot of a schedule",
		Long: `Shows the slots of a schedule and the result of each, by default of the last 31 that were due, and of later ones that somebody skipped or ran:

  ✓ done   ◑ done, with refused rows   ✗ failed   – skipped   ○ missed   ● running   … due   · was never due, or is not due yet   ▲ was late

Below the grid are the slots that may need your attention, each with the reason and the command that helps.`,
		Example: `  waymark schedule grid nightly
  waymark schedule grid nightly --from 2026-11-01 --to 2026-11-30`,
		Args: exactlyOne("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askSchedule(cmd, args[0], func(home record, id string) error {
				grid, err := home.ScheduleGrid(cmd.Context(), id, from, to)
				if err != nil {
					return err
				}
				return a.print(grid, func(w io.Writer) error { return writeGrid(w, grid) })
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the first `slot`, or a date")
	cmd.Flags().StringVar(&to, "to", "", "the last `slot`, or a date (default the last one that was due, skipped or run)")
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
	fmt.Fprintf(&b, "%s   %s   %s", grid.ID, from, cmp.Or(grid.Zone, "no time"))
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
	writeGridLines(&b, grid.Slots)
	writeNotes(&b, grid)
	_, err := io.WriteString(w, b.String())
	return err
}

// gridTable is the slots of a grid: a column for each interval of time, a row for each combination of values.
type gridTable struct {
	times, parts []string // in the order in which they come
	marks        map[[2]string]string
}

func tableOf(slots []client.ScheduledSlot) gridTable {
	t := gridTable{marks: map[[2]string]string{}}
	times, parts := map[string]bool{}, map[string]bool{}
	for i := range slots {
		part := calendar.PartOf(slots[i].Name)
		when := strings.TrimSuffix(strings.TrimSuffix(slots[i].Name, part), "/")
		if !times[when] {
			times[when] = true
			t.times = append(t.times, when)
		}
		if !parts[part] {
			parts[part] = true
			t.parts = append(t.parts, part)
		}
		t.marks[[2]string{when, part}] = markOf(&slots[i])
	}
	return t
}

// writeGridLines writes the grid, in as many blocks of lines as it needs.
func writeGridLines(b *strings.Builder, slots []client.ScheduledSlot) {
	t := tableOf(slots)
	for i := 0; i < len(t.times); {
		group, label := labels(t.times[i])
		j := i
		for j < len(t.times) && j-i < min(perLine, lineWidth/(len(label)+2)) {
			if other, _ := labels(t.times[j]); other != group {
				break
			}
			j++
		}
		t.write(b, group, t.times[i:j])
		i = j
	}
}

// labels splits the name of a slot: what it has in common with its neighbours, and what not.
func labels(name string) (group, label string) {
	at := strings.LastIndexAny(name, "-T")
	if at < 0 {
		return "", name
	}
	return name[:at], name[at+1:]
}

// write writes the columns of some times, which have the group in common.
func (t *gridTable) write(b *strings.Builder, group string, times []string) {
	width, margin := 1, utf8.RuneCountInString(group)
	for _, when := range times {
		_, label := labels(when)
		width = max(width, len(label))
		for _, part := range t.parts {
			width = max(width, utf8.RuneCountInString(t.marks[[2]string{when, part}]))
		}
	}
	for _, part := range t.parts {
		margin = max(margin, len(part))
	}
	line := func(head string, cell func(when string) string) {
		var text strings.Builder
		fmt.Fprintf(&text, "%-*s", margin, head)
		for _, when := range times {
			fmt.Fprintf(&text, "  %-*s", width, cell(when))
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	b.WriteByte('\n')
	if times[0] != "" { // of slots without time
		line(group, func(when string) string {
			_, label := labels(when)
			return label
		})
	}
	for _, part := range t.parts {
		line(part, func(when string) string { return t.marks[[2]string{when, part}] })
	}
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
	slots := slices.Clone(grid.Slots) // those of the same values follow each other
	parts := tableOf(slots).parts
	row := func(s client.ScheduledSlot) int { return slices.Index(parts, calendar.PartOf(s.Name)) }
	slices.SortStableFunc(slots, func(a, b client.ScheduledSlot) int { return row(a) - row(b) })
	for i := 0; i < len(slots) && notes < mostNotes; {
		s := &slots[i]
		j := i + 1
		for j < len(slots) && sameNote(&slots[j-1], &slots[j]) {
			j++
		}
		note := noteOf(s, &grid.Schedule, slots[j-1].Name)
		if note != "" && notes == 0 {
			b.WriteByte('\n')
		}
		if note != "" {
			notes++
		}
		b.WriteString(note)
		if i = j; notes == mostNotes && i < len(slots) {
			b.WriteString("and perhaps more: name a shorter range\n")
		}
	}
}

// sameNote reports whether one note says what there is to say about a slot and the next one of the grid. Between two that are to come there may be others.
func sameNote(a, b *client.ScheduledSlot) bool {
	neighbours := a.To == b.From || !b.Due.Time().After(time.Now())
	return neighbours && a.State == b.State && a.Reason == b.Reason && a.Run == b.Run && calendar.PartOf(a.Name) == calendar.PartOf(b.Name)
}

// noteOf is a line about the slots from s to the one named last.
func noteOf(s *client.ScheduledSlot, of *client.Schedule, last string) string {
	reason := oneLine(s.Reason)
	which := s.Name
	if last != s.Name {
		which += ".." + last
	}
	about := fmt.Sprintf("%s %s", markOf(s), which)
	gone := of.Removed || of.Deleted // it gets no runs any more
	switch s.State {
	case client.SlotState(landscape.SlotFailed):
		next := fmt.Sprintf("waymark schedule retry %s --slot %s", of.ID, which)
		switch {
		case gone:
			next = "waymark status " + s.Run
		case s.Due.Time().After(time.Now()):
			next = "the schedule starts another run when the slot is due, at " + zoned(s.Due, of.Zone)
		}
		return fmt.Sprintf("%s  run %s: %s: %s\n", about, s.Run, cmp.Or(reason, string(s.Status)), next)
	case client.SlotState(landscape.SlotMissed):
		if gone {
			return fmt.Sprintf("%s  missed: %s\n", about, reason)
		}
		return fmt.Sprintf("%s  missed: %s: waymark schedule backfill %s %s\n", about, reason, of.ID, which)
	case client.SlotState(landscape.SlotDone):
		if reason != "" {
			return fmt.Sprintf("%s  done: %s\n", about, reason)
		}
		return ""
	case client.SlotState(landscape.SlotSkipped), client.SlotState(landscape.SlotDue):
		next := "a worker, or waymark serve, starts its run"
		if of.Deleted {
			next = "a worker, or waymark serve, skips it"
		}
		if strings.HasPrefix(reason, string(s.State)+" ") { // it says so itself: skipped by ann
			return fmt.Sprintf("%s  %s\n", about, reason)
		}
		return fmt.Sprintf("%s  %s: %s\n", about, s.State, cmp.Or(reason, next))
	case client.SlotState(landscape.SlotRunning):
		if s.Paused != nil {
			return fmt.Sprintf("%s  paused by %s: %s: waymark resume %s\n", about, s.Paused.Actor, oneLine(s.Paused.Why), s.Run)
		}
		if reason != "" {
			return fmt.Sprintf("%s  waits: %s\n", about, reason)
		}
		return fmt.Sprintf("%s  running: waymark follow %s\n", about, s.Run)
	}
	return ""
}
