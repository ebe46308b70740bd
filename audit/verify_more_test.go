package audit_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/sample"
)

// TestVerifyFindsEveryChange changes what can be computed again, or adds up, one thing at a time.
func TestVerifyFindsEveryChange(t *testing.T) {
	s := play(t)
	for _, c := range sample.Of(4, []struct{ name, statement, kind, where, detail string }{
		{"document", `update runs set document = document || ' '`, audit.RecordDiffers, "orders", "the document on record hashes to "},
		{"plan", `update runs set plan = plan || ' '`, audit.RecordDiffers, "orders", "the plan on record hashes to "},
		{"references", `update runs set refs = '[]'`, audit.RecordDiffers, "orders", "refs should be "},
		{"a node", `update nodes set operation = 'drop' where node = 'short'`, audit.RecordDiffers, "orders", `run-1/short: operation should be "rename"`},
		{"a node less", `delete from nodes where node = 'short'`, audit.RecordDiffers, "orders", "nodes run-1/short: should be one, the record has none"},
		{"an edge", `update edges set to_node = 'ledger' where label = 'big'`, audit.RecordDiffers, "orders", `to_node should be "review"`},
		{"an edge more", `insert into edges select run_id, from_node, kind, 'more', to_node from edges where label = 'big'`,
			audit.RecordDiffers, "orders", "should be none"},
		{"a slice less", `delete from chunk_rows where chunk = 1`, audit.RecordIncomplete, "orders chunk 1", "chunk_rows has 0 slices of it, not 1"},
		{"a short slice", `update chunk_rows set offsets = x'00000000' where chunk = 1`, audit.RecordIncomplete, "orders chunk 1", "slice 0 of chunk_rows"},
		{"short way codes", `update passages set way_codes = x'00' where chunk = 1`, audit.RecordIncomplete, "orders chunk 1", "way codes"},
		{"short hashes", `update hashes set hashes = x'00' where chunk = 1 and node = 'orders'`, audit.RecordIncomplete, "orders chunk 1", "hashes of orders"},
		{"steps of a way less", `delete from way_steps`, audit.RecordIncomplete, "orders chunk 1", "steps of it, are missing"},
		{"a short key column", `update key_hashes set hashes = x'00000000' where chunk = 1 and field = 'day'`,
			audit.RecordIncomplete, "orders chunk 1", "the key column day"},
		{"the first line of a chunk", `update chunks set first_line = first_line + 1 where chunk = 1`,
			audit.RecordDiffers, "orders chunk 1", "the chunk before it ends in file 1 at byte"},
		{"the place of a chunk", `update chunks set first_offset = first_offset + 1 where chunk = 2`,
			audit.RecordDiffers, "orders chunk 2", "the chunk before it ends in file 1 at byte"},
		{"the place of the first chunk", `update chunks set first_offset = first_offset + 1 where chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", "its text ends at byte "},
		{"the line of the first chunk", `update chunks set first_line = first_line + 1 where chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", "its text has 4 lines"},
		{"the first row of a chunk", `update chunks set first_row = 6 where chunk = 1`, audit.RecordDiffers, "orders chunk 1", "its first row is 6 on record"},
		{"the file of a chunk", `update chunks set file = 'other.csv' where chunk = 1`, audit.RecordDiffers, "orders chunk 1", "it is of file other.csv"},
		{"the size of a chunk", `update chunks set bytes = bytes - 1 where chunk = 1`, audit.RecordDiffers, "orders chunk 1", "the stored text has "},
		{"a cursor", `update chunks set cursor = '{}' where chunk = 1`, audit.RecordDiffers, "orders chunk 1", "it ends in file 1 at byte 0"},
		{"a cursor that is none", `update chunks set cursor = '' where chunk = 1`, audit.RecordDiffers, "orders chunk 1", "the cursor on record cannot be read"},
		{"the lines of records", `update chunk_rows set lines = x'000000000000000200000002' where chunk = 2`,
			audit.RecordDiffers, "orders chunk 2", "row 10 is on line 12, the record has line 13"},
		{"the length of a refused record", `update errors set raw_bytes = raw_bytes + 1 where row = 6`, audit.RecordDiffers, "orders chunk 1", "row 6 is refused by share"},
		{"the line of an error", `update errors set line = line + 1 where row = 6`, audit.RecordDiffers, "orders chunk 1", "row 6 is refused by share"},
		{"the place of an error", `update errors set byte_offset = 0 where row = 6`, audit.RecordDiffers, "orders chunk 1", "row 6 is refused by share"},
		{"the hash of an error", `update errors set error_hash = printf('%064d', 1) where row = 6`, audit.RecordDiffers, "orders chunk 1", "error_hash should be "},
		{"the chunk of an error", `update errors set chunk = 0 where row = 6`, audit.RecordDiffers, "orders chunk 1", "chunk should be 1"},
		{"an error more", `insert into errors select run_id, source, 1, lane, node, chunk, code, field, message, error_hash, raw, raw_is_text, raw_bytes, line, byte_offset, sent_to, at_us from errors where row = 6`,
			audit.RecordDiffers, "orders chunk 0", "row 1 is refused by no node"},
		{"an error of a row that is not", `insert into errors select run_id, source, 99, lane, node, chunk, code, field, message, error_hash, raw, raw_is_text, raw_bytes, line, byte_offset, sent_to, at_us from errors where row = 6`,
			audit.RecordDiffers, "orders", "row 99 is in no chunk"},
		{"a key", `update key_hashes set hashes = cast(x'01020304' || substr(hashes, 5) as blob) where chunk = 0 and field = 'day'`,
			audit.RecordDiffers, "orders chunk 0", "key_hashes run-1/orders/0/day: hashes should be "},
		{"a key column more",
			`insert into key_hashes select run_id, source, chunk, 'code', hashes from key_hashes where field = 'day'`,
			audit.RecordDiffers, "orders chunk 0", "key_hashes run-1/orders/0/code: should be none"},
		{"a signature", `update ways set signature = 'elsewhere' where path = 'filter_dropped'`, audit.RecordDiffers, "orders chunk 0", "signature should be "},
		{"the last node of a way", `update ways set last_node = 'share' where path = 'filter_dropped'`, audit.RecordDiffers, "orders chunk 0", "last_node should be "},
		{"the count of a way", `update chunk_ways set rows = rows + 1 where chunk = 0 and code = 0`, audit.RecordDiffers, "orders chunk 0", "rows should be "},
		{"the bytes of a write", `update effects set bytes = bytes + 1 where sink = 'ledger' and chunk = 0`, audit.RecordDiffers, "orders chunk 0", "the bytes for sink ledger "},
		{"the fields of a part", `update effects set beyond = '{"fields":[{"name":"x","types":["int"]}]}' where sink = 'ledger' and chunk = 0`,
			audit.RecordDiffers, "orders chunk 0", "beyond should be "},
		{"the schema of an output", `update artifacts set schema = '{"fields":[]}' where sink = 'ledger'`,
			audit.RecordDiffers, "ledger", `the record has the schema {"fields":[]}, of the document and its parts follows {"fields":[{"name":`},
		{"blank lines", `update source_ends set blank = 7`, audit.RecordDiffers, "orders", "blank should be 0, the record has 7"},
		{"bytes read", `update source_ends set bytes = 7`, audit.RecordDiffers, "orders", "bytes should be "},
		{"a digest of a file", `update source_ends set digests = '["' || printf('%064d', 1) || '"]'`, audit.SourceDiffers, "orders", "in.csv has the size and time"},
		{"no digest of a file", `update source_ends set digests = '["x"]'`, audit.RecordDiffers, "orders", `"x" is no digest`},
		{"a digest too few", `update source_ends set digests = '[]'`, audit.RecordDiffers, "orders", "1 file read, 0 digests on record"},
		{"digests that are none", `update source_ends set digests = '{'`, audit.RecordDiffers, "orders", "the digests of its files cannot be read"},
		{"what a source held", `update sources set info = '{'`, audit.RecordDiffers, "orders", "what the source held cannot be read"},
		{"the status", `update runs set status = 'completed'`, audit.RecordDiffers, "orders", "that makes the run completed_with_failures, and the record has completed"},
	}) {
		t.Run(c.name, func(t *testing.T) {
			report := verify(t, s, tampered(t, s, c.statement))
			for _, problem := range report.Problems {
				if problem.Kind == c.kind && problem.Where == c.where && strings.Contains(problem.Detail, c.detail) {
					return
				}
			}
			require.Fail(t, "not found", "%+v", report.Problems)
		})
	}
}

// TestVerifyReadsTheDocumentAndTheSource damages the document's payload and the source file.
func TestVerifyReadsTheDocumentAndTheSource(t *testing.T) {
	s := play(t)
	stored, err := s.Log.Run(t.Context(), run)
	require.NoError(t, err)
	for kind, change := range map[string]func([]byte) []byte{audit.PayloadMissing: nil, audit.PayloadCorrupt: flip} {
		t.Run(kind, func(t *testing.T) {
			s.damage(t, stored.DocumentSHA256, change)
			report := verify(t, s, s.Log.Reader)
			require.Len(t, report.Problems, 1)
			require.Equal(t, kind, report.Problems[0].Kind)
			require.Contains(t, report.Problems[0].Detail, "the document: ")
		})
	}
	path := filepath.Join(s.Folder, "in.csv")
	info, err := os.Stat(path)
	require.NoError(t, err)
	damage(t, path, flip)
	require.Empty(t, verify(t, s, s.Log.Reader).Problems, "a file that was changed since is no problem of the record")
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	report := verify(t, s, s.Log.Reader)
	require.Len(t, report.Problems, 1)
	require.Equal(t, audit.SourceDiffers, report.Problems[0].Kind)
}

// TestVerifyReplacedOutput runs the document twice over the same outputs.
func TestVerifyReplacedOutput(t *testing.T) {
	t.Setenv("REGION", "north")
	s := newFixture(t)
	overwriting := strings.NewReplacer(`.csv"}}`, `.csv", overwrite: true}}`, `ledger.jsonl}`, `ledger.jsonl, overwrite: true}`,
		"parts: true}", "parts: true, overwrite: true}").Replace(document)
	s.Write(t, map[string]string{"in.csv": input})
	for i, id := range []string{run, "run-2"} {
		s.Write(t, map[string]string{"in.csv": input[:len(input)-i*len("b2,\"eve,2026-01-10,7,1\n")] + strings.Repeat("c1,ann,2026-01-11,900,1\n", i)})
		_, err := s.Run(t, id, overwriting)
		require.NoError(t, err)
	}
	report := verify(t, s, s.Log.Reader)
	require.Empty(t, report.Problems)
	require.Equal(t, []audit.Check{
		{What: "source", Name: "orders", Detail: "in.csv was changed since the run read it"},
		{What: "output", Name: "review", Detail: filepath.Join(s.Folder, "out/north.csv") + " was replaced by run run-2"},
	}, report.NotChecked)
	var b strings.Builder
	require.NoError(t, report.WriteText(&b))
	require.Contains(t, b.String(), "not checked: output review: ")

	damage(t, filepath.Join(s.Folder, "out/north.csv"), flip)
	last, err := auditor(s).Verify(t.Context(), "run-2")
	require.NoError(t, err)
	require.Len(t, last.Problems, 1, "nobody replaced this one")
	require.Empty(t, last.NotChecked)
}

// TestVerifyOutputsWithoutThePlan reads the outputs on a machine where the document does not compile.
func TestVerifyOutputsWithoutThePlan(t *testing.T) {
	s := play(t)
	require.NoError(t, os.Unsetenv("REGION")) // play restores it
	report := verify(t, s, s.Log.Reader)
	require.Len(t, report.Problems, 1)
	require.Equal(t, audit.DocumentUnusable, report.Problems[0].Kind)
	require.Contains(t, report.Problems[0].Detail, "it needs REGION as it was when the run began")
	require.Contains(t, report.Problems[0].Detail, "the document on record:")
	require.Equal(t, 3, report.Artifacts)
	for file, sink := range map[string]string{
		"out/north.csv": "review", "out/ledger.jsonl": "ledger", "out/refused/part-00001.csv": "refused", "out/refused/manifest.json": "refused",
	} {
		for name, change := range map[string]func([]byte) []byte{"flipped": flip, "deleted": nil, "longer": func(b []byte) []byte { return append(b, '\n') }} {
			t.Run(name+" "+file, func(t *testing.T) {
				damage(t, filepath.Join(s.Folder, file), change)
				report := verify(t, s, s.Log.Reader)
				require.Len(t, report.Problems, 2)
				require.Equal(t, audit.ArtifactDiffers, report.Problems[1].Kind)
				require.Equal(t, sink, report.Problems[1].Where)
			})
		}
	}
}

// TestVerifyOutputsThatAreNoFiles puts something else where outputs were, and verifies with the plan and without.
func TestVerifyOutputsThatAreNoFiles(t *testing.T) {
	s := play(t)
	aside := filepath.Join(t.TempDir(), "aside")
	for kind, make := range map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink(aside, path) },
		"a folder":        func(path string) error { return os.Mkdir(path, 0o700) },
		"a FIFO":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		for output, sink := range map[string]string{"out/north.csv": "review", "out/refused": "refused", "out/refused/part-00001.csv": "refused"} {
			if kind == "a folder" && output == "out/refused" {
				continue // it is one
			}
			t.Run(kind+" "+output, func(t *testing.T) {
				path := filepath.Join(s.Folder, output)
				require.NoError(t, os.Rename(path, aside))
				t.Cleanup(func() {
					require.NoError(t, os.Remove(path))
					require.NoError(t, os.Rename(aside, path))
				})
				require.NoError(t, make(path))
				report := verify(t, s, s.Log.Reader)
				require.Len(t, report.Problems, 1)
				require.Equal(t, audit.Problem{Kind: audit.ArtifactDiffers, Where: sink, Detail: report.Problems[0].Detail}, report.Problems[0])
				require.Contains(t, report.Problems[0].Detail, " is "+kind)
				require.Contains(t, report.Problems[0].Detail, "put the output back as it was")
				require.Empty(t, report.NotChecked)

				t.Setenv("REGION", "south")
				report = verify(t, s, s.Log.Reader)
				require.Len(t, report.Problems, 2, "the document, and the output")
				require.Equal(t, audit.ArtifactDiffers, report.Problems[1].Kind)
			})
		}
	}
}

