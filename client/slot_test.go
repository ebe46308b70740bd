package client_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
)

// elsewhere is a document that only workers compile: what it refers to is not here.
const elsewhere = `name: elsewhere
params:
  day: {type: date, default: "${slot:date}"}
  limit: {type: int, default: 1}
sources: {in: {csv: {path: "${NOT_SET_HERE}/${param:day}.csv"}}}
sinks: {out: {jsonl: {path: "out/${param:day}.jsonl"}}}
`

func documentOf(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestOpenForKnowsTheParametersOfASlot(t *testing.T) {
	nightly := elsewhere + "schedules: {nightly: {every: day, zone: Asia/Tokyo, params: {limit: 5}}}\n"
	next := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what, text string
		given      map[string]string
		slot       client.SlotOf
		want       map[string]string
		name       string
	}{
		{"a day in UTC", elsewhere, nil, client.SlotOf{For: "2026-11-21"}, map[string]string{"day": "2026-11-21"}, "2026-11-21"},
		{"of a schedule", nightly, nil, client.SlotOf{For: "2026-11-21"}, map[string]string{"day": "2026-11-21", "limit": "5"}, "2026-11-21"},
		{"what is given comes first", nightly, map[string]string{"limit": "7"}, client.SlotOf{For: "2026-11-21", Schedule: "nightly"}, map[string]string{"day": "2026-11-21", "limit": "7"}, "2026-11-21"},
		{"the next", nightly, nil, client.SlotOf{Next: next}, map[string]string{"day": "2026-11-20", "limit": "5"}, "2026-11-20"},
		{"the next one in UTC", elsewhere, nil, client.SlotOf{Next: next}, map[string]string{"day": "2026-11-20"}, "2026-11-20"},
		{"none is needed", nightly, map[string]string{"day": "2000-01-01"}, client.SlotOf{Next: next}, map[string]string{"day": "2000-01-01"}, ""},
		{"none is named", nightly, nil, client.SlotOf{}, nil, ""},
	} {
		doc, err := client.OpenFor(documentOf(t, c.text), c.given, c.slot)
		require.NoError(t, err, c.what)
		require.Equal(t, c.want, doc.Params, c.what)
		require.Equal(t, c.name, doc.Slot, c.what)
	}
}

func TestOpenForRefuses(t *testing.T) {
	file := documentOf(t, elsewhere+"schedules: {nightly: {every: day}, weekly: {every: week}}\n")
	for message, slot := range map[string]client.SlotOf{
		"has several schedules: say whose slot it is: nightly, weekly": {For: "2026-11-21"},
		`has no schedule named "nihgtly" (did you mean "nightly"?)`:    {For: "2026-11-21", Schedule: "nihgtly"},
		"the one that covers it is 2026-W47":                           {For: "2026-11-21", Schedule: "weekly"},
		"which slot of weekly is the run about?":                       {Schedule: "weekly"},
		`has no schedule named "x": it has nightly, weekly`:            {Schedule: "x", Next: time.Now()},
		`has no schedule named "y": it has nightly, weekly`:            {Schedule: "y"},
	} {
		_, err := client.OpenFor(file, nil, slot)
		require.ErrorContains(t, err, message)
		refused, ok := errors.AsType[*client.Error](err)
		require.True(t, ok)
		require.Equal(t, client.Invalid, refused.Kind)
	}
}

func TestSlotsRefuses(t *testing.T) {
	file := documentOf(t, elsewhere+"schedules: {nightly: {every: day}}\n")
	for message, r := range map[string]client.SlotsRequest{
		"0 slots cannot be listed: ask for 1 to 10000":                                        {File: file},
		"10001 slots cannot be listed":                                                        {File: file, Count: 10_001},
		`"soon" is neither a date such as 2026-11-21 nor an instant such as 2026-11-21T02:00`: {File: file, Count: 1, From: "soon"},
		"no such file":         {File: file + "x", Count: 1},
		"has no schedules":     {File: documentOf(t, elsewhere), Count: 1},
		"p.yaml has 1 problem": {File: documentOf(t, "name: X\nschedules: {n: {every: x}}\n"), Count: 1},
	} {
		_, err := client.Slots(r)
		require.ErrorContains(t, err, message)
		refused, ok := errors.AsType[*client.Error](err)
		require.True(t, ok)
		require.Equal(t, client.Invalid, refused.Kind)
	}
	slots, err := client.Slots(client.SlotsRequest{File: file, Count: client.MaxSlots, Now: time.Now()})
	require.NoError(t, err)
	require.Len(t, slots, client.MaxSlots)
}
