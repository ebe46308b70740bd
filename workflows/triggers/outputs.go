package triggers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

const (
	// mostEvents is how many events of the outbox are read at once.
	mostEvents = 1000
	// unrecorded is how many events a process looks at until it records how far it is, though there was nothing for the trigger: they are looked at again if it ends before.
	unrecorded = 10 * mostEvents
)

// compareOutputs returns what is to be recorded of what the other pipeline has published, and of what is not there any more, and up to which position of the
// outbox that is so. Only positions tell that nothing comes before what was looked at: a run that is complete later has a later one, whenever it began.
func (w *watched) compareOutputs(ctx context.Context) (changes []landscape.ArrivalChange, position int64, err error) {
	if err := w.open(ctx); err != nil {
		return nil, 0, err
	}
	if !w.has.Ready && w.found.gone != nil && len(w.found.gone) == 0 && w.found.position >= w.head {
		return nil, w.found.position, nil // nothing was told since
	}
	if err := w.straight(ctx); err != nil {
		return nil, 0, err
	}
	published, position, err := w.published(ctx)
	if err != nil {
		return nil, 0, err
	}
	ready, err := w.Log.ArrivalsInState(ctx, w.row.ID, landscape.ArrivalReady, 0)
	if err == nil {
		err = w.readGone(ctx)
	}
	if err != nil || len(published)+len(ready)+len(w.found.gone) == 0 {
		if err == nil {
			w.found.position = position
		}
		return nil, position, err
	}
	files, _, err := w.found.files.Look(ctx)
	if err != nil {
		return nil, 0, err
	}
	there := make(map[string]plugin.FileInfo, len(files))
	for _, file := range files {
		there[file.Path] = file
	}
	last := map[string]string{}
	for _, artifact := range published {
		last[artifact.Path] = artifact.Run
	}
	if changes, err = w.back(last, there); err != nil {
		return nil, 0, err
	}
	for _, known := range ready {
		output, err := known.Output()
		if err != nil {
			return nil, 0, err
		}
		reason := lost(output, last, there)
		if reason == "" {
			continue
		}
		to := known
		to.State, to.Reason = landscape.ArrivalGone, reason
		changes = append(changes, landscape.ArrivalChange{From: &known, To: to})
		if last[output.Path] == "" {
			w.found.gone[to.Item] = to
		}
	}
	for _, artifact := range published {
		to, err := w.outputArrived(ctx, artifact, last[artifact.Path], there)
		if err != nil {
			return nil, 0, err
		}
		changes = append(changes, landscape.ArrivalChange{To: to})
	}
	return changes, position, nil
}

// straight refuses a trigger through which what its pipeline publishes comes back to it: who deploys looks for that before, and two who deploy at the same moment do not see each other.
func (w *watched) straight(ctx context.Context) error {
	circle, err := w.Log.UpstreamCycle(ctx, w.row.Environment, w.row.Pipeline, pipeline.Map[pipeline.ArrivalTrigger]{{Name: w.row.Name, Value: w.declared}})
	if err == nil && circle != nil {
		err = fmt.Errorf("what %s publishes would come back to it: %s; deploy one of them without the trigger on this way", w.row.Pipeline, strings.Join(circle, " after "))
	}
	return err
}

// published returns what the sink of complete runs has published since the last look, in the order in which they became complete, and the position up to which that
// is so. What is recorded of the trigger already is left out.
func (w *watched) published(ctx context.Context) (published []landscape.ArtifactRecord, position int64, err error) {
	since, err := w.followsSince(ctx)
	if err != nil {
		return nil, 0, err
	}
	position = w.at.Position
	for len(published) < mostAtOnce {
		events, err := w.Log.Outbox(ctx, position, mostEvents)
		if err != nil {
			return nil, 0, err
		}
		for _, event := range events {
			position = event.Position
			if !event.Kind.Status().Complete() || event.Pipeline != w.declared.After.Pipeline || event.Environment != w.row.Environment || event.At < since {
				continue
			}
			artifact, err := w.Log.ArtifactOf(ctx, event.Run, w.declared.After.Sink)
			if err != nil {
				return nil, 0, err
			}
			if artifact == nil {
				continue
			}
			_, err = w.Log.LastArrival(ctx, w.row.ID, landscape.OutputItem(artifact.Run, artifact.Sink))
			if errors.Is(err, landscape.ErrNotFound) {
				published, err = append(published, *artifact), nil
			}
			if err != nil {
				return nil, 0, err
			}
		}
		if len(events) < mostEvents {
			break
		}
	}
	return published, position, nil
}

// followsSince returns when the trigger became one after that sink: what was published before is nothing to it.
func (w *watched) followsSince(ctx context.Context) (landscape.Micros, error) {
	if w.found.follows != 0 {
		return w.found.follows, nil
	}
	history, err := w.Log.TriggerHistory(ctx, w.row.ID)
	if err != nil {
		return 0, err
	}
	since := w.row.At
	for _, row := range slices.Backward(history) {
		after, err := row.Follows()
		if err != nil {
			return 0, err
		}
		if after == nil || *after != *w.declared.After {
			break
		}
		since = row.At
	}
	w.found.follows = since
	return since, nil
}

