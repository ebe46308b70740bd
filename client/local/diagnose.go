package local

import (
	"context"
	"maps"
	"slices"
	"strings"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
)

// Diagnose looks for what is wrong with a run, and returns what it looked at, in order: how the run ended, values that differ from those of the last run of its version, its refused rows, in which roles it is signed off, its outputs, the payloads
// that it needs, its seal, its place in the landscape's log, who was told of its end, the schema of the landscape, and other runs that read the same. It changes nothing, reads every
// payload and every record of the run, and does not execute any step: Verify and Reproduce do. What cannot be found out is a Check as well. The error is an
// *Error of kind NotFound if there is no such run.
func (h *Home) Diagnose(ctx context.Context, run landscape.Run) (checks []client.Check, err error) {
	status, err := h.Status(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	p := patient{h, run, status}
	for _, look := range []struct {
		name string
		look func(context.Context) ([]client.Check, error)
	}{
		{"run", p.ending}, {"values", p.values}, {"rows", p.refused}, {"sign-offs", p.signOffs}, {"outputs", p.outputs}, {"payloads", p.storedPayloads}, {"seal", p.seal}, {"log", p.inLog}, {"events", p.events}, {"schema", p.schema},
		{"same sources", p.repeats},
	} {
		found, err := look.look(ctx)
		if err != nil {
			found = append(found, client.Warning("", "it could not be found out: %v", err))
		}
		for _, check := range found {
			if check.Name == "" {
				check.Name = look.name
			}
			checks = append(checks, check)
		}
	}
	return checks, ctx.Err()
}

// patient is a run that is diagnosed.
type patient struct {
	*Home
	run    landscape.Run
	status *client.Status
}

// one returns a single check.
func one(check client.Check) ([]client.Check, error) { return []client.Check{check}, nil }

// about names what a check is about, for its cure.
func about(what string, check client.Check) client.Check {
	check.About = what
	return check
}

// next is the better one of what can be done with the run.
func (p patient) next() client.Cure {
	if len(p.status.Advice.Cures) == 0 {
		return client.ShowStatus
	}
	return p.status.Advice.Cures[0]
}

// ending says how the run ended, and why.
func (p patient) ending(context.Context) ([]client.Check, error) {
	s := p.status
	told := string(s.Status)
	if s.Final {
		told += " permanently"
	}
	for _, reason := range []string{s.Reason, s.Advice.Why} {
		if reason != "" && !strings.Contains(told, reason) {
			told += ": " + reason
		}
	}
	switch {
	case s.Paused != nil:
		return one(client.Warning(client.Resume, "paused by %s: %s", s.Paused.Actor, s.Paused.Why))
	case s.Dead():
		return one(client.Failure(p.next(), "running, and nobody executes it"))
	case s.Status == pipeline.Running, client.Complete(s.Status), s.Final:
		return one(client.Good("%s", told))
	default:
		return one(client.Failure(p.next(), "%s", told))
	}
}

// values says in which values of its worker the run differs from the last one of its version.
func (p patient) values(context.Context) ([]client.Check, error) {
	if p.status.OtherValues == "" {
		return nil, nil
	}
	check := client.Warning("", "%s", p.status.OtherValues)
	check.Advice = "give all workers the same values; waymark doctor compares those that are there"
	return one(check)
}

// signOffs says in which of the roles that the document requires the run is signed off now.
func (p patient) signOffs(context.Context) ([]client.Check, error) {
	if p.status.Required == nil {
		return nil, nil
	}
	var told []string
	for _, role := range p.status.Required {
		told = append(told, role.String())
	}
	all := strings.Join(told, "; ")
	switch missing := (client.Release{Roles: p.status.Required}).Awaited(); {
	case missing == nil:
		return one(client.Good("%s", all))
	case client.Complete(p.run.Status):
		return one(client.Failure(client.VerifyRun, "it published its outputs, and not every signature counts now: %s", all))
	}
	return one(client.Warning(client.SignOff, "%s", all))
}

// mostRefused is how many refused rows are counted by code.
const mostRefused = 100_000

// refused says which rows were refused, or are not finished.
func (p patient) refused(ctx context.Context) ([]client.Check, error) {
	s := p.status
	if s.Failed == 0 {
		if open := s.Rows - s.Passed; open > 0 {
			return one(client.Warning(p.next(), "%s of %s %s not finished",
				text.Grouped(open), text.Count(s.Rows, "row"), text.Agree(open, "is", "are")))
		}
		return one(client.Good("none of %s was refused", text.Count(s.Rows, "row")))
	}
	codes, _, err := p.stores.Log.RefusedBy(ctx, p.run.ID, mostRefused)
	if err != nil {
		return nil, err
	}
	return one(client.Warning(client.ShowErrors, "%s of %s %s refused, with %s",
		text.Grouped(s.Failed), text.Count(s.Rows, "row"), text.Agree(s.Failed, "was", "were"),
		strings.Join(slices.Sorted(maps.Keys(codes)), ", ")))
}

// schema compares the schema of the landscape with the one that this program makes.
func (p patient) schema(ctx context.Context) ([]client.Check, error) {
	differences, why, err := p.stores.Log.CompareSchema(ctx)
	switch {
	case err != nil:
		return nil, err
	case why != "":
		return one(client.Warning("", "not compared: %s", why))
	case len(differences) > 0:
		return one(client.Failure(client.VerifyRun, "%s of the landscape: the first, %s, %s", text.Count(int64(len(differences)), "difference"), differences[0].Object, differences[0].What))
	}
	return one(client.Good("tables, views and guards are those that this program makes"))
}
