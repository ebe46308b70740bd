package sqlitestore

import (
	"waymark/internal/failpoint"
	"waymark/landscape"
)

// moments are those of one transaction, named after the table of its first record.
type moments struct{ table string }

// momentsOf returns the moments of a landscape.Tx. In a normal build they have no name, and cost nothing.
func momentsOf(b landscape.Tx) moments {
	switch {
	case !failpoint.Enabled:
		return moments{}
	case len(b.Insert) > 0:
		return moments{b.Insert[0].Table()}
	case len(b.Move) > 0:
		return moments{b.Move[0].To.Table()}
	case len(b.Append) > 0:
		return moments{b.Append[0].Table()}
	default:
		return moments{"nothing"}
	}
}

// hit marks a moment.
func (m moments) hit(step string) error {
	if !failpoint.Enabled {
		return nil
	}
	return failpoint.Hit("landscape." + m.table + "." + step)
}
