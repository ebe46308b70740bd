package main

import "slices"

// mutant is one defect that must never come back, or never come.
type mutant struct {
	name     string   // what the change does
	never    string   // what would happen, and must never happen
	file     string   // from the folder of the module
	old, new string   // what is changed; old is in the file exactly once
	pkg, run string   // the package and the pattern of the test that notices it
	flags    []string // of that test
	tier     tier     // in which the test notices it
	again    lesson   // the old bug that it puts back; empty if it is none
}

// tier says when a mutant dies.
type tier string

const (
	day   tier = ""      // in `go test ./...`
	night tier = "night" // when tests leave nothing out, as `make nightly` has them
)

// mutants are tried in this order. Tests that do not link the Temporal server are the quick ones: prefer them.
var mutants = slices.Concat(
	evidence, graphs, resumes, epochs, refusals, retries, power, buckets, routes, tables, laboratory, starts, slots,
	queues, registry, schedules, reproductions, logs, seals, purges, bundles, attestations, policies, totals, signOffs,
	outbox, doors, retention, issuers, arrivals, heartbeats,
)

// Tests that more than one mutant is for.
const (
	driverTest = "^TestDriver$"
	graphTest  = "^TestRunOfAGraphLeavesWhatTheDocumentSays$"
	turnsTest  = "^TestSourcesTakeTurns$"
)

