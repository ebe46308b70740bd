package landscape

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"waymark/pipeline"
)

// ScheduleAction is how a schedule became what it is. Stored; never rename one.
type ScheduleAction string

// The actions.
const (
	SetSchedule    ScheduleAction = "set"    // a version of its pipeline that has it as it is became current
	RemoveSchedule ScheduleAction = "remove" // the version that became current does not have it, or the pipeline was retired
	CreateSchedule ScheduleAction = "create" // somebody made it by command
	DeleteSchedule ScheduleAction = "delete" // somebody deleted what was made by command
	PauseSchedule  ScheduleAction = "pause"
	ResumeSchedule ScheduleAction = "resume"
)

// ScheduleOrigin is where a schedule comes from. Stored; never rename one.
type ScheduleOrigin string

// The origins.
const (
	FromDocument ScheduleOrigin = "document" // of the version that is current: it has the schedule, or had
	FromCommand  ScheduleOrigin = "command"  // somebody made it, whatever documents say; it stays until somebody deletes it
)

// Schedule says what a schedule of a deployed pipeline is, until its next row does.
type Schedule struct {
	ID          string         `db:"schedule,key"` // ENVIRONMENT/PIPELINE/NAME
	Seq         int64          `db:"seq,key"`      // from 0; set by Log
	Environment string         `db:"environment"`
	Pipeline    string         `db:"pipeline"`
	Name        string         `db:"name"`
	Action      ScheduleAction `db:"action"`
	Spec        string         `db:"spec"`          // JSON: the schedule of the document, or of the command, as the plan has it
	Version     int64          `db:"version"`       // of the pipeline, that has it; of one that was made by command, the one that was current then
	Since       Micros         `db:"since_us"`      // slots that are due from then on are this spec's
	Paused      bool           `db:"paused"`        // slots that become due get no run
	Until       Micros         `db:"until_us,null"` // when the pause ends by itself; zero for never
	Actor       string         `db:"actor"`
	Why         string         `db:"why"`
	At          Micros         `db:"at_us"` // set by Log
	Origin      ScheduleOrigin `db:"origin"`
}

// Table returns schedules.
func (Schedule) Table() string { return "schedules" }

// Removed reports whether no slot becomes due any more.
func (s Schedule) Removed() bool { return s.Action == RemoveSchedule || s.Deleted() }

// Deleted reports whether somebody deleted the schedule, which was made by command.
func (s Schedule) Deleted() bool { return s.Action == DeleteSchedule }

// Declared returns the schedule in the words of documents.
func (s Schedule) Declared() (declared pipeline.Schedule, err error) {
	if err := json.Unmarshal([]byte(s.Spec), &declared); err != nil {
		return declared, fmt.Errorf("schedule %s: %w", s.ID, err)
	}
	return declared, nil
}

// PausedAt reports whether a slot that becomes due at a moment gets no run, as far as the row is still the last one then.
func (s Schedule) PausedAt(at Micros) bool { return s.Paused && (s.Until == 0 || at < s.Until) }

// ScheduleID returns the id of a schedule.
func ScheduleID(environment, pipeline, name string) string {
	return strings.Join([]string{environment, pipeline, name}, "/")
}

// ChangeSchedule appends what change makes of the last row of a schedule, which is nil if there is none. If change returns nil, nothing is
// stored. It is called again if somebody else changed the schedule meanwhile.
func (l *Log) ChangeSchedule(ctx context.Context, id string, change func(last *Schedule) (*Schedule, error)) error {
	err := settle(Schedule{}.Table(), func() error {
		last, err := l.lastSchedule(ctx, id)
		if err != nil {
			return err
		}
		next, err := change(last)
		if err != nil || next == nil {
			return err
		}
		row := *next
		row.ID, row.Seq, row.At = id, 0, l.now()
		if last != nil {
			row.Seq = last.Seq + 1
		}
		if row.Since == 0 {
			row.Since = row.At
		}
		tx := Tx{Insert: []Record{row}}
		if event, told := row.event(); told {
			tx.Insert = append(tx.Insert, event)
		}
		return l.plain.Commit(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("schedule %s: %w", id, err)
	}
	return nil
}

func (r *Reader) lastSchedule(ctx context.Context, id string) (*Schedule, error) {
	return lastOf[Schedule](ctx, r.from, id)
}

// Schedule returns the last row of a schedule. The error wraps ErrNotFound if there is none.
func (r *Reader) Schedule(ctx context.Context, id string) (Schedule, error) {
	last, err := r.lastSchedule(ctx, id)
	if err == nil && last == nil {
		err = fmt.Errorf("schedule %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return Schedule{}, err
	}
	return *last, nil
}

// SchedulesByID returns the last rows of some schedules, by their ids; those that are not recorded are left out.
func (r *Reader) SchedulesByID(ctx context.Context, ids []string) (map[string]Schedule, error) {
	return byID(ctx, r, ids, Query{Descending: true, Limit: 1}, func(s Schedule) string { return s.ID })
}

// ScheduleHistory returns the rows of a schedule, the first first; nil if there is none.
func (r *Reader) ScheduleHistory(ctx context.Context, id string) ([]Schedule, error) {
	return Select[Schedule](ctx, r.from, id)
}

// Schedules returns the last row of every schedule, by id, also of those that were removed; nil if there is none.
func (r *Reader) Schedules(ctx context.Context) ([]Schedule, error) {
	return lastOfEach(ctx, r.from, func(s Schedule) string { return s.ID })
}

// ScheduleHistories calls yield with the rows of every schedule whose id comes after one, the first first, by the
// schedules' ids, until it returns false.
func (r *Reader) ScheduleHistories(ctx context.Context, after string, yield func(history []Schedule) bool) error {
	var history []Schedule
	q := Query{Limit: manySchedules}
	if after != "" {
		q.After = []any{after, int64(math.MaxInt64)}
	}
	err := inPages(ctx, r.from, q, func(row Schedule) bool {
		if len(history) > 0 && history[0].ID != row.ID {
			if !yield(history) {
				history = nil
				return false
			}
			history = nil
		}
		history = append(history, row)
		return true
	})
	if err == nil && history != nil {
		yield(history)
	}
	return err
}

// manySchedules is how many rows of schedules are read at once, at first.
const manySchedules = 256

// SchedulesOf returns the last row of every schedule that a pipeline has, or had, in an environment, by id; nil if there is none.
func (r *Reader) SchedulesOf(ctx context.Context, environment, pipeline string) (found []Schedule, err error) {
	return lastOfPlace(ctx, r.from, environment, pipeline, func(s Schedule) string { return s.ID })
}

// lastOfPlace returns the last record of each schedule or trigger that a pipeline has, or had, in an environment, by
// id.
func lastOfPlace[T Record](ctx context.Context, d RecordReader, environment, pipeline string, id func(T) string) (last []T, err error) {
	var kind T
	place := ScheduleID(environment, pipeline, "")
	err = d.Read(ctx, kind, Query{After: []any{place}}, func(r Record) bool {
		record := r.(T)
		if !strings.HasPrefix(id(record), place) {
			return false
		}
		if n := len(last); n > 0 && id(last[n-1]) == id(record) {
			last[n-1] = record
		} else {
			last = append(last, record)
		}
		return true
	})
	return last, err
}
