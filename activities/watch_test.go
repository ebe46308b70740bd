package activities_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"waymark/engine/plan"
	"waymark/plugin"
)

// watched sees what a sink's target is asked to do, and can answer for it.
type watched struct {
	plugin.Sink
	name string
	eyes *eyes
}

type eyes struct {
	wrote  atomic.Int64
	asked  atomic.Int64
	sealed atomic.Int64    // times that an output was to be published
	answer *plugin.Applied // instead of the target's own
	fail   error           // of the next Write, after it wrote

	// fate, if not nil, says of a sink's Write whether it reaches the target, and what comes of it.
	fate func(sink string) (keep bool, err error)

	once            sync.Mutex
	opening, opened func() // before and after the next Open, if not nil
}

func (w watched) Target(run string) plugin.Target {
	return watchedTarget{w.Sink.Target(run), w.name, w.eyes}
}

type watchedTarget struct {
	plugin.Target
	sink string
	eyes *eyes
}

func (w watchedTarget) Open(ctx context.Context, header []byte) (bool, error) {
	w.eyes.call(&w.eyes.opening)
	made, err := w.Target.Open(ctx, header)
	w.eyes.call(&w.eyes.opened)
	return made, err
}

// call calls a hook the first time.
func (e *eyes) call(hook *func()) {
	e.once.Lock()
	do := *hook
	*hook = nil
	e.once.Unlock()
	if do != nil {
		do()
	}
}

func (w watchedTarget) Write(ctx context.Context, part plugin.Part, data []byte) error {
	w.eyes.wrote.Add(1)
	if w.eyes.fate != nil {
		keep, lost := w.eyes.fate(w.sink)
		if keep {
			lost = errors.Join(w.Target.Write(ctx, part, data), lost)
		}
		return lost
	}
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

// planFunc is a recompute.Planner that is a function.
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
			seen.Nodes[i].Sink = watched{seen.Nodes[i].Sink, seen.Nodes[i].Name, e}
		}
		return &seen, nil
	})
	r.restart()
	return e
}
