package graphs_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
)

var laneDeaths = flag.Uint64("lane-deaths", 1, "how many seeds TestManyLanesDieAndGoOn tries; make nightly tries 2")

// TestManyLanes runs documents with so many sources, barriers and sinks that what is small is done together, and holds what they
// leave against what the interpreter says.
func TestManyLanes(t *testing.T) {
	sample.Rarely(t)
	onEach(t, 3, nil, func(t *testing.T, r *record, seed uint64) {
		doc, files := manyLanes(t, seed)
		r.compare(t, fmt.Sprintf("lanes-%d", seed), doc, files)
	})
}

// TestManyLanesDieAndGoOn is TestRunsDieAndGoOn for such documents: a process dies in the middle of what is done together.
func TestManyLanesDieAndGoOn(t *testing.T) {
	died := int64(0)
	r := &record{inprocess.New(t)}
	for seed := range *laneDeaths {
		doc, files := manyLanes(t, seed)
		died += r.checkDeathsOf(t, fmt.Sprintf("lanes-%d", seed), seed, doc, files)
	}
	require.Positive(t, died)
}

// manyLanes returns a document with many small sources, of which a few have several chunks. Each source goes to a sink, to a fork of many
// branches, or to an aggregate; some aggregates fire in the middle, and some are gathered again by one sort.
func manyLanes(t *testing.T, seed uint64) (*pipeline.Document, map[string]string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0x1a9e))
	unique := ""
	if seed%3 == 2 {
		unique = ", unique: true" // then chunks go through the steps one after the other
	}
	var sources, steps, sinks strings.Builder
	var gathered []string
	files := map[string]string{}
	sink := func(from string) {
		fmt.Fprintf(&sinks, "  to_%s: {from: %s, jsonl: {path: to_%s.jsonl}}\n", from, from, from)
	}
	for i := range 12 + rng.IntN(12) {
		name := fmt.Sprintf("s%d", i)
		rows := []int{0, 1, 2, 30}[rng.IntN(4)]
		var file strings.Builder
		file.WriteString("id,k\n")
		for row := range rows {
			fmt.Fprintf(&file, "%d,%c\n", row, 'a'+rng.IntN(3))
		}
		files[name+".csv"] = file.String()
		fmt.Fprintf(&sources, "  %s: {csv: {path: %s.csv}, schema: {mode: fixed, fields: {id: {type: int%s}, k: string}}}\n", name, name, unique)
		if i == 0 {
			branches := make([]string, 10)
			for b := range branches {
				branches[b] = fmt.Sprintf("b%d", b)
				sink(branches[b])
			}
			fmt.Fprintf(&steps, "  - {name: copies, from: s0, fork: [%s]}\n", strings.Join(branches, ", "))
			continue
		}
		trigger := []string{"", "", ", trigger: {rows: 2}"}[rng.IntN(3)]
		sums := fmt.Sprintf("sums%d", i)
		fmt.Fprintf(&steps, "  - {name: %s, from: %s, aggregate: {group_by: [k], compute: {n: count()}}%s}\n", sums, name, trigger)
		if rng.IntN(3) == 0 {
			gathered = append(gathered, sums)
		} else {
			sink(sums)
		}
	}
	if len(gathered) > 0 {
		fmt.Fprintf(&steps, "  - {name: gathered, from: [%s], sort: {by: {n: desc}}}\n", strings.Join(gathered, ", "))
		sink("gathered")
	}
	text := fmt.Sprintf("name: lanes\nchunk: {rows: 20}\nsources:\n%ssteps:\n%ssinks:\n%s", sources.String(), steps.String(), sinks.String())
	doc, err := pipeline.Load("lanes.yaml", []byte(text), pipeline.Environment{})
	require.NoError(t, err, "seed %d\n%s", seed, text)
	return doc, files
}