func TestVerifyListsNoMoreThanAThousand(t *testing.T) {
	t.Setenv("REGION", "north")
	s := newFixture(t)
	var rows bytes.Buffer
	rows.WriteString("code,customer,day,amount,parts\n")
	for i := range 1001 {
		fmt.Fprintf(&rows, "c%d,ann,2026-01-01,1,1\n", i)
	}
	s.Write(t, map[string]string{"in.csv": rows.String()})
	result, err := s.Run(t, run, strings.Replace(document, "rows: 4", "rows: 1000", 1))
	require.NoError(t, err)
	require.Equal(t, pipeline.Completed, result.Status)
	report := verify(t, s, tampered(t, s, `update chunk_rows set raw_hashes = zeroblob(length(raw_hashes))`))
	require.Len(t, report.Problems, 1000)
	require.True(t, report.More)
	var b strings.Builder
	require.NoError(t, report.WriteText(&b))
	require.Contains(t, b.String(), "at least 1000 problems; the first are shown\n")
}

// TestExplainDiffers changes what is recorded about row 1, and asks for its story.
func TestExplainDiffers(t *testing.T) {
	s := play(t)
	for _, c := range []struct{ name, statement, text string }{
		{"a hash", `update hashes set hashes = cast(zeroblob(31) || x'01' || substr(hashes, 33) as blob) where node = 'share' and chunk = 0`,
			strings.Repeat("0", 63) + "1  DIFFERS: computed again it is "},
		{"no hash", `update hashes set hashes = cast(zeroblob(32) || substr(hashes, 33) as blob) where node = 'share' and chunk = 0`,
			"none on record  DIFFERS: computed again it is "},
		{"the hash of the record", `update chunk_rows set raw_hashes = zeroblob(length(raw_hashes)) where chunk = 0`,
			strings.Repeat("0", 64) + "  DIFFERS: computed again it is "},
		{"the way", `update passages set way_codes = cast(substr(way_codes, 2, 1) || substr(way_codes, 1, 1) || substr(way_codes, 3) as blob) where chunk = 0`,
			"DIFFERS: computed again it goes orders > share > paid > triage[small] > short > ledger (default_flow)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			story, err := audit.New(tampered(t, s, c.statement), s.Payloads, s.Planner).Explain(t.Context(), audit.Question{Run: run, Row: 1})
			require.NoError(t, err)
			require.False(t, story.True())
			var b strings.Builder
			require.NoError(t, story.WriteText(&b))
			require.Contains(t, b.String(), c.text)
		})
	}
	story, err := audit.New(tampered(t, s, `update errors set message = 'other' where row = 6`), s.Payloads, s.Planner).
		Explain(t.Context(), audit.Question{Run: run, Row: 6})
	require.NoError(t, err)
	require.False(t, story.True())
	var b strings.Builder
	require.NoError(t, story.WriteText(&b))
	require.Contains(t, b.String(), "DIFFERS: computed again it is refused with DIVISION_BY_ZERO")

	for row := range rows {
		require.True(t, explain(t, s, audit.Question{Row: int64(row + 1)}).True())
	}
	s.damage(t, explain(t, s, audit.Question{Row: 1}).Source.Payload, nil)
	require.False(t, explain(t, s, audit.Question{Row: 1}).True(), "a missing payload proves nothing")
}

