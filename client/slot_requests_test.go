package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
)

// A range of failed slots has none that did not fail.
func TestSlotsThatAreApart(t *testing.T) {
	var failed []landscape.Slot
	for _, n := range []int{1, 2, 4, 5, 9} {
		failed = append(failed, landscapetest.SlotOf("default/x/nightly", n, landscape.SlotFailed))
	}
	other := failed[4]
	other.From, other.To, other.Name = failed[4].To, failed[4].To+1, "2026-11-10/tenant=acme"
	var places []int
	for _, cell := range apart(append(failed, other)) {
		places = append(places, cell.Place)
	}
	require.Equal(t, []int{0, 1, 4, 5, 8, 10}, places)
}
