package landscapetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// contract are the topics of landscape.Driver itself, and those in which each database has much to say: its guards, its
// locks and its views.
var contract = map[string]func(*testing.T, landscape.Driver){
	"Commit": commits, "Read": reads, "Sweep": sweeps, "Pages": pagedReads, "Snapshot": snapshots,
	"Concurrency": concurrency, "Guards": guards, "Resume": resuming, "Effects": effects, "Graphs": graphs,
	"Admission": admission, "Slots": slots,
}

// topics are what a landscape.Log over a driver does by the contract of that alone.
var topics = map[string]func(*testing.T, landscape.Driver){
	"Log": logs, "Queries": queries, "Executions": executions, "Resolve": resolving, "Links": links,
	"Resume": resumeQueries, "Repeats": repeats, "Fields": fields, "Runs": recentRuns, "Linked": linkedRuns,
	"Edges": edges, "Starts": starts, "RequestRows": requestRows, "Registry": registry,
	"Redeployments": redeployments, "Environments": environments,
	"Arrivals": arrivals, "ArrivedOutputs": arrivedOutputs, "Entries": entries, "Seals": seals, "RunSeals": runSeals,
	"Policies": policies, "Totals": totals, "RefusedTotals": refusedTotals, "WideTotals": wideTotals,
	"NullTotals": nullTotals, "Attestations": attestations, "SignOffs": signOffs, "Orders": orders,
	"Outbox": outbox, "Deliveries": deliveries, "Access": access, "Archives": archives, "Retention": retention,
}

// Run checks every sentence of the contract of landscape.Driver, and that a landscape.Log over the driver does what it
// says. open returns a new, empty driver; Run closes it.
func Run(t *testing.T, open func(t *testing.T) landscape.Driver) {
	t.Helper()
	RunContract(t, open)
	check(t, open, topics)
}

// RunContract is the part of Run in which drivers differ most: for a day's test of one whose database is slow, if
// another one has it all.
func RunContract(t *testing.T, open func(t *testing.T) landscape.Driver) {
	t.Helper()
	check(t, open, contract)
}

func check(
	t *testing.T, open func(t *testing.T) landscape.Driver, topics map[string]func(*testing.T, landscape.Driver),
) {
	t.Helper()
	for name, topic := range topics {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			defer func() { require.NoError(t, d.Close()) }()
			topic(t, d)
		})
	}
}

// begun returns a log over d in which the scene has begun.
func begun(t *testing.T, d landscape.Driver, s Scene) *landscape.Log {
	t.Helper()
	log := landscape.New(d, nil)
	require.NoError(t, s.Begin(t.Context(), log))
	return log
}

// insert commits records without more.
func insert(t *testing.T, d landscape.Driver, records ...landscape.Record) error {
	t.Helper()
	return d.Commit(t.Context(), landscape.Tx{Insert: records})
}

// stored returns all records of T's table with this prefix.
func stored[T landscape.Record](t *testing.T, d landscape.Driver, prefix ...any) []T {
	t.Helper()
	found, err := landscape.Select[T](t.Context(), d, prefix...)
	require.NoError(t, err)
	return found
}

// resumptionOf is what somebody records who resumes a run.
func resumptionOf(run string, epoch int64) landscape.Resumption {
	return landscape.Resumption{Run: run, Epoch: epoch, Claim: fmt.Sprint("claim ", epoch), Actor: "ann", Why: "it stopped", Code: "test", Host: "here"}
}
