package slots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// mostAdopted is how many deployments are looked at in one go: the time of a slot may come meanwhile.
const mostAdopted = 100

// reconcile records the schedules of the versions that became current since this process looked: those that are new or
// changed, and those that are gone. It reports whether there is more to do at once.
func (k *Keeper) reconcile(ctx context.Context) (more bool, err error) {
	if k.seen == nil {
		k.seen = map[string]int64{}
	}
	current, err := k.Log.DeploymentsSince(ctx, k.seen, mostAdopted)
	if err != nil {
		return false, err
	}
	var failed []error
	for _, d := range current {
		if err := Adopt(ctx, k.Log, k.Payloads, d); err != nil {
			failed = append(failed, err)
			continue
		}
		k.seen[d.Environment+"/"+d.Pipeline] = d.Seq
		more = true
	}
	return more, errors.Join(failed...)
}

// Adopt records the schedules of a version that became current, unless another one did meanwhile; none of a pipeline that is retired. It may be repeated.
func Adopt(ctx context.Context, log *landscape.Log, payloads *payload.Store, d landscape.Deployment) error {
	if err := adopt(ctx, log, payloads, d); err != nil {
		return fmt.Errorf("schedules of %s@%d: %w", d.Pipeline, d.Version, err)
	}
	return nil
}

func adopt(ctx context.Context, log *landscape.Log, payloads *payload.Store, d landscape.Deployment) error {
	specs, err := specsOf(ctx, log, payloads, d)
	if err != nil {
		return err
	}
	known, err := log.SchedulesOf(ctx, d.Environment, d.Pipeline)
	if err != nil {
		return err
	}
	wanted := map[string]landscape.Schedule{}
	for _, row := range known {
		row.Action = landscape.RemoveSchedule
		wanted[row.ID] = row
	}
	for _, entry := range specs {
		spec, err := json.Marshal(entry.Value)
		if err != nil {
			return err
		}
		wanted[landscape.ScheduleID(d.Environment, d.Pipeline, entry.Name)] = landscape.Schedule{
			Environment: d.Environment, Pipeline: d.Pipeline, Name: entry.Name, Action: landscape.SetSchedule, Spec: string(spec),
			Origin: landscape.FromDocument,
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

// set changes a schedule to what the deployment makes of it, unless it is that, or another version became current meanwhile.
func set(ctx context.Context, log *landscape.Log, d landscape.Deployment, id string, row landscape.Schedule) error {
	return log.ChangeSchedule(ctx, id, func(last *landscape.Schedule) (*landscape.Schedule, error) {
		current, err := log.Current(ctx, d.Environment, d.Pipeline)
		if err != nil || current.Seq != d.Seq {
			return nil, err
		}
		next := row
		next.Since = 0
		switch {
		case row.Removed():
			return without(last, row, d.Retired()), nil
		case last == nil:
			return &next, nil
		case last.Spec == row.Spec && last.Origin == row.Origin && !last.Removed():
			return nil, nil //nolint:nilnil // nothing to change
		}
		next.Paused, next.Until = last.Paused, last.Until
		return &next, nil
	})
}

// without returns what becomes of a schedule that the version does not have, as row says; nil if it stays as it is. One that was made by command is
// away while the pipeline is retired, and no longer.
func without(last *landscape.Schedule, row landscape.Schedule, retired bool) *landscape.Schedule {
	if last == nil || last.Deleted() {
		return nil
	}
	next := *last
	next.Action, next.Version, next.Actor, next.Why = row.Action, row.Version, row.Actor, row.Why
	if stays := last.Origin == landscape.FromCommand && !retired; stays {
		next.Action, next.Version, next.Since = landscape.SetSchedule, last.Version, 0
		if !last.Removed() {
			return nil
		}
	} else if last.Removed() {
		return nil
	}
	return &next
}

// specsOf returns the schedules of a version's document.
func specsOf(ctx context.Context, log *landscape.Log, payloads *payload.Store, d landscape.Deployment) (pipeline.Map[pipeline.Schedule], error) {
	if d.Retired() {
		return nil, nil
	}
	table, err := TimetableOf(ctx, log, payloads, d)
	if err != nil {
		return nil, err
	}
	return table.Specs, nil
}

// TimetableOf returns what the document of a version says about schedules and triggers.
func TimetableOf(ctx context.Context, log *landscape.Log, payloads *payload.Store, d landscape.Deployment) (*pipeline.Timetable, error) {
	version, err := log.Version(ctx, d.Pipeline, d.Version)
	if err != nil {
		return nil, err
	}
	stored, err := log.Bundle(ctx, version.Bundle)
	if err != nil {
		return nil, err
	}
	manifest, err := bundle.Parse([]byte(stored.Manifest))
	if err != nil {
		return nil, err
	}
	document, err := payloads.Get(ctx, payload.Digest(stored.Document))
	if err != nil {
		return nil, err
	}
	table, err := pipeline.LoadTimetable(manifest.Document, document)
	if err != nil {
		return nil, err
	}
	err = table.Resolve(func(path string) ([]byte, error) {
		for _, file := range manifest.Files[1:] {
			if file.Path == path {
				return payloads.Get(ctx, file.SHA256)
			}
		}
		return nil, fmt.Errorf("version %d does not have it", d.Version)
	})
	return table, err
}
