package sqlitestore

import (
	"slices"

	"waymark/internal/failpoint"
	"waymark/landscape"
)

// moments are those of one transaction, named after the table of its first record.
type moments struct{ table string }

// momentsOf returns the moments of a landscape.Tx. In a normal build they have no name.
func momentsOf(b landscape.Tx) moments {
	switch {
	case !failpoint.Enabled:
		return moments{}
	case slices.ContainsFunc(b.Insert, isFact):
		return moments{b.Insert[slices.IndexFunc(b.Insert, isFact)].Table()}
	case len(b.Move) > 0:
		return moments{b.Move[0].To.Table()}
	case len(b.Append) > 0:
		return moments{b.Append[0].Table()}
	default:
		return moments{"nothing"}
	}
}

// isFact reports whether a record is more than the event that tells of others.
func isFact(record landscape.Record) bool { return record.Table() != landscape.Event{}.Table() }

// hit marks a moment.
func (m moments) hit(step string) error {
	if !failpoint.Enabled {
		return nil
	}
	return failpoint.Hit("landscape." + m.table + "." + step)
}
