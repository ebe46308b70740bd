package dossier

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/internal/text"
	"waymark/landscape"
	"waymark/landscape/spent"
	"waymark/pipeline/schema"
)

func moment(at landscape.Micros) string {
	if at == 0 {
		return ""
	}
	return at.Time().UTC().Format("2006-01-02T15:04:05.000000Z") // sorted as texts they are in order
}

func number(n int64, word string) string { return text.Count(n, word) }

func (a *account) began(ctx context.Context) error {
	start, err := a.log.StartOfRun(ctx, a.run.ID)
	if err != nil {
		return err
	}
	r := a.run
	a.line("run", r.ID)
	a.line("pipeline", r.Pipeline)
	if r.Version > 0 {
		a.line("version", fmt.Sprintf("%d, deployed in %s", r.Version, r.Environment))
	}
	a.line("status", string(r.Status), r.Reason)
	a.line("started by", r.Actor, r.Trigger, r.Host)
	a.line("why", start.Why)
	a.line("slot", start.Slot, start.Schedule)
	a.line("linked to", r.Parent, string(r.Link))
	a.line("asked for", moment(start.Accepted))
	a.line("began", moment(r.Started))
	a.line("ended", moment(r.Finished))
	a.line("document", r.File, "sha256 "+r.DocumentSHA256)
	a.line("plan", "sha256 "+r.PlanSHA256)
	a.line("program", r.Code)
	a.line("params", strings.TrimSuffix(r.Params, "{}"))
	return nil
}

func (a *account) read(ctx context.Context) error {
	sources, err := a.log.Sources(ctx, a.run.ID)
	if err != nil {
		return err
	}
	ends, err := a.log.SourceEnds(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if s.Info == "{}" { // a barrier
			continue
		}
		at := slices.IndexFunc(ends, func(e landscape.SourceEnd) bool { return e.Source == s.Source })
		if at < 0 {
			a.line(s.Source, "not to its end")
		} else {
			a.line(s.Source, number(ends[at].Rows, "row"), number(ends[at].Bytes, "byte"), "sha256 "+ends[at].Digests)
		}
		a.line("", s.Info)
	}
	tables, err := landscape.Select[landscape.LookupTable](ctx, a.log, a.run.ID)
	for _, t := range tables {
		a.line(t.Node, number(t.Rows, "row"), number(t.Bytes, "byte"), "sha256 "+t.SHA256, t.Path)
	}
	return err
}

func (a *account) nodes(summary landscape.Summary) {
	a.line("node", "in", "made", "out", "dropped", "refused", "taken", "held")
	for _, n := range summary.Nodes {
		cells := []string{}
		for _, count := range []int64{n.In, n.Created, n.Out, n.Dropped, n.Diverted, n.Consumed, n.Held} {
			cells = append(cells, text.Grouped(count))
		}
		a.line(n.Node, cells...)
	}
}

