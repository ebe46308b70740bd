package triggers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/workflows/slots"
)

// reconcile records the triggers of the versions that are current: those that are new or changed, and those that are gone.
func (w *Watcher) reconcile(ctx context.Context) error {
	current, err := w.Log.AllCurrentVersions(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, d := range current {
		place := d.Environment + "/" + d.Pipeline
		if seq, is := w.seen[place]; is && seq == d.Seq {
			continue
		}
		if err := Adopt(ctx, w.Log, w.Payloads, d); err != nil {
			failed = append(failed, err)
			continue
		}
		w.seen[place] = d.Seq
	}
	return errors.Join(failed...)
}

// Adopt records the triggers of a version that became current, unless another one did meanwhile; none of a pipeline that is retired. It may be repeated.
func Adopt(ctx context.Context, log *landscape.Log, payloads *payload.Store, d landscape.Deployment) error {
	declared, err := declaredBy(ctx, log, payloads, d)
	if err == nil {
		err = adopt(ctx, log, d, declared)
	}
	if err != nil {
		return fmt.Errorf("triggers of %s@%d: %w", d.Pipeline, d.Version, err)
	}
	return nil
}

// declaredBy returns the triggers of a version's document; none of a pipeline that is retired.
func declaredBy(ctx context.Context, log *landscape.Log, payloads *payload.Store, d landscape.Deployment) (pipeline.Map[pipeline.ArrivalTrigger], error) {
	if d.Retired() {
		return nil, nil
	}
	table, err := slots.TimetableOf(ctx, log, payloads, d)
	if err != nil {
		return nil, err
	}
	return table.Triggers, nil
}

func adopt(ctx context.Context, log *landscape.Log, d landscape.Deployment, declared pipeline.Map[pipeline.ArrivalTrigger]) error {
	wanted := map[string]landscape.Trigger{}
	known, err := log.Triggers(ctx)
	if err != nil {
		return err
	}
	for _, row := range known {
		if row.Environment == d.Environment && row.Pipeline == d.Pipeline {
			row.Action = landscape.RemoveTrigger
			wanted[row.ID] = row
		}
	}
	for _, entry := range declared {
		spec, err := json.Marshal(entry.Value)
		if err != nil {
			return err
		}
		wanted[landscape.ScheduleID(d.Environment, d.Pipeline, entry.Name)] = landscape.Trigger{
			Environment: d.Environment, Pipeline: d.Pipeline, Name: entry.Name, Action: landscape.SetTrigger, Spec: string(spec),
		}
	}
	for id, row := range wanted {
		row.Version, row.Actor, row.Why = d.Version, d.Actor, d.Why
		if err := set(ctx, log, d, id, row); err != nil {
			return err
		}
	}
	return nil
}

// set changes a trigger to what the deployment makes of it, unless it is that, or another version became current meanwhile. A pause stays.
func set(ctx context.Context, log *landscape.Log, d landscape.Deployment, id string, row landscape.Trigger) error {
	return log.ChangeTrigger(ctx, id, func(last *landscape.Trigger) (*landscape.Trigger, error) {
		current, err := log.Current(ctx, d.Environment, d.Pipeline)
		if err != nil || current.Seq != d.Seq {
			return nil, err
		}
		next := row
		if last == nil {
			return &next, nil
		}
		same := last.Removed() && row.Removed() || !last.Removed() && !row.Removed() && last.Spec == row.Spec
		if same && (row.Removed() || last.Version == row.Version) {
			return nil, nil //nolint:nilnil // nothing to change
		}
		next.Paused = last.Paused
		return &next, nil
	})
}
