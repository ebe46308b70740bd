package audit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
)

// TestVerifyAddsUpAgain changes what is recorded of totals, past every trigger: verify names the record, whatever was sealed.
func TestVerifyAddsUpAgain(t *testing.T) {
	t.Setenv("REGION", "north")
	s := newFixture(t)
	s.Write(t, map[string]string{"in.csv": input})
	_, err := s.Run(t, run, document+"totals: {amount: row.amount}\n")
	require.NoError(t, err)
	require.Empty(t, verify(t, s, s.Log.Reader).Problems)
	totals, err := s.Log.Totals(t.Context(), run)
	require.NoError(t, err)
	require.NotEmpty(t, totals.Nodes)
	for statement, want := range map[string]string{
		`update way_totals set amount = '1' || amount where code = 0`:                     "way_totals run-1/orders/0/0/0/amount/0: amount should be",
		`update way_totals set unreadable = 1 - unreadable where code = 0`:                "way_totals run-1/orders/0/0/0/amount/0: unreadable should be 0, the record has 1",
		`delete from way_totals where code = 0`:                                           "way_totals run-1/orders/0/0/0/amount/0: should be one, the record has none",
		`insert into way_totals values ('run-1', 'orders', 0, 0, 0, 'amount', 7, '1', 0)`: "way_totals run-1/orders/0/0/0/amount/7: should be none, the record has one",
	} {
		found := false
		var details []string
		for _, p := range verify(t, s, tampered(t, s, statement)).Problems {
			details = append(details, p.Detail)
			found = found || p.Kind == audit.RecordDiffers && strings.Contains(p.Detail, want)
		}
		require.True(t, found, "%s: %q", statement, details)
	}
}
