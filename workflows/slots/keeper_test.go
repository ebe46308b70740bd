package slots

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/memdriver"
)

// A backfill of years does not keep the slot of tonight from its run.
func TestManySlotsThatAreDueHideNone(t *testing.T) {
	log := landscape.New(memdriver.New(), nil)
	bundle, version := landscapetest.VersionOf("x", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(t.Context(), landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	require.NoError(t, landscapetest.SetSchedule(t.Context(), log, landscapetest.ScheduleOf("x", "nightly")))
	row, err := log.Schedule(t.Context(), "default/x/nightly")
	require.NoError(t, err)
	s, err := Read(row)
	require.NoError(t, err)
	var changes []landscape.SlotChange
	for slot := range s.Calendar.Due(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)) {
		changes = append(changes, landscape.SlotChange{To: s.Record(slot, false)})
		if len(changes) == 3*mostDue {
			break
		}
	}
	require.NoError(t, log.ChangeSlots(t.Context(), nil, changes))
	due, err := (&Keeper{Log: log}).due(t.Context(), row.ID)
	require.NoError(t, err)
	require.Len(t, due, 2*mostDue)
	names := map[string]bool{}
	for _, slot := range due {
		names[slot.Name] = true
	}
	require.Len(t, names, 2*mostDue, "each once")
	require.Equal(t, changes[0].To.Name, due[0].Name)
	require.True(t, slices.ContainsFunc(due, func(s landscape.Slot) bool { return s.Name == changes[len(changes)-1].To.Name }))
}
