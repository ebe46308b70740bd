package landscape_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// shown says of every column of texts or bytes that a redacted record shows why it may. Names of columns mean the same in all tables; a new one needs a reason here, or a place
// in landscape.RedactedAlways or landscape.RedactedValues.
var shown = map[string]string{
	"a name": "run_id source node kind code label field sink event verb name branch fork from_node to_node operation effects.state status link parent_run key_hash policy total pipeline " +
		"environment trigger stands_for",
	"the document, which is in the bundle, and the graph that follows": "document plan params refs config determinism guarantee nodes.hashes document_sha256 plan_sha256 assertion gate expected " +
		"arrived lost not_needed fired_by collisions origins result merge",
	"ways, and what became of tokens": "way way_codes codes signature outcome ways.path batches.path last_node sent_to batches tokens firsts arrivals slots",
	"which file arrived":              "item",
	"where a record was":              "offsets lengths lines",
	"of a lookup table":               "lookup_tables.sha256",
	"what a program is called":        "worker execution namespace schedule claim was version",
	"replaced by salts without some":  "keys",
	"a number, or none":               "finished_us parent turn deadline_us fold quorum timeout_ms of out_row ordinal byte_offset",
	"one of a few words of an order":  "erased.outcome",
	"of salted leaves":                "root leaf marks run_seals.tables forgotten_leaves.hash field_roots.roots",
}

// TestEveryColumnIsRedactedOrShown walks the tables with records of runs.
func TestEveryColumnIsRedactedOrShown(t *testing.T) {
	reasons := map[string]bool{}
	for _, names := range shown {
		for name := range strings.FieldsSeq(names) {
			reasons[name] = true
		}
	}
	var without []string
	columns := 0
	for _, table := range landscape.Tables() {
		if !slices.Contains([]string{"run_id", "parent_run"}, table.Columns[0].Name) || slices.Contains(landscape.RedactedTables, table.Name) {
			continue
		}
		values := table.AppendValues(nil, table.Zero())
		for i, column := range table.Columns {
			if _, number := values[i].(int64); number {
				continue
			}
			name := table.Name + "." + column.Name
			_, always := landscape.RedactedAlways[name]
			_, value := landscape.RedactedValues[name]
			if always || value {
				require.False(t, column.Key, "%s: records are found by it", name)
				columns++
			} else if !reasons[column.Name] && !reasons[name] {
				without = append(without, name)
			}
		}
	}
	require.Empty(t, without, "say in landscape.RedactedAlways or RedactedValues what stands in place of them, or here why they are shown")
	require.Equal(t, len(landscape.RedactedAlways)+len(landscape.RedactedValues), columns, "there is no such column")
}
