package main

const outboxTest = "^TestDriver$/^Outbox$"

// outbox has mutants of the outbox and its deliveries.
var outbox = []mutant{
	{
		name: "an end of a run is not told", never: "who waits for a run waits for ever",
		file: "landscape/run_status.go", old: "tx.Insert, tx.Move = append(tx.Insert, endEvent(next, progress, next.Finished)), append(tx.Move, Move{From: old, To: next})", new: "tx.Move = append(tx.Move, Move{From: old, To: next})",
		pkg: "./landscape/sqlitestore", run: outboxTest,
	},
	{
		name: "events of a run are in the order of clocks", never: "a run ends before it begins",
		file: "landscape/outbox.go", old: "if events[i].Subject == events[i-1].Subject {", new: "if false {",
		pkg: "./landscape/sqlitestore", run: outboxTest,
	},
	{
		name: "two processes give the same position", never: "a reader that keeps its position misses an event",
		file: "landscape/outbox.go", old: "tx := Tx{Move: []Move{{From: head, To: next}}}", new: "tx := Tx{}",
		pkg: "./landscape/sqlitestore", run: outboxTest,
	},
	{
		name: "young events are dropped", never: "an event is gone before anybody was told",
		file: "landscape/outbox.go", old: "if old, err = due(event); err != nil {",
		new: "if _, err = due(event); err != nil {",
		pkg: "./landscape/sqlitestore", run: outboxTest,
	},
	{
		name: "an attempt is recorded by a process that lost the endpoint", never: "two processes deliver, and events are out of order",
		file: "landscape/delivery.go", old: "	tx.Move = append(tx.Move, Move{From: held, To: next})\n	return next", new: "	return next",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Deliveries$",
	},
	{
		name: "an event passes one that is not taken", never: "a receiver hears that a run ended before it began",
		file: "worker/delivery/deliverer.go", old: "return err == nil && (becomes.State == landscape.DeliveryOK || !strict), err", new: "return err == nil, err",
		pkg: "./worker/delivery", run: "^TestReceiverIsDownForAWholeRun$",
	},
	{
		name: "redirects are followed", never: "an endpoint leads to a metadata address, and reads what is there",
		file: "worker/delivery/sender.go", old: "CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },", new: "",
		pkg: "./worker/delivery", run: "^TestHostileReceivers$",
	},
	{
		name: "addresses are not checked when they are dialled", never: "somebody who adds an endpoint reaches addresses inside the network",
		file: "worker/delivery/sender.go", old: ", ControlContext: g.Control}", new: "}; _ = g",
		pkg: "./worker/delivery", run: "^TestOnlyWhereTheOperatorAllows$",
	},
	{
		name: "only one secret signs", never: "a receiver that does not know the new secret yet takes nothing",
		file: "worker/delivery/sign.go", old: "for i, key := range keys {", new: "for i, key := range keys[:1] {",
		pkg: "./worker/delivery", run: "^TestReceiverIsDownForAWholeRun$",
	},
}