func TestExplainIncompleteRecords(t *testing.T) {
	s := play(t)
	for _, statement := range []string{
		`delete from chunk_rows where chunk = 0`,
		`update passages set way_codes = x'00' where chunk = 0`,
		`update passages set way_codes = cast(x'63' || substr(way_codes, 2) as blob) where chunk = 0`,
		`update hashes set hashes = x'00' where chunk = 0`,
		`delete from way_steps`,
	} {
		_, err := audit.New(tampered(t, s, statement), s.Payloads, s.Planner).Explain(t.Context(), audit.Question{Run: run, Row: 1})
		require.ErrorIs(t, err, landscape.ErrIncomplete, statement)
	}
}

func TestExplainRename(t *testing.T) {
	s := play(t)
	story := explain(t, s, audit.Question{Row: 1})
	var b strings.Builder
	require.NoError(t, story.WriteText(&b))
	require.Contains(t, b.String(), "short (rename)\n  customer → who\n")
	require.NotContains(t, b.String(), "- customer")
	change := story.Nodes[len(story.Nodes)-2].Changes[0]
	require.Equal(t, []string{"customer", "who", `"ann"`, `"ann"`}, []string{change.From, change.Field, *change.Before, *change.After})
}

func TestExplainKeyOfRefusedRow(t *testing.T) {
	s := play(t)
	_, err := auditor(s).Explain(t.Context(), audit.Question{Run: run, Key: map[string]string{"customer": "cid"}})
	require.ErrorIs(t, err, landscape.ErrNotFound)
	require.EqualError(t, err, "no row of source orders has this key; rows that the source refused have none: see waymark errors")
}