func (a *account) made(ctx context.Context, summary landscape.Summary) error {
	artifacts, err := a.log.Artifacts(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, s := range summary.Sinks {
		published := "not published"
		if s.Published {
			published = "published"
		}
		a.line(s.Sink, number(s.Finalized, "row"), published)
		for _, artifact := range artifacts {
			if artifact.Sink == s.Sink {
				a.line("", artifact.Path, number(artifact.Bytes, "byte"), moment(artifact.Published), "sha256 "+artifact.SHA256, artifact.Latest)
				fields, err := schema.Parse(artifact.Schema)
				if err != nil {
					return err
				}
				a.line("", fields.Text())
			}
		}
	}
	return nil
}

// refused counts rows by the node that refused them and the code. What they said may quote values.
func (a *account) refused(ctx context.Context) error {
	type kind struct{ node, code, to string }
	counts := map[kind]int64{}
	err := landscape.Each(ctx, a.log, func(e landscape.ErrorHead) bool {
		counts[kind{e.Node, e.Code, e.SentTo}]++
		return true
	}, a.run.ID)
	for k, n := range counts {
		a.line(k.node, k.code, number(n, "row"), "to "+k.to)
	}
	slices.SortFunc(a.lines, slices.Compare)
	return err
}

func (a *account) policies(ctx context.Context) error {
	declared, err := landscape.Select[landscape.PolicyRecord](ctx, a.log, a.run.ID)
	if err != nil {
		return err
	}
	results, err := a.log.PolicyResults(ctx, a.run.ID)
	for _, p := range declared {
		a.line(p.Policy, "gate "+p.Gate, p.Assertion)
		for _, r := range results {
			if r.Policy == p.Policy {
				a.line("", string(r.Result), moment(r.At), r.Detail, r.Actor)
			}
		}
	}
	return err
}

// people tells who started the run, what people ordered, and what they signed.
func (a *account) people(ctx context.Context) error {
	a.line(moment(a.run.Started), "start", a.run.Actor, a.run.Trigger)
	actions, err := a.log.Actions(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, action := range actions {
		a.line(moment(action.At), action.Verb, action.Actor, action.Why)
	}
	resumptions, err := a.log.Resumptions(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, r := range resumptions {
		a.line(moment(r.At), "resume", r.Actor, r.Why)
	}
	orders, err := a.log.OrdersAbout(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, o := range orders {
		a.line(moment(o.At), "propose to "+string(o.Verb), o.Person, "request "+o.Digest)
		approvals, err := a.log.Approvals(ctx, o)
		if err != nil {
			return err
		}
		for _, signed := range approvals {
			a.line(moment(signed.At), string(signed.Kind), signed.Person, "request "+o.Digest)
		}
	}
	signed, err := a.log.SignOffs(ctx, a.run.ID)
	for _, s := range signed {
		a.line(moment(s.At), "sign off as "+s.Role, s.Person, fmt.Sprintf("seal %d", s.Seal))
	}
	slices.SortStableFunc(a.lines, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return err
}

// attempts tells where the run had to begin again, or to wait: all that did not happen at once.
func (a *account) attempts(ctx context.Context) error {
	executions, err := landscape.Select[landscape.Execution](ctx, a.log, a.run.ID)
	if err != nil {
		return err
	}
	for _, e := range executions {
		a.line(moment(e.At), fmt.Sprintf("execution %d of epoch %d", e.Seq, e.Epoch), e.Workflow, e.Identity)
	}
	moments, err := a.log.Moments(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, m := range moments {
		if m.Attempt > 1 {
			a.line(moment(m.Finished), fmt.Sprintf("chunk %d of %s passed at attempt %d", m.Chunk, m.Source, m.Attempt), m.Worker)
		}
	}
	events, err := a.log.EffectEvents(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.Event != landscape.EffectBegan && e.Event != landscape.EffectFinalized {
			a.line(moment(e.At), fmt.Sprintf("write to %s %s at attempt %d", e.Sink, e.Event, e.Fence), e.Worker, e.Detail)
		}
	}
	err = a.events(ctx, func(event string) bool { return !logged(event) })
	slices.SortStableFunc(a.lines, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return err
}

// warnings are those that the processes logged about the run.
func (a *account) warnings(ctx context.Context) error { return a.events(ctx, logged) }

func logged(event string) bool {
	return event == landscape.LoggedWarning || event == landscape.LoggedError
}

// events tells what happened to the run as a whole, as far as it is wanted.
func (a *account) events(ctx context.Context, wanted func(event string) bool) error {
	happened, err := landscape.Select[landscape.RunEvent](ctx, a.log, a.run.ID)
	for _, e := range happened {
		if wanted(e.Event) {
			a.line(moment(e.At), e.Event, e.Detail)
		}
	}
	return err
}

// took tells what the run cost: time, and bytes.
func (a *account) took(ctx context.Context, summary landscape.Summary) error {
	written := int64(0)
	for _, s := range summary.Sinks {
		written += s.Bytes
	}
	moments, err := a.log.Moments(ctx, a.run.ID)
	if err != nil {
		return err
	}
	type share struct {
		chunks, rows int64
		steps        time.Duration
	}
	workers := map[string]share{}
	for _, m := range moments {
		if m.Finished == 0 {
			continue
		}
		w := workers[m.Worker]
		workers[m.Worker] = share{w.chunks + 1, w.rows + m.Rows, w.steps + m.Finished.Time().Sub(m.Started.Time())}
	}
	for worker, w := range workers {
		a.line(worker, number(w.chunks, "chunk"), number(w.rows, "row"), w.steps.String()+" in the steps")
	}
	slices.SortFunc(a.lines, slices.Compare)
	whole := a.run.Finished.Time().Sub(a.run.Started.Time())
	a.line("from beginning to end", whole.String())
	on, err := spent.Of(ctx, a.log, a.run.RunHead)
	if err != nil {
		return err
	}
	if on != nil {
		a.share("of that without any process", whole, on.NoProcess)
		a.share("of that paused", whole, on.Paused)
	}
	a.line("read", number(summary.Rows, "row"), number(summary.Bytes, "byte"))
	a.line("written", number(written, "byte"))
	return nil
}

// share tells a share of a time, if it is one.
func (a *account) share(name string, of time.Duration, share float64) {
	if share > 0 {
		a.line(name, time.Duration(share*float64(of)).Round(time.Millisecond).String())
	}
}

// later tells what was done with the run after it was sealed, up to now.
func (a *account) later(ctx context.Context) error {
	linked, err := a.log.LinkedRuns(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, l := range linked {
		a.line("linked run", l.Run, string(l.Link))
	}
	looks, err := a.log.Attestations(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, l := range looks {
		a.line("attested", moment(l.At), l.Sink, string(l.Result), l.Actor)
	}
	purges, err := a.log.PurgesOf(ctx, a.run.ID, 0)
	for _, p := range purges {
		a.line("payloads deleted", moment(p.At), p.Actor, p.Why)
	}
	return err
}
