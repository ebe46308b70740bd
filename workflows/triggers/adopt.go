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

// mostAdopted is how many deployments are looked at in one go: something may arrive meanwhile.
const mostAdopted = 100

// reconcile records the triggers of the versions that became current since this process looked: those that are new or
// changed, and those that are gone. It reports whether there is more to do at once.
func (w *Watcher) reconcile(ctx context.Context) (more bool, err error) {
	current, err := w.Log.DeploymentsSince(ctx, w.seen, mostAdopted)
	if err != nil {
		return false, err
	}
	var failed []error
	for _, d := range current {
		if err := Adopt(ctx, w.Log, w.Payloads, d); err != nil {
			failed = append(failed, err)
			continue
		}
		w.seen[d.Environment+"/"+d.Pipeline] = d.Seq
	}
	return len(current) == mostAdopted && failed == nil, errors.Join(failed...)
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
	known, err := log.TriggersOf(ctx, d.Environment, d.Pipeline)
	if err != nil {
		return err
	}
	for _, row := range known {
		row.Action = landscape.RemoveTrigger
		wanted[row.ID] = row
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
