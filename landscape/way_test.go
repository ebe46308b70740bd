package landscape_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
)

func TestSignature(t *testing.T) {
	var got []string
	for _, w := range landscapetest.Ways() {
		got = append(got, w.Signature())
	}
	require.Equal(t, []string{
		"strikes > score > keep > triage[major] > review (gate_routed)",
		"strikes > score > keep > triage[minor] > tidy > all (default_flow)",
		`strikes > score > keep > triage["major > [x]"] > review (gate_routed)`,
		"strikes > score > keep (filter_dropped)",
		"strikes > score > keep > triage[junk] (gate_discarded)",
		"strikes > __quarantine__ (quarantined_at_source)",
		"strikes > score > rejects (on_error_routed)",
		"strikes > score > keep > __quarantine__ (on_error_routed)",
		"strikes > score > keep > triage > __quarantine__ (unrouted)",
		"strikes > score > keep > triage[minor] > tidy > __discard__ (sink_discarded)",
		"strikes > score > keep > triage[minor] > tidy > all > __quarantine__ (on_error_routed)",
	}, got)
	require.Equal(t, "ef4a6422ac9d0fc9", landscapetest.Ways()[0].ID(), "stored: it must never change")
	other := landscapetest.Ways()[0]
	other.Lane = 3
	require.Equal(t, "74b86beaef05b156", other.ID(), "stored: it must never change")
}

// TestMergeKindID holds that everything in a kind is in its id.
func TestMergeKindID(t *testing.T) {
	kind := func(change func(k *landscape.MergeKind)) string {
		k := landscape.MergeKind{
			Node: "decide", Policy: pipeline.Quorum, Merge: pipeline.Union, Quorum: 2, Timeout: time.Minute, Expected: []string{"a", "b", "c"},
			Arrived: []string{"b"}, Lost: []landscape.LostBranch{{Branch: "a", Reason: pipeline.GateRouted}}, NotNeeded: []string{"c"},
			FiredBy: "timeout", Collisions: []string{"x"}, Origins: []landscape.FieldOrigin{{Field: "x", Branch: "b"}},
			Result: landscape.MergeRejected, Code: "QUORUM_NOT_MET",
		}
		change(&k)
		return k.ID()
	}
	ids := map[string]bool{}
	changes := []func(k *landscape.MergeKind){
		func(*landscape.MergeKind) {},
		func(k *landscape.MergeKind) { k.Node = "x" }, func(k *landscape.MergeKind) { k.Policy = "x" },
		func(k *landscape.MergeKind) { k.Merge = "x" }, func(k *landscape.MergeKind) { k.Quorum++ },
		func(k *landscape.MergeKind) { k.Timeout *= 2 }, func(k *landscape.MergeKind) { k.Expected = k.Expected[1:] },
		func(k *landscape.MergeKind) { k.Arrived = nil }, func(k *landscape.MergeKind) { k.Lost = nil },
		func(k *landscape.MergeKind) { k.Lost[0].Reason = "x" }, func(k *landscape.MergeKind) { k.NotNeeded = nil },
		func(k *landscape.MergeKind) { k.FiredBy = "x" }, func(k *landscape.MergeKind) { k.Collisions = nil },
		func(k *landscape.MergeKind) { k.Origins[0].Branch = "x" }, func(k *landscape.MergeKind) { k.Result = "x" },
		func(k *landscape.MergeKind) { k.Code = "x" },
	}
	for _, change := range changes {
		ids[kind(change)] = true
	}
	require.Len(t, ids, len(changes))
	require.Equal(t, "81883b572cdcdda9", kind(changes[0]), "stored: it must never change")
}

// TestSignatureIsTheWay holds that two ways have one signature exactly if they are the same way, whatever the labels.
func TestSignatureIsTheWay(t *testing.T) {
	name := rapid.StringMatching(`[ab]`)
	label := rapid.SampledFrom([]string{"", "a", "a] > b[c", `"`, `"a"`, " ", "(x)", "a > b", "\n", "\xff", "ü"})
	ways := rapid.Custom(func(t *rapid.T) landscape.Way {
		w := landscape.Way{Path: rapid.SampledFrom([]pipeline.Path{pipeline.GateRouted, pipeline.FilterDropped}).Draw(t, "path")}
		if w.Path == pipeline.GateRouted {
			w.Sink = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "sink")
		}
		for range rapid.IntRange(1, 2).Draw(t, "steps") {
			w.Steps = append(w.Steps, landscape.Step{Node: name.Draw(t, "node"), Label: label.Draw(t, "label")})
		}
		return w
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := ways.Draw(t, "a"), ways.Draw(t, "b")
		same, equal := a.Signature() == b.Signature(), len(a.Steps) == len(b.Steps) && a.Path == b.Path && a.Sink == b.Sink
		for i := range a.Steps {
			equal = equal && a.Steps[i] == b.Steps[i]
		}
		if same != equal {
			t.Fatalf("%q\n%q", a.Signature(), b.Signature())
		}
	})
}
