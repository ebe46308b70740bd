package bundle_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/bundle"
	"waymark/landscape/landscapetest"
)

// TestOrders: a bundle has the dangerous orders about its run, and what of them is changed afterwards is named, in Go and in Python alike, although who changes it has
// a sealer's key.
func TestOrders(t *testing.T) {
	s := newScene(t).ended(t)
	require.NoError(t, landscapetest.Ordered(t.Context(), s.log, run))
	early, manifest := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Equal(t, "orders", manifest.Gaps[0].What, "no signed head has the entries yet")
	require.Empty(t, verify(t, early, s.trusted).Problem)
	require.NoError(t, s.notary.Pass(t.Context()))
	good, manifest := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Empty(t, manifest.Gaps)
	require.Empty(t, verify(t, good, s.trusted).Problem)

	files, wants := [][]byte{good, early}, []string{"0 ", "0 "}
	for want, change := range map[string]func(p *parts){
		"record/orders.ndjson: no entry of the log says what ":          func(p *parts) { p.replace("record/orders.ndjson", `"person":"ann"`, `"person":"eve"`) },
		"record/order_approvals.ndjson: no entry of the log says what ": func(p *parts) { p.replace("record/order_approvals.ndjson", `"person":"bob"`, `"person":"eve"`) },
		"record/orders.ndjson: entry ":                                  func(p *parts) { p.remove("record/order_executions.ndjson") },
	} {
		p := takeApart(t, good)
		change(p)
		file := p.signed(t, s.key)
		problem := verify(t, file, s.trusted).Problem
		require.True(t, strings.HasPrefix(problem, "records: "+want), "%s: %s", want, problem)
		files, wants = append(files, file), append(wants, "4 NOT verified: records: ")
	}
	for i, said := range python(t, files, policyOf(t, s.trusted)) {
		require.True(t, strings.HasPrefix(said, wants[i]), said)
	}
}