// readGone reads which outputs are gone and may come back, because no other was published in their place since, unless the process knows.
func (w *watched) readGone(ctx context.Context) error {
	if w.found.gone != nil {
		return nil
	}
	gone, latest := map[string]landscape.Arrival{}, map[string]landscape.Micros{}
	paths := map[string]string{} // of what is gone, by item
	var broken error
	err := w.Log.LastArrivals(ctx, w.row.ID, func(a landscape.Arrival) bool {
		var output *landscape.ArrivedOutput
		if output, broken = a.Output(); broken != nil || output == nil {
			return broken == nil
		}
		latest[output.Path] = max(latest[output.Path], a.At)
		if a.State == landscape.ArrivalGone {
			gone[a.Item], paths[a.Item] = a, output.Path
		}
		return true
	})
	if err = errors.Join(err, broken); err != nil {
		return err
	}
	maps.DeleteFunc(gone, func(item string, a landscape.Arrival) bool { return a.At < latest[paths[item]] })
	w.found.gone = gone
	return nil
}

// back returns what is to be recorded of outputs that were gone and are there again: each waits for a run, as the next revision of its item.
func (w *watched) back(last map[string]string, there map[string]plugin.FileInfo) (changes []landscape.ArrivalChange, err error) {
	for _, item := range slices.Sorted(maps.Keys(w.found.gone)) {
		known := w.found.gone[item]
		output, err := known.Output()
		if err != nil {
			return nil, err
		}
		if last[output.Path] != "" {
			delete(w.found.gone, item)
		}
		if lost(output, last, there) != "" {
			continue
		}
		for i, file := range output.Files {
			output.Files[i].FileInfo = there[file.Path]
		}
		to := landscape.NewOutputArrival(w.row.ID, *output)
		to.Revision, to.Reason = known.Revision+1, "it was gone, and is there again"
		changes = append(changes, landscape.ArrivalChange{To: to})
		delete(w.found.gone, item)
	}
	return changes, nil
}

// lost says why an output that waits for a run cannot be read any more; it is empty if it can, or is a file that arrived as such. last has the run that published
// something at a path last. A file that was written again may hold what was published: the run that reads it compares its digest.
func lost(output *landscape.ArrivedOutput, last map[string]string, there map[string]plugin.FileInfo) string {
	if output == nil {
		return ""
	}
	if run := last[output.Path]; run != "" {
		return fmt.Sprintf("run %s has published another output in its place", run)
	}
	for _, file := range output.Files {
		switch now, is := there[file.Path]; {
		case !is:
			return fmt.Sprintf("%s was removed before a run took it", file.Path)
		case now.Bytes != file.Bytes:
			return fmt.Sprintf("%s changed before a run took it", file.Path)
		}
	}
	return ""
}

// outputArrived returns what is to be recorded of an output. last is the run that published something at its path last.
func (w *watched) outputArrived(ctx context.Context, a landscape.ArtifactRecord, last string, there map[string]plugin.FileInfo) (landscape.Arrival, error) {
	output := landscape.ArrivedOutput{Run: a.Run, Sink: a.Sink, Path: a.Path, SHA256: a.SHA256, Rows: a.Rows}
	reason := ""
	var err error
	switch {
	case last != a.Run:
		reason = fmt.Sprintf("run %s has published another output in its place", last)
	case w.declared.Changed == "ignore":
		reason, err = w.retries(ctx, a.Run)
	}
	if err == nil && reason == "" {
		output.Files, reason, err = w.filesOf(ctx, a, there)
	}
	to := landscape.NewOutputArrival(w.row.ID, output)
	if reason != "" {
		to.State, to.Reason = landscape.ArrivalIgnored, reason
	}
	return to, err
}

// retries says which run's records a run retries; it is empty if the run is not a retry.
func (w *watched) retries(ctx context.Context, id string) (string, error) {
	run, err := w.Log.Run(ctx, id)
	if err != nil || run.Link != landscape.RetryLink {
		return "", err
	}
	return fmt.Sprintf("it has rows of run %s, which were retried (changed: ignore)", run.Parent), nil
}

// filesOf returns the files of an output: one, or its parts. The reason says why there are none that a run could read.
func (w *watched) filesOf(ctx context.Context, a landscape.ArtifactRecord, there map[string]plugin.FileInfo) (files []landscape.OutputFile, reason string, err error) {
	if file, is := there[a.Path]; is {
		if file.Bytes != a.Bytes {
			return nil, fmt.Sprintf("%s is not what the run published any more", a.Path), nil
		}
		return []landscape.OutputFile{{FileInfo: file, SHA256: a.SHA256}}, "", nil
	}
	parts, manifest, err := w.found.files.Parts(ctx, a.Path)
	switch {
	case err != nil:
		return nil, "", err
	case manifest == "":
		return nil, fmt.Sprintf("%s is not among the files that the path of the source %s matches: it was removed, or the path is that of something else", a.Path, w.declared.Source), nil
	case manifest != a.SHA256:
		return nil, fmt.Sprintf("%s is not what the run published any more", a.Path), nil
	}
	for _, part := range parts {
		file, is := there[part.Path]
		if !is {
			return nil, fmt.Sprintf("the part %s is not among the files that the path of the source %s matches: it was removed, or the path is that of something else", part.Path, w.declared.Source), nil
		}
		files = append(files, landscape.OutputFile{FileInfo: file, SHA256: part.SHA256})
	}
	return files, "", nil
}
