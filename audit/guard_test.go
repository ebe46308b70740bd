package audit

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/firsts"
)

// TestABrokenIndexIsNoFindingOfTheRecord has the index of values fail while chunks are looked at: that is no damage of the record.
func TestABrokenIndexIsNoFindingOfTheRecord(t *testing.T) {
	v := &verification{firsts: firsts.New(t.TempDir()), report: &Report{}}
	require.NoError(t, v.firsts.Close())
	err := v.guard(t.Context(), "orders chunk 0", func(context.Context) error {
		_, err := v.found(firsts.Value{1}, 0)
		return err
	})
	require.ErrorIs(t, err, errIndex)
	require.Empty(t, v.report.Problems)
}
