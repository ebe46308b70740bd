package audit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/sample"
)

// TestVerifyHoldsEffectsAgainstTheirEvents changes effects and what is recorded of their attempts, one thing at a time.
func TestVerifyHoldsEffectsAgainstTheirEvents(t *testing.T) {
	s := play(t)
	const write, publish = ` where sink = 'ledger' and chunk = 0`, ` where sink = 'ledger' and chunk = -1`
	const made = `create temp table more as select * from effects` + write + `; update more set `
	for _, c := range sample.Of(4, []struct{ name, statement, where, detail string }{
		{"an attempt more", `update effects set fence = 2` + write, "ledger", "write of orders chunk 0 to ledger in run run-1: 2 attempts begun on record"},
		{"an attempt less", `delete from effect_events where event = 'began' and sink = 'ledger' and chunk = 0`, "ledger", "1 attempt begun on record, its events say other ones"},
		{"an attempt twice", `create temp table more as select * from effect_events where event = 'began' and sink = 'ledger' and chunk = 0;
			update more set at_us = at_us + 1; insert into effect_events select * from more`, "ledger", "its events say other ones"},
		{"another attempt", `update effect_events set fence = 2` + write, "ledger", "its events say other ones"},
		{"a finalized event less", `delete from effect_events where event = 'finalized' and sink = 'ledger' and chunk = 0`,
			"ledger", "it is finalized on record, no event says so of attempt 1"},
		{"a person's word that it is not so", `update effect_events set event = 'resolved', detail = 'not_applied' where event = 'finalized' and sink = 'ledger' and chunk = 0`,
			"ledger", "no event says so of attempt 1"},
		{"in flight again", `update effects set state = 'in_flight', receipt = null` + write, "ledger", "it is in_flight on record, its events say that it was finalized"},
		{"prepared again", `update effects set state = 'prepared', receipt = null` + write, "ledger", "it is prepared on record, with 1 attempt"},
		{"finalized without an attempt", `update effects set fence = 0` + write + `; delete from effect_events` + write, "ledger", "it is finalized on record, with 0 attempts"},
		{"blocked", `update effects set state = 'blocked', receipt = null` + publish + `; update effect_events set event = 'failed' where event = 'finalized' and sink = 'ledger' and chunk = -1;
			delete from artifacts where sink = 'ledger'`, "ledger", "it is blocked on record, no event says why"},
		{"the receipt of a write", `update effects set receipt = '{}'` + write, "ledger", "its recorded receipt differs from the one in its event"},
		{"the receipt of a write everywhere", `update effects set receipt = '{}'` + write + `; update effect_events set detail = '{}' where event = 'finalized' and sink = 'ledger' and chunk = 0`,
			"ledger", "its receipt is another than that of its part on record"},
		{"the place of a part", `update effects set byte_offset = byte_offset + 1` + write, "ledger", "its receipt is another than that of its part on record"},
		{"no number of a part", `update effects set ordinal = null` + write, "ledger", "it is finalized on record, and has no place in the output"},
		{"no offset of a part", `update effects set byte_offset = null` + write, "ledger", "it is finalized on record, and has no place in the output"},
		{"the receipt of a publication", `update effects set receipt = '{}'` + publish + `; update effect_events set detail = '{}' where event = 'finalized' and sink = 'ledger' and chunk = -1`,
			"ledger", "publication of ledger in run run-1: its receipt is {}, what was published is recorded as "},
		{"the bytes of a publication", `update effects set bytes = bytes + 1` + publish, "ledger", "publication of ledger in run run-1: it is of "},
		{"the number of a publication", `update effects set ordinal = 77` + publish, "ledger", "it has a place in the output on record, as only a part has"},
		{"the offset of a publication", `update effects set byte_offset = 7` + publish, "ledger", "it has a place in the output on record, as only a part has"},
		{"what was published", `update artifacts set rows = rows + 1 where sink = 'ledger'`, "ledger", "what was published is recorded as "},
		{"an artifact less", `delete from artifacts where sink = 'ledger'`, "ledger", "it is finalized on record, and what was published is not there"},
		{"a publication less", `delete from effects` + publish, "ledger", "what was published is recorded, and it is not finalized"},
		{"an effect less", `delete from effects` + write, "ledger", "there are events of it, and it is not recorded"},
		{"a sink that is none", made + `sink = 'short'; insert into effects select * from more`, "short", "the run has no such sink, or no such chunk"},
		{"a chunk that is none", made + `chunk = 9, ordinal = 77; insert into effects select * from more`, "ledger", "the run has no such sink, or no such chunk"},
		{"a publication that is none", `create temp table more as select * from effects` + publish + `; update more set chunk = -2; insert into effects select * from more`,
			"ledger", "the run has no such sink, or no such chunk"},
		{"the end of a source that is none", `create temp table more as select * from source_ends; update more set source = 'more'; insert into source_ends select * from more`,
			"more", "its end is recorded, and the run has no such source"},
		{"an epoch", `update runs set epoch = 1`, "orders", "it is in epoch 1 on record, and was resumed 0 times"},
		{"final", `update runs set final = 1`, "orders", "it is completed_with_failures on record, and ended permanently as only a cancelled run is"},
	}) {
		t.Run(c.name, func(t *testing.T) {
			requireProblem(t, verify(t, s, tampered(t, s, c.statement)), c.where, c.detail)
		})
	}
}

// TestVerifyEpochs changes on record how often a run was resumed.
func TestVerifyEpochs(t *testing.T) {
	t.Setenv("REGION", "north")
	s := newFixture(t)
	s.Write(t, map[string]string{"in.csv": input})
	_, err := s.Run(t, run, strings.Replace(document, "on_invalid: quarantine", "on_invalid: fail", 1))
	require.Error(t, err)
	for epoch := range int64(2) {
		require.NoError(t, s.Log.Resume(t.Context(), landscape.Resumption{Run: run, Epoch: epoch + 1, Claim: "me", Actor: "tester", Code: "test"}))
		require.NoError(t, s.Log.StopRun(t.Context(), run, pipeline.Interrupted, "for the test"))
	}
	require.Empty(t, verify(t, s, s.Log.Reader).Problems)
	for _, c := range []struct{ name, statement, detail string }{
		{"an epoch less", `update runs set epoch = 1`, "it is in epoch 1 on record, and was resumed 2 times"},
		{"the last time less", `delete from resumptions where epoch = 2`, "it is in epoch 2 on record, and was resumed 1 time"},
		{"the first time less", `delete from resumptions where epoch = 1`, "it was resumed in epoch 2 on record, where epoch 1 should be"},
		{"a later time", `update resumptions set epoch = 3 where epoch = 2`, "it was resumed in epoch 3 on record, where epoch 2 should be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireProblem(t, verify(t, s, tampered(t, s, c.statement)), "orders", c.detail)
		})
	}
}
