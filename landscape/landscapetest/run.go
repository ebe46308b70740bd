package landscapetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// Run checks every sentence of the contract of landscape.Driver, and that a landscape.Log over the driver does what it
// says. open returns a new, empty driver; Run closes it.
func Run(t *testing.T, open func(t *testing.T) landscape.Driver) {
	for name, check := range map[string]func(*testing.T, landscape.Driver){
		"Commit": commits, "Read": reads, "Claim": claims, "Sweep": sweeps, "Log": logs, "Effects": effects, "Queries": queries,
		"Concurrency": concurrency, "Graphs": graphs, "Guards": guards, "TakeUp": takingUp, "Executions": executions, "Resolve": resolving, "Links": links,
		"Resume": resumeQueries, "Repeats": repeats, "Fields": fields, "Runs": recentRuns, "Linked": linkedRuns, "Pages": pagedReads,
		"Edges": edges, "Starts": starts, "RequestRows": requestRows, "Registry": registry, "Redeployments": redeployments, "Environments": environments, "Slots": slots, "Arrivals": arrivals, "ArrivedOutputs": arrivedOutputs, "Admission": admission,
		"Entries": entries, "Seals": seals, "RunSeals": runSeals, "Policies": policies, "Totals": totals, "RefusedTotals": refusedTotals, "WideTotals": wideTotals, "NullTotals": nullTotals, "Attestations": attestations, "SignOffs": signOffs, "Orders": orders, "Outbox": outbox, "Deliveries": deliveries, "Access": access, "Archives": archives,
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			defer func() { require.NoError(t, d.Close()) }()
			check(t, d)
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

// takeUp is somebody who takes a run up.
func takeUp(run string, epoch int64) landscape.Resumption {
	return landscape.Resumption{Run: run, Epoch: epoch, Claim: fmt.Sprint("claim ", epoch), Actor: "ann", Why: "it stopped", Code: "test", Host: "here"}
}
