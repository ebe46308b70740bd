package audit_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// TestVerifyFindsAnEndThatCameTooEarly claims of a run that read two of three chunks that its source ended there, with totals
// and digests that fit.
func TestVerifyFindsAnEndThatCameTooEarly(t *testing.T) {
	t.Setenv("REGION", "north")
	s := newFixture(t)
	s.Write(t, map[string]string{"in.csv": input})
	_, err := s.Run(t, run, strings.Replace(document, "on_invalid: quarantine", "on_invalid: fail", 1))
	require.Error(t, err)
	chunks := 0
	for _, err := range s.Log.Chunks(t.Context(), run, "orders") {
		require.NoError(t, err)
		chunks++
	}
	statement := `delete from chunk_rows where chunk > 1; delete from chunks where chunk > 1; delete from source_ends;` + fmt.Sprintf(`insert into source_ends
		(run_id, source, chunks, rows, blank, comments, bytes, digests, ended_us)
		select run_id, source, count(*), sum(rows), sum(blank), sum(comments), sum(bytes), '["%x"]', 1 from chunks`, sha256.Sum256([]byte(input)))
	require.GreaterOrEqual(t, chunks, 2)
	report := verify(t, s, tampered(t, s, statement))
	require.Equal(t, []audit.Problem{{
		Kind: audit.RecordDiffers, Where: "orders",
		Detail: fmt.Sprintf("its end is recorded after row 8; read again, it continues in in.csv at byte %d, line 11", strings.Index(input, "a9,")),
	}}, withoutSeals(report))

	damage(t, s.Folder+"/in.csv", func(text []byte) []byte { return append(text, '\n') })
	require.Empty(t, withoutSeals(verify(t, s, tampered(t, s, statement))), "a source that was changed since tells nothing")
}

// TestVerifyReadsTheSourceAgain changes what only the source can tell: the text of the chunks fits what is recorded.
func TestVerifyReadsTheSourceAgain(t *testing.T) {
	s := play(t)
	other := base64.StdEncoding.EncodeToString([]byte("code,day,customer,amount,parts"))
	forged := func(chunk int64) string {
		return fmt.Sprintf(`update chunks set pack = '%s' where chunk = %d;`, swapped(t, s, chunk), chunk)
	}
	for _, c := range []struct{ name, statement, where, detail string }{
		{"blank lines that are not", `update chunks set blank = blank + 1 where chunk = 1; update source_ends set blank = blank + 1`,
			"orders chunk 1", "read again, its number of blank lines is 0, the record has 1"},
		{"comments that are not", `update chunks set comments = comments + 1 where chunk = 1; update source_ends set comments = comments + 1`,
			"orders chunk 1", "read again, its number of comment lines is 0, the record has 1"},
		{"another header to continue with", `update chunks set cursor = json_set(cursor, '$.context', '` + other + `') where chunk = 0`,
			"orders chunk 0", "its cursor carries another header on than its records have"},
		{"no header to continue with", `update chunks set cursor = json_remove(cursor, '$.context') where chunk = 0`,
			"orders chunk 0", "read again, it ends at another cursor than is recorded"},
		{"another header from a chunk on", forged(1) + forged(2), "orders chunk 1", "its records have another header than the chunk before it in in.csv"},
		{"another header everywhere", forged(0) + forged(1) + forged(2) + `update chunks set cursor = json_set(cursor, '$.context', '` + other + `')`,
			"orders chunk 0", "read again, it ends at another cursor than is recorded"},
		{"another header that travels in no cursor", forged(0) + forged(1) + forged(2) + `update chunks set cursor = cursor`,
			"orders chunk 0", "read again, its records have another header than is stored with them"},
		{"a record", `update chunk_rows set raw_hashes = zeroblob(length(raw_hashes)) where chunk = 2`,
			"orders chunk 2", "read again, row 9 is another record than is recorded"},
		{"the number of a chunk", `update chunks set chunk = 7 where chunk = 2`, "orders chunk 7", "it is recorded where chunk 2 should be"},
		{"a chunk more", `create temp table more as select * from chunks where chunk = 2; update more set chunk = 3, first_row = 12; insert into chunks select * from more`,
			"orders chunk 3", "read again, the source ends before it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireProblem(t, verify(t, s, tampered(t, s, c.statement)), c.where, c.detail)
		})
	}
}

// requireProblem requires that one of the problems is this one, of the record.
func requireProblem(t *testing.T, report *audit.Report, where, detail string) {
	t.Helper()
	for _, problem := range report.Problems {
		if problem.Kind == audit.RecordDiffers && problem.Where == where && strings.Contains(problem.Detail, detail) {
			return
		}
	}
	require.Fail(t, "not found", "%s: %s: %+v", where, detail, report.Problems)
}

// swapped stores the pack of a chunk once more, with two columns of the header swapped, and returns its digest.
func swapped(t *testing.T, s *fixture, chunk int64) payload.Digest {
	t.Helper()
	record, err := s.Log.Chunk(t.Context(), run, landscape.ChunkKey{Source: "orders", Chunk: chunk})
	require.NoError(t, err)
	stored, err := s.Payloads.Get(t.Context(), payload.Digest(record.Pack))
	require.NoError(t, err)
	pack, err := payload.DecodePack(stored)
	require.NoError(t, err)
	var words map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(pack.Context, &words))
	words["context"] = json.RawMessage(`"code,day,customer,amount,parts"`)
	pack.Context, err = json.Marshal(words)
	require.NoError(t, err)
	changed, err := payload.EncodePack(nil, pack)
	require.NoError(t, err)
	digest, err := s.Payloads.Put(t.Context(), changed)
	require.NoError(t, err)
	return digest
}

// TestVerifyReadsEverySourceAgain verifies files that begin, and end, in every way that is allowed.
func TestVerifyReadsEverySourceAgain(t *testing.T) {
	s := newFixture(t)
	long := strings.Repeat("x", 600)
	s.Write(t, map[string]string{
		"in/1.csv": "\ufeff# first\n\n" + long + ",n\n\na,1\n\n# between\nb,2\n\n\n# last\n",
		"in/2.csv": long + ",n\n",
		"in/3.csv": long + ",n\r\nc,3\r\n\"d\r\nd\",4",
		"in/4.csv": long + ",n\n\n\n\n",
		"in/5.csv": "n," + long + "\n5,e\n6,f\n",
		"no.jsonl": "\n{\"id\": \"g\", \"n\": 7}\n\n{\"id\": \"h\", \"n\": 8}\n\n",
	})
	result, err := s.Run(t, run, `name: many
chunk: {rows: 1}
sources:
  files: {csv: {path: in/*.csv, comment: "#"}, schema: {fields: {n: int}, mode: flexible}}
  lines: {jsonl: {path: no.jsonl}, schema: {fields: {id: string, n: int}}}
sinks: {out: {jsonl: {path: out/all.jsonl}}}
`)
	require.NoError(t, err)
	require.Equal(t, pipeline.Completed, result.Status)
	report := verify(t, s, s.Log.Reader)
	require.Empty(t, report.Problems)
	require.EqualValues(t, 8, report.Rows)
	missing := tampered(t, s, `delete from chunks where source = 'files' and file = 'in/3.csv'`)
	requireProblem(t, verify(t, s, missing), "files chunk 5", "read again, it begins with row 3")
}

// withoutSeals returns the problems that are found without the seals.
func withoutSeals(report *audit.Report) (others []audit.Problem) {
	for _, problem := range report.Problems {
		if problem.Kind != audit.SealBroken {
			others = append(others, problem)
		}
	}
	return others
}
