package landscape

import (
	"context"
	"math"
)

// What somebody reads who looks after all schedules and triggers: little of each, and of all at once.

// LastRow says which row of a schedule or deployment is the last one.
type LastRow struct {
	ID  string // of a schedule; of a deployment ENVIRONMENT/PIPELINE
	Seq int64
}

// scheduleRow is the key of a Schedule.
type scheduleRow struct {
	ID  string `db:"schedule,key"`
	Seq int64  `db:"seq,key"`
}

// Table returns schedules.
func (scheduleRow) Table() string { return Schedule{}.Table() }

// deploymentRow is the key of a Deployment.
type deploymentRow struct {
	Environment string `db:"environment,key"`
	Pipeline    string `db:"pipeline,key"`
	Seq         int64  `db:"seq,key"`
}

// Table returns deployments.
func (deploymentRow) Table() string { return Deployment{}.Table() }

// LastSchedules says of every schedule which row is the last one, by id.
func (r *Reader) LastSchedules(ctx context.Context) (last []LastRow, err error) {
	rows, err := lastOfEach(ctx, r.from, func(s scheduleRow) string { return s.ID })
	for _, row := range rows {
		last = append(last, LastRow(row))
	}
	return last, err
}

// DeploymentsSince returns the last deployments of pipelines, by environment and name, that are not in seen, which is
// by ENVIRONMENT/PIPELINE; at most so many.
func (r *Reader) DeploymentsSince(ctx context.Context, seen map[string]int64, most int) (changed []Deployment, err error) {
	rows, err := lastOfEach(ctx, r.from, func(d deploymentRow) [2]string { return [2]string{d.Environment, d.Pipeline} })
	for _, row := range rows {
		if seq, is := seen[row.Environment+"/"+row.Pipeline]; is && seq == row.Seq {
			continue
		}
		if len(changed) == most {
			break
		}
		last, err := r.Current(ctx, row.Environment, row.Pipeline)
		if err != nil {
			return changed, err
		}
		changed = append(changed, last)
	}
	return changed, err
}

// OpenSlot is a slot that is due or running.
type OpenSlot struct {
	In       SlotState `db:"state,key"`
	Schedule string    `db:"schedule,key"`
	Due      Micros    `db:"due_us,key"`
	Name     string    `db:"slot,key"`
	Changes  int64     `db:"changes"`
}

// Table returns slots.
func (OpenSlot) Table() string { return Slot{}.Table() }

// OpenSlots calls yield with the slots of all schedules that are due or running.
func (r *Reader) OpenSlots(ctx context.Context, yield func(OpenSlot)) error {
	for _, state := range []SlotState{SlotDue, SlotRunning} {
		err := each(ctx, r.from, []any{string(state)}, func(s OpenSlot) bool { yield(s); return true })
		if err != nil {
			return err
		}
	}
	return nil
}

// eventRun is an event by its position, as far as it says of which run it tells.
type eventRun struct {
	Position int64  `db:"position,key"`
	About    string `db:"about,key"`
	Run      string `db:"run_id"`
}

// Table returns outbox.
func (eventRun) Table() string { return Event{}.Table() }

// RunsSince calls yield with the run of every event after a position, and returns the last position.
func (r *Reader) RunsSince(ctx context.Context, after int64, yield func(run string)) (last int64, err error) {
	last = after
	err = r.from.Read(ctx, eventRun{}, Query{After: []any{after, maxText}}, func(record Record) bool {
		event := record.(eventRun)
		if last = event.Position; event.Run != "" {
			yield(event.Run)
		}
		return true
	})
	return last, err
}

// Watches returns how far each trigger has been looked after, by trigger.
func (r *Reader) Watches(ctx context.Context) (map[string]Watch, error) {
	watches := map[string]Watch{}
	err := each(ctx, r.from, nil, func(w Watch) bool {
		if w.Trigger != "" { // the one of all
			watches[w.Trigger] = w
		}
		return true
	})
	return watches, err
}

// OpenArrivals says whether a trigger has arrivals that wait for a run, or for the end of one.
type OpenArrivals struct {
	Ready, Taken bool
}

// OpenArrivals says which triggers have arrivals that are not over; one that has none is left out. It asks once more
// for each that has some, however many these are.
func (r *Reader) OpenArrivals(ctx context.Context) (map[string]OpenArrivals, error) {
	open := map[string]OpenArrivals{}
	after := []any{string(ArrivalIgnored), maxText} // ready and taken come after these
	for {
		next, err := Page[waitingArrival](ctx, r.from, Query{After: after, Limit: 1})
		if err != nil || next == nil {
			return open, err
		}
		of := open[next[0].Trigger]
		of.Ready = of.Ready || next[0].In == ArrivalReady
		of.Taken = of.Taken || next[0].In == ArrivalTaken
		open[next[0].Trigger] = of
		after = []any{string(next[0].In), next[0].Trigger, int64(math.MaxInt64)}
	}
}