// graphs is mutants of what becomes of rows in a graph, and of what is recorded of it.
var graphs = []mutant{
	// The record.
	{
		name: "joins of a pass are not written", never: "a row is merged and nobody can say why", again: forgottenMerge,
		file: "landscape/passage_record.go", old: "insert = t.appendMerges(insert, p)", new: "_ = t.appendMerges(insert, p)",
		pkg: "./landscape/sqlitestore", run: driverTest,
	},
	{
		name: "the kinds of merges are not written", never: "a merge points to a policy, losses and collisions that are not there", again: forgottenMerge,
		file: "landscape/tally_record.go", old: "insert = append(insert, k.record(p.Run))", new: "_ = k",
		pkg: "./landscape/sqlitestore", run: driverTest,
	},
	{
		name: "merges of a held coalesce are not written", never: "a row is merged and nobody can say of what", again: forgottenMerge,
		file: "landscape/fold_count.go", old: "insert = append(insert, merge)", new: "_ = merge",
		pkg: "./landscape/sqlitestore", run: driverTest,
	},
	{
		name: "members of batches are not written", never: "a sum is in the output and nobody can say of which rows", again: forgottenMerge,
		file: "landscape/fold_count.go", old: "insert = a.appendRecords(insert, f)", new: "_ = a.appendRecords(insert, f)",
		pkg: "./landscape/sqlitestore", run: driverTest,
	},
	{
		name: "members of batches are not handed to the record", never: "rows end in a barrier without an outcome",
		file: "activities/fold_record.go", old: "record.Arrivals = recompute.MembersOf(chunk, f.arrivals, members)", new: "_, _ = chunk, members",
		pkg: "./activities", run: graphTest,
	},
	{
		name: "a fold may take other rows than came", never: "a row that came to a barrier is in no batch",
		file: "landscape/fold_arrivals.go", old: "came != (batch != 0)", new: "came && batch == 0 && false",
		pkg: "./landscape/sqlitestore", run: driverTest,
	},
	{
		name: "a run is completed without a balance", never: "a run with a row that nobody accounts for says that it is complete", again: earlyCompletion,
		file: "landscape/run_status.go", old: "tx.Check = run", new: "tx.Check = \"\"",
		pkg: "./landscape/sqlitestore", run: driverTest,
	},

	// Time.
	{
		name: "nobody watches deadlines", never: "a timeout waits for the next row, which may never come", again: forgottenHolding,
		file: "workflows/flow.go", old: "f.watchDeadlines(ctx)", new: "",
		pkg: "./workflows", run: "^TestADeadlineFiresWhileASourceIsIdle$",
	},
	{
		name: "a tick fires nothing", never: "a coalesce waits for a lost service for ever", again: forgottenHolding,
		file: "engine/barrier/machine.go", old: "m.rule.due(m.advance(at), s)", new: "m.advance(at)",
		pkg: "./engine/barrier", run: "^TestTimeoutsInOrder$",
	},
	{
		name: "timeouts fire in order of opening", never: "rows come out in another order after a resume",
		file: "engine/barrier/held_coalesce.go", old: "return cmp.Or(cmp.Compare(h.deadlineOf(a), h.deadlineOf(b)), cmp.Compare(a.number, b.number))", new: "return cmp.Compare(a.number, b.number)",
		pkg: "./engine/barrier", run: "^TestTimeoutsInOrder$",
	},

	// Branches.
	{
		name: "a coalesce of the pass does not hear of losses", never: "a branch is missing and the record does not say why",
		file: "engine/fork.go", old: "coalescing.Lose(b, lost)", new: "_ = lost",
		pkg: "./engine", run: "^TestBranchesOfOnePassAreJoined$",
	},
	{
		name: "a held coalesce does not hear of losses", never: "a row waits to the end for a branch that was dropped long ago",
		file: "engine/fork.go", old: "arrivals.Losses = append(arrivals.Losses, loss)", new: "_ = append(arrivals.Losses, loss)",
		pkg: "./engine", run: "^TestBarrierHoldsOrLoses$",
	},
	{
		name: "losses within a barrier are not told", never: "what a sort cut off is waited for to the end",
		file: "activities/recompute/derive.go", old: "out[0].Input.Losses = settled.Losses", new: "_ = settled.Losses",
		pkg: "./tests/graphs", run: "^TestLostWithinABarrier$",
	},
	{
		name: "a decided entry is forgotten at once", never: "a branch that comes late is merged a second time",
		file: "engine/barrier/held_coalesce.go", old: "if e.coalescer.decided && e.coalescer.complete() {", new: "if e.coalescer.decided {",
		pkg: "./engine/barrier", run: "^TestLateBranches$",
	},
	{
		name: "a coalesce decides again", never: "what was decided is overwritten when the branches are done",
		file: "engine/barrier/coalescer.go", old: "if c.decided {\n\t\treturn false\n\t}\n\tc.decided = true", new: "c.decided = true",
		pkg: "./engine", run: "^TestBranchesOfOnePassAreJoined$",
	},
	{
		name: "require_all is content with less", never: "half a row passes for a whole one",
		file: "engine/barrier/coalescer.go", old: "case c.policy() == pipeline.RequireAll && arrived < len(c.states):", new: "case false:",
		pkg: "./engine/barrier", run: "^TestPolicies$",
	},
	{
		name: "a quorum wants one branch more", never: "a merge waits longer than the document says",
		file: "engine/barrier/coalescer.go", old: "arrived >= needed:", new: "arrived > needed:",
		pkg: "./tests/graphs", run: "^TestInOnePass$/^2_branches,_quorum_1,_union$",
	},
	{
		name: "a collision is none", never: "branches contradict each other and nobody hears of it",
		file: "engine/barrier/merge.go", old: "Values[other.position].Key() != value.Key()", new: "Values[other.position].Key() == value.Key()",
		pkg: "./engine/barrier", run: "^TestMerges$",
	},
	{
		name: "collisions are not put on record", never: "branches contradicted each other and nobody can find the rows", again: forgottenMerge,
		file: "activities/recompute/merges.go", old: "Collisions: decision.Collisions, ", new: "",
		pkg: "./tests/graphs", run: "^TestInOnePass$/^2_branches,_require_all,_union$",
	},
	{
		name: "a branch that is not needed passes for a merged one", never: "a row is said to be in the output, and is not",
		file: "engine/coalesce.go", old: "path = pipeline.BranchNotNeeded", new: "path = pipeline.Coalesced",
		pkg: "./tests/graphs", run: "^TestInOnePass$/^2_branches,_first,_union$",
	},
	{
		name: "a state does not say what was decided", never: "after a resume a row is merged a second time",
		file: "engine/barrier/held_coalesce_state.go", old: "w.bool(e.coalescer.decided)", new: "w.bool(false)",
		pkg: "./engine/barrier", run: "^TestRestoredMachinesGoOnAlike$", flags: []string{"-rapid.nofailfile"},
	},

	// Copies.
	{
		name: "a step writes into the row that it got", never: "one branch changes the row of another",
		file: "engine/transform.go", old: "if t.current.adds && len(from)", new: "if len(from)",
		pkg: "./engine", run: "^TestBranchesAddToTheSameRow$",
	},
	{
		name: "a branch makes its hashes of the row of another", never: "a hash on record that is not its row's",
		file: "engine/token.go", old: "p.scratch.hasher.Forget()", new: "_ = p",
		pkg: "./engine", run: "^TestHashesAreThoseOfTheRows$",
	},
	{
		name: "tokens at a barrier share their keys", never: "a branch is merged into the row of another",
		file: "engine/arrival.go", old: "Keys: copyKeys(p.token.keys)", new: "Keys: p.token.keys",
		pkg: "./tests/graphs", run: "^TestInEveryOrder$/^2_branches,_require_all,_union,_lost_behind_a_sort$",
	},
	{
		name: "a coalesce keeps the row of a branch by reference", never: "a merged row has values of the branch behind",
		file: "engine/barrier/coalescer.go", old: "append(c.rows[branch].Values[:0], in.Values...)", new: "in.Values",
		pkg: "./engine/barrier", run: "^TestArriveCopies$",
	},

	// Batches, order, sinks.
	{
		name: "the end of the sources empties no barrier", never: "what was held at the end is lost", again: forgottenHolding,
		file: "workflows/flow.go", old: "f.fail(f.endBarriers(ctx))", new: "f.fail(nil)",
		pkg: "./workflows", run: turnsTest,
	},
	{
		name: "the end fires no batch", never: "what was held at the end is lost", again: forgottenHolding,
		file: "engine/barrier/machine.go", old: "m.rule.end(now, s)", new: "_ = now",
		pkg: "./engine/barrier", run: "^TestTriggers$",
	},
	{
		name: "a batch fires twice", never: "a sum is in the output twice",
		file: "engine/barrier/batcher.go", old: "s.Batches = append(s.Batches, b.settled(trigger, at))\n\tg.operation.make(b, s)", new: "s.Batches = append(s.Batches, b.settled(trigger, at))\n\tg.operation.make(b, s)\n\tg.operation.make(b, s)",
		pkg: "./engine/barrier", run: "^TestTriggers$",
	},
	{
		name: "a batch that fired stays open", never: "rows go to a batch that fired, and are lost",
		file: "engine/barrier/batcher.go", old: "delete(g.groups, b.key)", new: "",
		pkg: "./engine/barrier", run: "^TestTriggers$",
	},
	{
		name: "the record takes a batch twice", never: "a row is counted in two sums",
		file: "landscape/fold_record.go", old: "if seen[b.Batch] || b.Batch < 1 {", new: "if b.Batch < 1 {",
		pkg: "./landscape/sqlitestore", run: driverTest,
	},
	{
		name: "rows come out in the order of the batches", never: "two runs of one document differ",
		file: "engine/barrier/batcher.go", old: "for _, b := range g.operation.order(batches) {", new: "for _, b := range batches {",
		pkg: "./engine/barrier", run: "^TestKeepLast$",
	},
	{
		name: "chunks do not wait for their turn", never: "the order of the output hangs on which worker was quicker",
		file: "workflows/turns.go", old: "f.turns == turn && !f.settling && !f.tickFirst() || f.err != nil", new: "!f.settling || f.err != nil",
		pkg: "./tests/graphs", run: "^TestASlowChunkKeepsItsTurn$",
	},
	{
		name: "sources are not read in turn", never: "the order of the rows of two sources is that of chance",
		file: "activities/resumepoint/state.go", old: "reading.Chunk < next.Chunk", new: "reading.Chunk <= next.Chunk",
		pkg: "./workflows", run: turnsTest,
	},
	{
		name: "only the first sink is written", never: "the rows of one of two sinks are dropped", again: oneWatermark,
		file: "workflows/turns.go", old: "parts := f.place(chunk, passed[i])", new: "parts := f.place(chunk, passed[i])\n\t\tparts = parts[:min(1, len(parts))]",
		pkg: "./workflows", run: "^TestPartsFollowEachOther$",
	},

	// Deduplicate.
	{
		name: "a duplicate passes for the first", never: "a repeated row is in the output",
		file: "engine/claims.go", old: "return labelDuplicate", new: "return labelFirst",
		pkg: "./engine", run: "^TestOnlyTheFirstTokenOfAKeyPasses$",
	},
	{
		name: "a chunk is not checked against what came since", never: "a row that an earlier chunk has, which was in the steps at the same time, is in the output",
		file: "activities/turn.go", old: "stands, err := passed.layer.Stands()", new: "stands, err := true, error(nil)",
		pkg: "./activities", run: "^TestAheadOfTurns$",
	},
	{
		name: "a process does not catch up", never: "a row is in the output that is repeated in a chunk which another process sent through the steps",
		file: "activities/turn.go", old: "if r.unique.held >= before {", new: "if true {",
		pkg: "./activities", run: "^TestAheadOfTurns$",
	},
}
