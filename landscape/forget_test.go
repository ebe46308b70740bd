package landscape_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// kept says of every column of records of runs, that is not blanked when a row is forgotten, why it may stay. Names of columns mean the same
// in all tables; a new one needs a reason here, or a place in landscape.Blanked.
var kept = map[string]string{
	"a name or a number": "run_id source chunk row rows lane node slice seq slot kind code label batch fold turn field sink epoch fence ordinal attempt number leaf leaves " +
		"first_row first_line first_offset line byte_offset raw_bytes raw_is_text blank comments bytes last lines offsets lengths chunks refused version environment_seq " +
		"file hold_id purge_id class payload claim disclosure what",
	"the document, and the graph": "document document_file document_sha256 plan plan_sha256 params starts.input refs pipeline operation config determinism guarantee nodes.hashes " +
		"from_node to_node name parent branch fork info path policy merge quorum timeout_ms expected arrived lost not_needed fired_by collisions origins result assertion gate",
	"ways, and what became of tokens": "way way_codes code_bytes codes signature outcome last_node first_seq sent_to batches tokens firsts trigger of arrivals wait_ms out_row " +
		"slots opened_batches open_batches held_rows out_rows",
	"events: names, ids, counts and digests": "about event subject body position",
	"a moment": "started_us finished_us read_us ended_us at_us opened_us fired_us deadline_us changed_us published_us accepted_us decided_us from_us to_us due_us until_us " +
		"ready_us late_us expires_us arrived_us",
	"who and where":                                              "location actor host base_dir worker execution workflow namespace identity principal environment access_token",
	"a text that people or services wrote":                       "reason why verb event detail receipt refusal terms request",
	"what people signed, and who":                                "person role statement signature approver seal request_sha256 emergency persons",
	"a count or sum of many rows":                                "figures total amount unreadable unit sample looked_at equal changed missing replaced unknown",
	"numbers of parts and lines, and what a target said of them": "findings",
	"names of fields and types":                                  "schema beyond",
	"which file, and where":                                      "item revision place",
	"a state":                                                    "status fate final link parent_run replaced_by was late latest stands_for fired changes attempts seen key schedule",
	"a digest of a payload, or over many records":                "pack state sha256 manifest_sha256 digests root marks tables hash",
	"roots over values whose salts are destroyed":                "field_roots.roots",
}

// TestEveryColumnHasARule walks the tables with records of runs: each column is blanked when a row is forgotten, or may stay for a reason.
func TestEveryColumnHasARule(t *testing.T) {
	reasons := map[string]bool{}
	for names := range maps.Values(kept) {
		for name := range strings.FieldsSeq(names) {
			reasons[name] = true
		}
	}
	blanked := maps.Clone(landscape.Blanked)
	var without []string
	for _, table := range landscape.Tables() {
		if !slices.ContainsFunc(table.Columns, func(c landscape.Column) bool { return c.Name == "run_id" }) {
			continue
		}
		for _, column := range table.Columns {
			name := table.Name + "." + column.Name
			if blanked[name] == "" && !reasons[column.Name] && !reasons[name] {
				without = append(without, name)
			}
			delete(blanked, name)
		}
	}
	require.Empty(t, without, "say in landscape.Blanked what becomes of them, or here why they stay")
	require.Empty(t, blanked, "there is no such column")
}
