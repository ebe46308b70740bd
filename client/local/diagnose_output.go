package local

import (
	"context"
	"fmt"
	"slices"

	"waymark/audit"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
)

// outputs looks at the output of every sink: whether it was published, is still there as the run wrote it, and is where
// its sink's latest leads.
func (p patient) outputs(ctx context.Context) (checks []client.Check, err error) {
	artifacts, err := p.stores.Log.Artifacts(ctx, p.run.ID)
	if err != nil {
		return nil, err
	}
	for _, sink := range p.status.Sinks {
		check := p.unpublished(sink)
		i := slices.IndexFunc(artifacts, func(a landscape.ArtifactRecord) bool { return a.Sink == sink.Sink })
		if i >= 0 {
			if check, err = p.published(ctx, artifacts[i]); err != nil {
				check = client.Warning("", "it could not be looked at: %v", err)
			}
		}
		check.Name = "output " + sink.Sink
		checks = append(checks, check)
		if i < 0 {
			continue
		}
		if check, err = p.led(ctx, artifacts[i]); err != nil {
			check = client.Warning("", "it could not be looked at: %v", err)
		}
		if check.Name = "latest " + sink.Sink; check.State != "" {
			checks = append(checks, check)
		}
	}
	return checks, ctx.Err()
}

// unpublished says how far an output is that was not published.
func (p patient) unpublished(sink client.Sink) client.Check {
	told := fmt.Sprintf("not published: %s written, %s missing, %s unknown", text.Count(sink.Completed, "part"), text.Grouped(sink.Missing), text.Grouped(sink.Unknown))
	for _, staged := range p.status.Staged {
		if staged.Sink == sink.Sink {
			told += fmt.Sprintf("; %s staged at %s", text.Count(staged.Bytes, "byte"), staged.Path)
		}
	}
	switch {
	case sink.Unknown > 0:
		return client.Failure(client.ListEffects, "%s", told)
	case client.Complete(p.run.Status):
		return client.Failure(client.VerifyRun, "%s", told)
	case p.run.Final || p.status.Alive != nil && *p.status.Alive:
		return client.Good("%s", told)
	}
	return client.Failure(p.next(), "%s", told)
}

// published looks at the target of an output, and at what the newest attestation found there.
func (p patient) published(ctx context.Context, output landscape.ArtifactRecord) (client.Check, error) {
	auditor, err := p.Auditor(ctx)
	if err != nil {
		return client.Check{}, err
	}
	found, err := auditor.Presence(ctx, output)
	if err != nil {
		return client.Check{}, err
	}
	newest, told, err := p.attested(ctx, output.Sink)
	switch {
	case err != nil:
		return client.Check{}, err
	case found.There && found.Table: // whose rows are not read here
		return p.table(output, newest, told), nil
	case found.There:
		return client.Good("%s is as the run published it: %s, %s", output.Path, text.Count(output.Rows, "row"), text.Count(output.Bytes, "byte")), nil
	case !found.Known:
		return client.Warning("", "%s cannot be compared: %s%s", output.Path, found.Why, told), nil
	}
	later, err := p.stores.Log.ReplacedBy(ctx, output)
	if err != nil {
		return client.Check{}, err
	}
	if later != "" && !found.Table { // a table has what several runs wrote, and what they left beside it
		return client.Good("%s is no longer this run's: run %s replaced it", output.Path, later), nil
	}
	return about(output.Path, client.Failure(client.ShowOutputs, "%s%s", found.Why, told)), nil
}

// led looks whether the latest of an output's sink leads to the output; nothing if it has none, or should lead to the
// output of another run. A run that is running may be about to make it.
func (p patient) led(ctx context.Context, output landscape.ArtifactRecord) (client.Check, error) {
	if output.Latest == "" || p.run.Status == pipeline.Running {
		return client.Check{}, nil
	}
	auditor, err := p.Auditor(ctx)
	if err != nil {
		return client.Check{}, err
	}
	latest, err := p.stores.Log.LatestOutput(ctx, output.Latest)
	if err != nil || latest.Run != output.Run || latest.Sink != output.Sink {
		return client.Check{}, err
	}
	found, err := auditor.Led(ctx, latest)
	if err != nil {
		return client.Check{}, err
	}
	now, err := p.stores.Log.LatestOutput(ctx, output.Latest)
	switch {
	case err != nil || now != latest: // another run published while it was looked at
		return client.Check{}, err
	case found.There:
		return client.Good("%s leads to %s", output.Latest, output.Path), nil
	case !found.Known:
		return client.Warning("", "%s", found.Why), nil
	case !client.Complete(p.run.Status):
		return client.Failure(p.next(), "%s", found.Why), nil
	}
	return client.Failure("", "%s", found.Why), nil
}

// attested returns the newest attestation of the output of a sink, nil if nobody looked, and says what it found.
func (p patient) attested(ctx context.Context, sink string) (newest *landscape.Attestation, told string, err error) {
	all, err := p.stores.Log.Attestations(ctx, p.run.ID)
	for _, a := range slices.Backward(all) {
		if a.Sink == sink {
			return &a, "; attested: " + audit.TellAttestation(all, a), err
		}
	}
	return nil, "", err
}

// table says of a table what was found when its rows were read last.
func (p patient) table(output landscape.ArtifactRecord, newest *landscape.Attestation, told string) client.Check {
	if newest == nil {
		return client.Good("%s has the entries that the run left, %s; nobody read the rows again", output.Path, text.Count(output.Rows, "row"))
	}
	if newest.Changed+newest.Missing > 0 {
		return about(output.Path, client.Failure(client.AttestRun, "%s has the entries that the run left, and other rows%s", output.Path, told))
	}
	return client.Good("%s has the entries that the run left, %s%s", output.Path, text.Count(output.Rows, "row"), told)
}
