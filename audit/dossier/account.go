package dossier

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/internal/text"
	"waymark/landscape"
	"waymark/landscape/spent"
	"waymark/pipeline/schema"
	"waymark/plugin"
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
	a.line("status", text.Spaced(string(r.Status)), r.Reason)
	a.line("started by", r.Actor+", "+door(r.Trigger)+", on "+r.Host)
	a.line("why", start.Why)
	if start.Slot != "" {
		a.line("slot", start.Slot+" of schedule "+start.Schedule)
	}
	if r.Parent != "" {
		a.line("linked", "it "+links[r.Link]+" run "+r.Parent)
	}
	a.line("asked for", moment(start.Accepted))
	a.line("began", moment(r.Started))
	a.line("ended", moment(r.Finished))
	a.line("document", r.File, "SHA-256 "+r.DocumentSHA256)
	a.line("plan", "what the document compiles to", "SHA-256 "+r.PlanSHA256)
	a.line("program", r.Code)
	a.line("parameters", given(r.Params))
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
		var digests []string
		at := slices.IndexFunc(ends, func(e landscape.SourceEnd) bool { return e.Source == s.Source })
		if at < 0 {
			a.line(s.Source, "not to its end")
		} else {
			a.line(s.Source, number(ends[at].Rows, "row"), number(ends[at].Bytes, "byte"))
			if err := json.Unmarshal([]byte(ends[at].Digests), &digests); err != nil {
				return fmt.Errorf("source %s: digests: %w", s.Source, err)
			}
		}
		if err := a.source(s, digests); err != nil {
			return err
		}
	}
	tables, err := landscape.Select[landscape.LookupTable](ctx, a.log, a.run.ID)
	for _, t := range tables {
		a.line(t.Node, number(t.Rows, "row"), number(t.Bytes, "byte"))
		a.line("", t.Path, "SHA-256 "+t.SHA256)
	}
	return err
}

// source tells which files a source read, or what else. The digests are those of the files that it read to their ends.
func (a *account) source(s landscape.Source, digests []string) error {
	var info plugin.SourceInfo
	if err := json.Unmarshal([]byte(s.Info), &info); err != nil {
		return fmt.Errorf("source %s: what it read: %w", s.Source, err)
	}
	if info.List != "" {
		a.line("", "records of an earlier run, which it refused")
	}
	if info.Trigger != "" {
		a.line("", "what arrived at trigger "+info.Trigger)
	}
	for i, file := range info.Files {
		cells := []string{file.Path, number(file.Bytes, "byte")}
		if file.Target != "" {
			cells[0] += ", a link to " + file.Target
		}
		if file.ModifiedMicros != 0 {
			cells = append(cells, "last changed "+moment(landscape.Micros(file.ModifiedMicros)))
		}
		if i < len(digests) && digests[i] != "" {
			cells = append(cells, "SHA-256 "+digests[i])
		}
		if i < len(info.Outputs) && info.Outputs[i].Run != "" {
			of := info.Outputs[i]
			cells = append(cells, fmt.Sprintf("the output of sink %s of run %s", of.Sink, of.Run))
		}
		a.line("", cells...)
	}
	for _, link := range info.Skipped {
		a.line("", link, "left out: a link to nothing that may be read")
	}
	return nil
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
				published := "published " + moment(artifact.Published)
				a.line("", artifact.Path, number(artifact.Bytes, "byte"), published, "SHA-256 "+artifact.SHA256)
				if artifact.Latest != "" {
					a.line("", artifact.Latest, "leads there")
				}
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
		a.line(k.node, refusal(k.code), number(n, "row"), place(k.to))
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
		a.line(p.Policy, p.Assertion, cmp.Or(gates[p.Gate], text.Spaced(p.Gate)))
		for _, r := range results {
			if r.Policy == p.Policy {
				a.line("", cmp.Or(verdicts[r.Result], text.Spaced(string(r.Result))), moment(r.At), r.Detail, r.Actor)
			}
		}
	}
	return err
}

// people tells who started the run, what people ordered, and what they signed.
func (a *account) people(ctx context.Context) error {
	a.line(moment(a.run.Started), a.run.Actor, "started it "+door(a.run.Trigger))
	actions, err := a.log.Actions(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, action := range actions {
		a.line(moment(action.At), action.Actor, cmp.Or(deeds[action.Verb], text.Spaced(action.Verb)), action.Why)
	}
	resumptions, err := a.log.Resumptions(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, r := range resumptions {
		a.line(moment(r.At), r.Actor, "resumed it", r.Why)
	}
	orders, err := a.log.OrdersAbout(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, o := range orders {
		a.line(moment(o.At), o.Person, "proposed to "+text.Spaced(string(o.Verb)), "request "+o.Digest)
		approvals, err := a.log.Approvals(ctx, o)
		if err != nil {
			return err
		}
		for _, signed := range approvals {
			a.line(moment(signed.At), signed.Person, "signed: "+text.Spaced(string(signed.Kind)), "request "+o.Digest)
		}
	}
	signed, err := a.log.SignOffs(ctx, a.run.ID)
	for _, s := range signed {
		a.line(moment(s.At), s.Person, "signed it off as "+s.Role, fmt.Sprintf("seal %d", s.Seal))
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
		began := "began"
		if e.Epoch > 0 {
			began = fmt.Sprintf("resumption %d", e.Epoch)
		}
		if e.Seq > 0 {
			began += fmt.Sprintf(", execution %d", e.Seq+1)
		}
		a.line(moment(e.At), began, "in workflow "+e.Workflow+" of Temporal", "by "+e.Identity)
	}
	moments, err := a.log.Moments(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, m := range moments {
		if m.Attempt > 1 {
			passed := fmt.Sprintf("chunk %d of %s went through the steps at attempt %d", m.Chunk, m.Source, m.Attempt)
			a.line(moment(m.Finished), passed, "by "+m.Worker)
		}
	}
	events, err := a.log.EffectEvents(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.Event != landscape.EffectBegan && e.Event != landscape.EffectFinalized {
			became := cmp.Or(writes[e.Event], text.Spaced(string(e.Event)))
			attempt := fmt.Sprintf("attempt %d to write to %s %s", e.Fence, e.Sink, became)
			a.line(moment(e.At), attempt, "by "+e.Worker, text.Spaced(e.Detail))
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
			a.line(moment(e.At), text.Spaced(e.Event), e.Detail)
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
		a.line("run "+l.Run, links[l.Link]+" this one")
	}
	looks, err := a.log.Attestations(ctx, a.run.ID)
	if err != nil {
		return err
	}
	for _, l := range looks {
		found := "output " + l.Sink + " is " + text.Spaced(string(l.Result))
		a.line("compared with its target", moment(l.At), found, "by "+l.Actor)
	}
	purges, err := a.log.PurgesOf(ctx, a.run.ID, 0)
	for _, p := range purges {
		a.line("payloads deleted", moment(p.At), p.Actor, p.Why)
	}
	return err
}