// TestExplainBeforeTheSteps asks for a row that was read and not sent through the steps, because another row ended the run.
func TestExplainBeforeTheSteps(t *testing.T) {
	t.Setenv("REGION", "north")
	s := newFixture(t)
	s.Write(t, map[string]string{"in.csv": input})
	_, err := s.Run(t, run, strings.Replace(document, "on_invalid: quarantine", "on_invalid: fail", 1))
	require.Error(t, err)
	story := explain(t, s, audit.Question{Row: 6})
	require.Equal(t, "the row was read and has not gone through the steps", story.Note)
	_, err = auditor(s).Explain(t.Context(), audit.Question{Run: run, Key: map[string]string{"customer": "nobody"}})
	require.ErrorContains(t, err, "has this key; the run failed, perhaps before it read the row: see waymark runs")
	require.True(t, story.True())
	require.NotEmpty(t, story.Nodes)
}

// TestVerifyPlacesOfEverySource verifies runs over texts in which records, lines and bytes do not go hand in hand.
func TestVerifyPlacesOfEverySource(t *testing.T) {
	s := newFixture(t)
	for name, c := range map[string]struct{ source, fields, text string }{
		"blank lines":          {"csv: {path: %s}", "a: string, b: string", "a,b\n\n1,2\n\n\n3,4\n\n5,6\n\n"},
		"comments":             {"csv: {path: %s, comment: '#'}", "a: string, b: string", "# x\na,b\n# y\n1,2\n# z\n3,4\n5,6\n# w"},
		"carriage returns":     {"csv: {path: %s}", "a: string, b: string", "a,b\r\n1,2\r\n3,4\r\n5,6"},
		"old carriage returns": {"csv: {path: %s, newline: cr}", "a: string, b: string", "a,b\r1,2\r3,4\r\r5,6"},
		"several lines":        {"csv: {path: %s}", "a: string, b: string", "a,b\n\"1\n\n\",2\n3,\"\n\"\n5,6\n7,\"8"},
		"a long record":        {"csv: {path: %s}", "a: string, b: string", "a,b\n1,2\n3," + strings.Repeat("x", 3<<20) + "\n5,6\n7,8\n"},
		"a long comment":       {"csv: {path: %s, comment: '#'}", "a: string, b: string", "a,b\n1,2\n#" + strings.Repeat("x", 3<<20) + "\n5,6\n7,8\n"},
		"two files":            {"csv: {path: \"*-%s\"}", "a: string, b: string", "a,b\n1,2\n\n3,4\n5,6"},
		"JSON lines":           {"jsonl: {path: %s}", "a: string, b: string", "{\"a\":\"1\",\"b\":\"2\"}\n\n{\"a\":\"1\",\"b\":\"2\"}\n{\n{\"a\":\"1\",\"b\":\"2\"}"},
	} {
		t.Run(name, func(t *testing.T) {
			file := strings.ReplaceAll(name, " ", "-")
			s.Write(t, map[string]string{file + ".txt": c.text, "1-" + file + ".txt": c.text, "2-" + file + ".txt": c.text})
			document := fmt.Sprintf("name: places\nchunk: {rows: 2}\nsources:\n  in:\n    "+c.source+"\n    schema: {fields: {%s}}\n    on_invalid: quarantine\nsinks:\n  out: {jsonl: {path: %s.out}}\n",
				file+".txt", c.fields, file)
			_, err := s.Run(t, file, document)
			require.NoError(t, err)
			report, err := auditor(s).Verify(t.Context(), file)
			require.NoError(t, err)
			require.Empty(t, report.Problems)
			require.Positive(t, report.Rows)
		})
	}
}
