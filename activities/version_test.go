package activities_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/engine/plan"
	"waymark/plugin"
)

// raisedSource and raisedSink are plugins of a later version.
type raisedSource struct{ plugin.Source }

func (raisedSource) Version() int { return 2 }

type raisedSink struct{ plugin.Sink }

func (raisedSink) Version() int { return 2 }

func TestResumeNeedsSamePluginVersion(t *testing.T) {
	for name, raise := range map[string]func(*plan.Node){
		"source": func(n *plan.Node) {
			if n.Kind == plan.Source {
				n.Source = raisedSource{n.Source}
			}
		},
		"sink": func(n *plan.Node) {
			if n.Kind == plan.Sink {
				n.Sink = raisedSink{n.Sink}
			}
		},
	} {
		r := newRig(t, refusing, map[string]string{"in.csv": refusedRows})
		r.begin()
		inner := r.planner
		later := planFunc(func(request plan.Request) (*plan.Plan, error) {
			compiled, err := inner.Plan(request)
			if err != nil {
				return nil, err
			}
			raised := *compiled // plans are shared
			raised.Nodes = slices.Clone(compiled.Nodes)
			for i := range raised.Nodes {
				raise(&raised.Nodes[i])
			}
			return &raised, nil
		})
		require.NoError(t, activities.Check(t.Context(), activities.New(r.log, r.payloads, inner, "test"), runID), name)
		err := activities.Check(t.Context(), activities.New(r.log, r.payloads, later, "test"), runID)
		require.ErrorContains(t, err, `+      "version": 2,`, name)
	}
}
