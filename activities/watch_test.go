package activities_test

import (
	"context"
	"slices"
	"sync/atomic"

	"waymark/plan"
	"waymark/plugin"
)

// watched sees what a sink's target is asked to do, and can answer for it.
type watched struct {
	plugin.Sink
	eyes *eyes
}

type eyes struct {
	wrote  atomic.Int64
	asked  atomic.Int64
	sealed atomic.Int64    // times that an output was to be published
	answer *plugin.Applied // instead of the target's own
	fail   error           // of the next Write, after it wrote

	opening, opened func() // before and after the next Open, if not nil
}

func (w watched) Target(run string) plugin.Target { return watchedTarget{w.Sink.Target(run), w.eyes} }

type watchedTarget struct {
	plugin.Target
	eyes *eyes
}

func (w watchedTarget) Open(ctx context.Context, header []byte) (bool, error) {
	w.eyes.once(&w.eyes.opening)
	made, err := w.Target.Open(ctx, header)
	w.eyes.once(&w.eyes.opened)
	return made, err
}

func (e *eyes) once(hook *func()) {
	if do := *hook; do != nil {
		*hook = nil
		do()
	}
}

func (w watchedTarget) Write(ctx context.Context, part plugin.Part, data []byte) error {
	w.eyes.wrote.Add(1)
	err := w.Target.Write(ctx, part, data)
	if err == nil {
		err, w.eyes.fail = w.eyes.fail, nil
	}
	return err
}

func (w watchedTarget) Check(ctx context.Context, part plugin.Part) (plugin.Applied, error) {
	w.eyes.asked.Add(1)
	if w.eyes.answer != nil {
		return *w.eyes.answer, nil
	}
	return w.Target.Check(ctx, part)
}

func (w watchedTarget) Publish(ctx context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	w.eyes.sealed.Add(1)
	return w.Target.Publish(ctx, header, parts)
}

// planFunc is a Planner that is a function.
type planFunc func(request plan.Request) (*plan.Plan, error)

func (f planFunc) Plan(request plan.Request) (*plan.Plan, error) {
	return f(request)
}

// watch puts eyes on every target of the rig.
func watch(r *rig) *eyes {
	e, inner := new(eyes), r.planner
	r.planner = planFunc(func(request plan.Request) (*plan.Plan, error) {
		compiled, err := inner.Plan(request)
		if err != nil {
			return nil, err
		}
		seen := *compiled // plans are shared
		seen.Nodes = slices.Clone(compiled.Nodes)
		for _, i := range seen.Sinks() {
			seen.Nodes[i].Sink = watched{seen.Nodes[i].Sink, e}
		}
		return &seen, nil
	})
	r.restart()
	return e
}
