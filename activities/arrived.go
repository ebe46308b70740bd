package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
)

// arrived returns what sources hold, by their names, in a run that was begun because files arrived: the one of its trigger those files, in the order in
// which they arrived, and those of other triggers nothing.
func (a *Activities) arrived(ctx context.Context, in OpenInput, compiled *plan.Plan) (map[string]plugin.SourceInfo, error) {
	list, err := a.log.ArrivalsOfRun(ctx, in.Run)
	if err == nil && list == nil {
		err = fmt.Errorf("%w: what arrived was given to other runs", landscape.ErrCalledOff)
	}
	if err != nil {
		return nil, err
	}
	doc, began := &compiled.Document.Pipeline, list[0].Trigger
	pins := map[string]plugin.SourceInfo{}
	for _, trigger := range doc.Triggers {
		id := landscape.ScheduleID(in.Environment, doc.Name, trigger.Name)
		pin := plugin.SourceInfo{Files: []plugin.FileInfo{}, Trigger: id}
		if id == began {
			if pin.Files, pin.Outputs, err = filesOf(in.Run, list); err == nil && pin.Outputs != nil {
				err = asThere(ctx, compiled, trigger.Value.Source, &pin)
			}
			if err != nil {
				return nil, err
			}
		}
		pins[trigger.Value.Source] = pin
	}
	if !hasTrigger(pins, began) {
		return nil, final{TypeInput, fmt.Errorf("version %d of %s has no trigger %s any more: deploy one that has it, and the run of what arrived begins", in.Version, doc.Name, began)}
	}
	return pins, nil
}

func hasTrigger(pins map[string]plugin.SourceInfo, id string) bool {
	for _, pin := range pins {
		if pin.Trigger == id {
			return true
		}
	}
	return false
}

// filesOf returns the files on the list of a run, and of which outputs they are; no outputs if they are none that other pipelines published. They must be the run's.
func filesOf(run string, list []landscape.Arrival) (_ []plugin.FileInfo, outputs []plugin.OutputOf, err error) {
	published, files := false, []plugin.FileInfo{}
	for _, arrival := range list {
		if arrival.Run != run {
			return nil, nil, fmt.Errorf("%w: what arrived was given to other runs", landscape.ErrCalledOff)
		}
		output, err := arrival.Output()
		if err != nil {
			return nil, nil, err
		}
		if output == nil {
			file, err := arrival.File()
			if err != nil {
				return nil, nil, err
			}
			files, outputs = append(files, file), append(outputs, plugin.OutputOf{})
			continue
		}
		published = true
		for _, file := range output.Files {
			files, outputs = append(files, file.FileInfo), append(outputs, plugin.OutputOf{Run: output.Run, Sink: output.Sink, SHA256: file.SHA256})
		}
	}
	if !published {
		outputs = nil
	}
	return files, outputs, nil
}

// asThere takes files of published outputs as they are now, if they have the size that was published: one that was written again, or copied, may hold the same bytes, which
// their digest tells when they are read.
func asThere(ctx context.Context, compiled *plan.Plan, name string, pin *plugin.SourceInfo) error {
	source, is := compiled.Nodes[compiled.Find(name)].Source.(plugin.Watched)
	if !is {
		return notRetryable("source %s is none at which files arrive", name)
	}
	files, _, err := source.Look(ctx)
	if err != nil {
		return fmt.Errorf("source %s: %w", name, err)
	}
	there := make(map[string]plugin.FileInfo, len(files))
	for _, file := range files {
		there[file.Path] = file
	}
	for i, file := range pin.Files {
		if now, is := there[file.Path]; is && pin.Outputs[i].SHA256 != "" && now.Bytes == file.Bytes {
			pin.Files[i] = now
		}
	}
	return nil
}

// asPublished refuses files that do not hold what the runs that published them wrote. digests are those of the files, in their order.
func asPublished(pin plugin.SourceInfo, digests []string) error {
	for i, output := range pin.Outputs {
		if output.SHA256 != "" && (i >= len(digests) || digests[i] != output.SHA256) {
			return &plugin.SourceError{Code: codeSourceChanged, File: pin.Files[i].Path}
		}
	}
	return nil
}

// mayForkArrived refuses to take the place of a run that reads what arrived: that is the run's as long as it can be resumed.
func (a *Activities) mayForkArrived(ctx context.Context, run string) error {
	trigger, err := a.log.TriggerOfRun(ctx, run)
	if err != nil || trigger == "" {
		return err
	}
	return notRetryable("run %s reads what arrived at trigger %s, and no other run does: continue with it, waymark resume %[1]s, or give it up, waymark cancel %[1]s --final --why TEXT: "+
		"then another run of the version that is current reads the same", run, trigger)
}

// codeSourceChanged is the code of a source that is not what it was when the run began.
const codeSourceChanged = "SOURCE_CHANGED"

// aboutArrival says of a file that arrived, and is not what it was, what helps: no fork takes the place of its run.
func aboutArrival(err error, run string, pin plugin.SourceInfo) error {
	fault, is := errors.AsType[*plugin.SourceError](err)
	if !is || fault.Code != codeSourceChanged || pin.Trigger == "" {
		return err
	}
	told := *fault
	told.Message = fmt.Sprintf("is not the file that arrived; put it back and resume the run, or give the run up: waymark cancel %s --final --why TEXT returns what it took, and what is there now has a run of its own", run)
	if i := slices.IndexFunc(pin.Files, func(f plugin.FileInfo) bool { return f.Path == fault.File }); i >= 0 && i < len(pin.Outputs) && pin.Outputs[i].Run != "" {
		told.Message = fmt.Sprintf("is not what sink %s of run %s published, or was written again since the run began: see that what was published is there, and give the run up: "+
			"waymark cancel %s --final --why TEXT; then another run reads it", pin.Outputs[i].Sink, pin.Outputs[i].Run, run)
	}
	return &told
}
