package audit_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/engine/firsts"
)

// brokenIndex keeps values and finds none.
type brokenIndex struct{ *firsts.Index }

func (brokenIndex) Find(firsts.Value) (uint64, error) { return 0, errors.New("a bad disk") }

// TestABrokenIndexIsNoFindingOfTheRecord has the index of values fail while chunks are looked at: that is no damage of
// the record.
func TestABrokenIndexIsNoFindingOfTheRecord(t *testing.T) {
	s, index := play(t), brokenIndex{firsts.New(t.TempDir())}
	report, err := auditor(s).VerifyWith(t.Context(), run, audit.VerifyOptions{Firsts: index})
	require.ErrorContains(t, err, "the index of values that must be unique: a bad disk")
	require.Nil(t, report)
}
