// Package slots is what schedules of deployed pipelines do: which slots of time are due, which runs are begun for them, and what became of those.
// The record decides all of that; Temporal's schedules only fire. Any number of processes may do it at the same time.
package slots

import (
	"cmp"
	"fmt"
	"time"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/pipeline/calendar"
)

// Schedule is a schedule as the record has it.
type Schedule struct {
	landscape.Schedule
	Calendar *calendar.Schedule // when it fires, and what its slots cover
	spec     pipeline.Schedule
}

// Read makes a schedule of a row of the record.
func Read(row landscape.Schedule) (*Schedule, error) {
	declared, err := row.Declared()
	if err != nil {
		return nil, err
	}
	s := &Schedule{Schedule: row, spec: declared}
	if s.Calendar, err = s.spec.Slots(row.Pipeline, row.Name); err != nil {
		return nil, fmt.Errorf("schedule %s: %w", row.ID, err)
	}
	return s, nil
}

// Record returns a slot of which nothing is recorded yet as it is recorded: due, because the schedule fired for it
// or a person asked.
func (s *Schedule) Record(slot calendar.Slot, fired bool) landscape.Slot {
	record := landscape.NewSlot(s.ID, slot, fired)
	if fired {
		record.Deadline = Promised(s.spec, s.Calendar.Zone(), slot.Due)
	}
	return record
}

// Promised returns by when the output of a slot of the schedule is promised that is due at a moment; zero for no promise.
func Promised(schedule pipeline.Schedule, zone *time.Location, due time.Time) landscape.Micros {
	promise := schedule.Promise
	if promise.Within > 0 {
		return landscape.MicrosOf(due.Add(time.Duration(promise.Within)))
	}
	clock, err := calendar.ParseClock(promise.By)
	if err != nil {
		return 0
	}
	day := calendar.DateOf(due, zone)
	by := calendar.At(day, clock, zone)
	if by.Before(due) {
		by = calendar.At(day+1, clock, zone)
	}
	return landscape.MicrosOf(by)
}

// The defaults of what a document says about schedules.
const (
	defaultWithin = 7 * 24 * time.Hour
	defaultWait   = time.Minute
)

func (s *Schedule) within() time.Duration {
	return cmp.Or(time.Duration(s.spec.CatchUp.Within), defaultWithin)
}

func (s *Schedule) wait() time.Duration { return cmp.Or(time.Duration(s.spec.Retry.Wait), defaultWait) }

// atOnce is how many runs of slots for which the schedule fired go on at a time; 0 for any number.
func (s *Schedule) atOnce() int {
	if s.spec.Overlap == "allow" {
		return 0
	}
	return max(s.spec.CatchUp.AtOnce, 1)
}

// shortly is how long after it was to begin the run of a slot is still in time.
const shortly = 10 * time.Minute

// mostAtOnce is how many slots are recorded in one transaction.
const mostAtOnce = 500

// fallDue returns the slots that have become due and are not recorded, as they are recorded: those after the last
// one for which the schedule fired, which was due at last. Once there are mostAtOnce of them it leaves out those
// that are due later than these, so that those of an instant stay together. history are the rows of the schedule,
// the first first, of which the last is s.
func (s *Schedule) fallDue(history []landscape.Schedule, last landscape.Micros, known map[string]bool, now time.Time) (due []landscape.Slot) {
	if s.Removed() {
		return nil
	}
	from := max(s.Since, last+1)
	newest, _ := s.Calendar.Last(now)
	for slot := range s.Calendar.Due(from.Time()) {
		if slot.Due.After(now) || len(due) >= mostAtOnce && landscape.MicrosOf(slot.Due) > due[len(due)-1].Due {
			return due
		}
		if known[slot.Name] {
			continue
		}
		record := s.Record(slot, true)
		record.State, record.Reason = s.outcome(history, slot, newest.Due, now)
		due = append(due, record)
	}
	return due
}

// outcome says what becomes of a slot that has become due.
func (s *Schedule) outcome(
	history []landscape.Schedule, slot calendar.Slot, newest, now time.Time,
) (landscape.SlotState, string) {
	late := now.Sub(slot.Start)
	catchUp := cmp.Or(s.spec.CatchUp.Slots, "all")
	switch pause := pausedAt(history, landscape.MicrosOf(slot.Due)); {
	case slot.Except:
		return landscape.SlotSkipped, Excepted
	case pause != nil:
		return landscape.SlotMissed, pausedBy(*pause)
	case late <= shortly:
		return landscape.SlotDue, ""
	case late > s.within():
		return landscape.SlotMissed, fmt.Sprintf("nobody served for %v after it was due (catch_up: within)", s.within())
	case catchUp == "none":
		return landscape.SlotMissed, "nobody served when it was due (catch_up: none)"
	case catchUp == "last" && slot.Due.Before(newest):
		return landscape.SlotMissed, "nobody served when it was due, and a later slot is made up for (catch_up: last)"
	}
	return landscape.SlotDue, ""
}

// pausedAt returns the row of a schedule by which it was paused at a moment; nil if it was not.
func pausedAt(history []landscape.Schedule, at landscape.Micros) *landscape.Schedule {
	var then *landscape.Schedule
	for i := range history {
		if history[i].At <= at {
			then = &history[i]
		}
	}
	if then == nil || !then.PausedAt(at) {
		return nil
	}
	return pauseOf(history, then)
}

// Excepted is the reason of a slot for which its schedule never fires.
const Excepted = "the schedule excepts it"

// PauseOf returns the row of a schedule that began the pause in which it is; the rows come first first, and the last of them says that it is paused.
func PauseOf(history []landscape.Schedule) landscape.Schedule {
	return *pauseOf(history, &history[len(history)-1])
}

// pauseOf returns the row that began the pause that a row has taken over.
func pauseOf(history []landscape.Schedule, row *landscape.Schedule) *landscape.Schedule {
	for row.Action != landscape.PauseSchedule && row.Seq > 0 {
		row = &history[row.Seq-1]
	}
	return row
}

func pausedBy(pause landscape.Schedule) string {
	return fmt.Sprintf("paused by %s: %s", cmp.Or(pause.Actor, "somebody"), cmp.Or(pause.Why, "no reason given"))
}
