package sqlitestore_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// graph is a made-up run in which rows are expanded, fork, meet in their own passage and across passages, wait and gather:
//
//	east > items (expand) > score > split (fork) > by_cost            > decide (coalesce)
//	west                  > score                > by_species > known > decide
//	decide > fan (fork) > detail       > both (coalesce) > by_state (aggregate) > states
//	                    > ranked > top > both
//
// with the sink rejects for rows that score refuses. The coalesce decide takes what comes; both takes the first.
type graph struct {
	run string
	log *landscape.Log
}

func (g graph) begin(ctx context.Context) error {
	run := landscape.Run{
		RunHead: landscape.RunHead{
			ID: g.run, Pipeline: "opinions", DocumentSHA256: digest("document"), PlanSHA256: digest("plan"), Code: "test", Actor: "tester",
			Trigger: "cli", BaseDir: "/data",
		},
		Document: "name: opinions", Plan: `{}`, Params: `{}`, Refs: `[]`,
	}
	return g.log.BeginRun(ctx, run, landscape.Graph{
		Nodes: graphNodes(), Edges: graphEdges(), Sources: origins(), Lanes: graphLanes(), Key: []byte("salts of a graph"),
	})
}

func graphNodes() (nodes []landscape.Node) {
	for _, words := range []string{
		"east source jsonl own", "west source csv own", "items step expand record", "score step set own", "split step fork input",
		"known step filter input", "decide step coalesce own", "fan step fork input", "top step sort record",
		"both step coalesce record", "by_state step aggregate record", "states sink csv input", "rejects sink csv input",
	} {
		word := strings.Fields(words)
		n := landscape.Node{
			Node: word[0], Seq: int64(len(nodes)), Kind: landscape.NodeKind(word[1]), Operation: word[2], Config: `{}`,
			Determinism: pipeline.Deterministic, Hashes: landscape.HashMode(word[3]),
		}
		if n.Kind == landscape.SinkNode {
			n.Guarantee = plugin.Idempotent
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func graphEdges() (edges []landscape.Edge) {
	for _, words := range []string{
		"east flow - items", "items flow - score", "west flow - score", "score flow - split", "score error - rejects",
		"split route by_cost decide", "split route by_species known", "known flow - decide", "decide flow - fan",
		"fan route detail both", "fan route ranked top", "top flow - both", "both flow - by_state", "by_state flow - states",
	} {
		word := strings.Fields(words)
		edges = append(edges, landscape.Edge{
			From: word[0], Kind: landscape.EdgeKind(word[1]), Label: strings.Trim(word[2], "-"), To: word[3],
		})
	}
	return edges
}

func origins() (sources []landscape.Source) {
	for _, name := range []string{"east", "west", "items", "top", "both", "by_state"} {
		sources = append(sources, landscape.Source{Source: name, Info: `{}`})
	}
	return sources
}

// Lanes: the root lanes, and from the root lanes of west and items on, those of branches and merged rows.
const (
	eastLane, westLane, itemsLane, topLane, bothLane, stateLane = 0, 1, 7, 13, 14, 15
	byCost, bySpecies, decided, detail, ranked                  = 1, 2, 3, 4, 5
)

func graphLanes() (lanes []landscape.Lane) {
	add := func(source, name string, parent int64, node, branch, fork string) {
		lane := landscape.Lane{Lane: int64(len(lanes)), Source: source, Name: name, Node: node, Branch: branch, Fork: fork}
		if fork != "" {
			lane.Parent = &parent
		}
		lanes = append(lanes, lane)
	}
	add("east", "", 0, "", "", "")
	for _, source := range []string{"west", "items"} {
		root := int64(len(lanes))
		add(source, "", 0, "", "", "")
		add(source, "by_cost", root, "split", "by_cost", "split")
		add(source, "by_species", root, "split", "by_species", "split")
		add(source, "decide", root, "decide", "", "split")
		add(source, "decide/detail", root+decided, "fan", "detail", "fan")
		add(source, "decide/ranked", root+decided, "fan", "ranked", "fan")
	}
	for _, source := range []string{"top", "both", "by_state"} {
		add(source, "", 0, "", "", "")
	}
	return lanes
}

// opinions returns the ways of rows that fork twice and all come to decide. prefix is how they come to the first fork.
func opinions(root int64, prefix string, rows int) stories {
	return stories{
		root:             slices.Repeat([]string{prefix + " > split (fork_parent)"}, rows),
		root + byCost:    slices.Repeat([]string{prefix + " > split[by_cost] | decide (coalesced)"}, rows),
		root + bySpecies: slices.Repeat([]string{prefix + " > split[by_species] | known > decide (coalesced)"}, rows),
		root + decided:   slices.Repeat([]string{"decide > fan (fork_parent)"}, rows),
		root + detail:    slices.Repeat([]string{"decide > fan[detail] | both (buffered)"}, rows),
		root + ranked:    slices.Repeat([]string{"decide > fan[ranked] | top (buffered)"}, rows),
	}
}

func allCame() landscape.MergeKind {
	return landscape.MergeKind{
		Node: "decide", Policy: pipeline.BestEffort, Merge: pipeline.Union, Timeout: 30 * time.Second,
		Expected: []string{"by_cost", "by_species"}, Arrived: []string{"by_cost", "by_species"}, FiredBy: "all",
		Collisions: []string{"risk"}, Origins: []landscape.FieldOrigin{{Field: "cost", Branch: "by_cost"}, {Field: "risk", Branch: "by_species"}},
		Result: landscape.MergeMerged,
	}
}

func speciesLost() landscape.MergeKind {
	k := allCame()
	k.Arrived, k.Lost = []string{"by_cost"}, []landscape.LostBranch{{Branch: "by_species", Reason: pipeline.FilterDropped}}
	k.FiredBy, k.Collisions = "lost", nil
	k.Origins = []landscape.FieldOrigin{{Field: "cost", Branch: "by_cost"}, {Field: "risk", Branch: "by_cost"}}
	return k
}

// first returns the batch in which both merged the detail of a row of decide, without its rank.
func first(batch int64, source string, root, row int64) landscape.FiredBatch {
	b := fired(batch, "first", pipeline.Coalesced, 1)
	b.Merge = &landscape.Merge{
		Kind: landscape.MergeKind{
			Node: "both", Policy: pipeline.First, Merge: pipeline.Union, Expected: []string{"detail", "ranked"}, Arrived: []string{"detail"},
			NotNeeded: []string{"ranked"}, FiredBy: "first", Origins: []landscape.FieldOrigin{{Field: "cost", Branch: "detail"}},
			Result: landscape.MergeMerged,
		},
		Key:      landscape.Token{Source: source, Lane: root + decided, Row: row},
		Arrivals: []landscape.MergeArrival{{Branch: "detail", Token: landscape.Token{Source: source, Lane: root + detail, Row: row}}},
		OutRow:   batch,
	}
	return b
}

func fired(batch int64, trigger string, path pipeline.Path, rows int64) landscape.FiredBatch {
	return landscape.FiredBatch{Batch: batch, Trigger: trigger, Path: path, Rows: rows, Opened: noon, Fired: noon + 1_000_000}
}

// noon is when everything in the run takes place: 12:00 UTC on 1 March 2025.
const noon landscape.Micros = 1_740_830_400_000_000

func token(lane, row int64) landscape.Token { return landscape.Token{Lane: lane, Row: row} }

func sum(words ...any) []byte {
	hash := sha256.Sum256(fmt.Append(nil, words...))
	return hash[:]
}

func digest(words ...any) string { return hex.EncodeToString(sum(words...)) }
