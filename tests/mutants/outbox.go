package main

const outboxTest = "^TestDriver$/^Outbox$"

// outbox is mutants of what is told to others.
var outbox = []mutant{
	{
		name: "an end of a run is not told", never: "who waits for a run waits for ever",
		file: "landscape/run_status.go", old: "tx.Insert, tx.Move = append(tx.Insert, endEvent(next, progress, next.Finished)), append(tx.Move, Move{From: old, To: next})", new: "tx.Move = append(tx.Move, Move{From: old, To: next})",
		pkg: "./landscape/memdriver", run: outboxTest,
	},
	{
		name: "events of a run are in the order of clocks", never: "a run ends before it begins",
		file: "landscape/outbox.go", old: "if events[i].Subject == events[i-1].Subject {", new: "if false {",
		pkg: "./landscape/memdriver", run: outboxTest,
	},
	{
		name: "two processes give the same position", never: "a reader that keeps its position misses an event",
		file: "landscape/outbox.go", old: "tx := Tx{Move: []Move{{From: head, To: next}}}", new: "tx := Tx{}",
		pkg: "./landscape/memdriver", run: outboxTest,
	},
	{
		name: "young events are dropped", never: "an event is gone before anybody was told",
		file: "landscape/outbox.go", old: "old := event.At < before && event.Position <= upTo", new: "old := event.Position <= upTo",
		pkg: "./landscape/memdriver", run: outboxTest,
	},
}
