package audit_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline/row"
)

// TestExplain asks about one run, which its parts share.
func TestExplain(t *testing.T) {
	s := play(t)
	for name, test := range map[string]func(*testing.T, *fixture){
		"rows of every kind":     testRowsOfEveryKind,
		"every line of a sink":   testEveryLine,
		"shape of the answer":    testShape,
		"keys":                   testKeys,
		"keys that look alike":   testKeysThatLookAlike,
		"keys by their values":   testKeysByValue,
		"senseless questions":    testSenselessQuestions,
		"states of a payload":    testPayloadStates,
		"changed environment":    testChangedEnvironment,
		"text for people":        testText,
		"changed hash on record": testChangedHash,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

func testRowsOfEveryKind(t *testing.T, s *fixture) {
	require.Equal(t, "orders:10", explain(t, s, audit.Question{Sink: "refused", Line: 2}).Token)
	for i, want := range rows {
		story := explain(t, s, audit.Question{Row: int64(i + 1)})
		require.Equal(t, string(want.path), story.Path, "row %d", i+1)
		require.Equal(t, want.sink, story.Sink, "row %d", i+1)
		require.Equal(t, want.line, story.Line, "row %d", i+1)
		require.True(t, story.Complete)
		require.Equal(t, fmt.Sprintf("orders:%d", i+1), story.Token)
		require.Empty(t, story.Note)
		require.Equal(t, want.codes, refusals(story), "row %d", i+1)
		require.Equal(t, want.codes != "", story.Outcome == "failure")
		requireVerified(t, story)
		requirePlace(t, s, story)
	}
}

// rejections returns the codes of the nodes that rejected the row.
func refusals(story *audit.Explanation) string {
	var codes []string
	for _, visit := range story.Nodes {
		if visit.Refused != nil {
			codes = append(codes, visit.Refused.Code)
		}
	}
	return strings.Join(codes, ", ")
}

// requireVerified requires that every node's result was computed again and is what is recorded, and that each node got
// what the one before it gave.
func requireVerified(t *testing.T, story *audit.Explanation) {
	t.Helper()
	require.NotEmpty(t, story.Nodes)
	before := ""
	for _, visit := range story.Nodes {
		require.True(t, visit.Verified, "%s at %s", story.Token, visit.Node)
		require.Equal(t, before, visit.InputHash, "%s at %s", story.Token, visit.Node)
		before = visit.OutputHash
	}
}

// requirePlace requires that the record stands in the file where the story says.
func requirePlace(t *testing.T, s *fixture, story *audit.Explanation) {
	t.Helper()
	content := s.Read(t, "in.csv")
	from := story.Source.ByteOffset
	require.Equal(t, content[from:from+story.Source.ByteLength], story.Source.Raw)
	require.EqualValues(t, 1+strings.Count(content[:from], "\n"), story.Source.Line)
	require.Equal(t, "in.csv", story.Source.File)
	require.Equal(t, audit.Stored, story.Source.State)
}

// testEveryLine asks for every line of every output: what the story says was written is what stands there.
func testEveryLine(t *testing.T, s *fixture) {
	for sink, output := range map[string]string{
		"review": withoutHeader(s.Read(t, "out/north.csv")),
		"ledger": s.Read(t, "out/ledger.jsonl"),
	} {
		written := ""
		for line := int64(1); line <= 2; line++ {
			story := explain(t, s, audit.Question{Sink: sink, Line: line})
			require.Equal(t, sink, story.Sink)
			require.Equal(t, line, story.Line)
			written += story.Written + "\n"
		}
		require.Equal(t, output, written, sink)
		_, err := auditor(s).Explain(t.Context(), audit.Question{Run: run, Sink: sink, Line: 3})
		require.ErrorIs(t, err, landscape.ErrNotFound)
	}
}

func withoutHeader(content string) string {
	_, rest, _ := strings.Cut(content, "\n")
	return rest
}

// testShape holds the whole answer for a row that was changed, routed and delivered, and for one that was rejected.
func testShape(t *testing.T, s *fixture) {
	for _, row := range []int64{2, 6} {
		story := explain(t, s, audit.Question{Row: row})
		story.Output = strings.ReplaceAll(story.Output, s.Folder, "FOLDER")
		require.Len(t, story.Source.Payload, 64)
		story.Source.Payload = "PAYLOAD"
		golden := fmt.Sprintf("testdata/row-%d.json", row)
		if os.Getenv("UPDATE") != "" {
			require.NoError(t, os.WriteFile(golden, []byte(toJSON(t, story)), 0o600))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), toJSON(t, story), golden)
	}
}

func testKeys(t *testing.T, s *fixture) {
	story := explain(t, s, audit.Question{Key: map[string]string{"customer": "eve", "day": "2026-01-08"}})
	require.Equal(t, "orders:9", story.Token)
	story = explain(t, s, audit.Question{Key: map[string]string{"customer": "test"}})
	require.Equal(t, "orders:4", story.Token)

	var ambiguous *audit.AmbiguousError
	_, err := auditor(s).Explain(t.Context(), audit.Question{Run: run, Key: map[string]string{"customer": "bob", "day": "2026-01-02"}})
	require.ErrorAs(t, err, &ambiguous)
	require.Equal(t, &audit.AmbiguousError{Tokens: []audit.Token{{Source: "orders", Row: 2}, {Source: "orders", Row: 3}}}, ambiguous)
	require.EqualError(t, err, "2 rows of orders have this key: 2, 3")

	_, err = auditor(s).Explain(t.Context(), audit.Question{Run: run, Key: map[string]string{"customer": "nobody"}})
	require.ErrorIs(t, err, landscape.ErrNotFound)
}

// testKeysThatLookAlike has two keys of which the look-up column keeps the same four bytes: the values decide.
func testKeysThatLookAlike(t *testing.T, _ *fixture) {
	s := newFixture(t)
	one, other := alike()
	s.Write(t, map[string]string{"alike.csv": "id\n" + one + "\n" + other + "\n"})
	_, err := s.Run(t, "alike", "name: alike\nsources: {in: {csv: {path: alike.csv}, key: [id]}}\nsinks: {out: {jsonl: {path: out/alike.jsonl}}}\n")
	require.NoError(t, err)
	for row, id := range map[int64]string{1: one, 2: other} {
		story, err := auditor(s).Explain(t.Context(), audit.Question{Run: "alike", Key: map[string]string{"id": id}})
		require.NoError(t, err)
		require.Equal(t, row, story.Source.Row)
	}
}

// testKeysByValue finds rows by keys that are equal to theirs, declared or of whatever kind the record has.
func testKeysByValue(t *testing.T, _ *fixture) {
	s := newFixture(t)
	s.Write(t, map[string]string{
		"declared.csv": "id\n100.00\n9.5\n",
		"free.jsonl":   "{\"id\":4711}\n{\"id\":1.50}\n{\"id\":\"0815\"}\n{\"id\":true}\n{\"id\":null}\n{\"id\":\"null\"}\n",
	})
	const out = "sinks: {out: {jsonl: {path: out/%s.jsonl}}}\n"
	_, err := s.Run(t, "declared", "name: d\nsources: {in: {csv: {path: declared.csv}, key: [id], schema: {fields: {id: decimal}}}}\n"+fmt.Sprintf(out, "d"))
	require.NoError(t, err)
	_, err = s.Run(t, "free", "name: f\nsources: {in: {jsonl: {path: free.jsonl}, key: [id]}}\n"+fmt.Sprintf(out, "f"))
	require.NoError(t, err)
	for _, c := range []struct {
		run, id string
		row     int64 // 0: none
	}{
		{"declared", "100", 1}, {"declared", "100.000", 1}, {"declared", "9.50", 2}, {"declared", "95", 0},
		{"free", "4711", 1}, {"free", "4711.0", 1}, {"free", "1.5", 2}, {"free", "15e-1", 2}, {"free", "0815", 3}, {"free", "815", 0}, {"free", "true", 4}, {"free", "null", 6},
	} {
		story, err := auditor(s).Explain(t.Context(), audit.Question{Run: c.run, Key: map[string]string{"id": c.id}})
		found, _, subjectErr := auditor(s).Subject(t.Context(), c.run, "id", c.id)
		require.NoError(t, subjectErr)
		if c.row == 0 {
			require.ErrorIs(t, err, landscape.ErrNotFound, c)
			require.Empty(t, found.Rows, c)
			continue
		}
		require.NoError(t, err, c)
		require.Equal(t, c.row, story.Source.Row, c)
		require.Len(t, found.Rows, 1, c)
		require.Equal(t, c.row, found.Rows[0].Row, c)
	}
}

// alike returns two texts whose canonical forms have the same first four bytes of their SHA-256.
func alike() (one, other string) {
	seen := map[[4]byte]string{}
	for i := 0; ; i++ {
		text := fmt.Sprintf("k%d", i)
		sum := sha256.Sum256(row.AppendValue(nil, row.StringValue(text)))
		if earlier, found := seen[[4]byte(sum[:4])]; found {
			return earlier, text
		}
		seen[[4]byte(sum[:4])] = text
	}
}

func testSenselessQuestions(t *testing.T, s *fixture) {
	for message, q := range map[string]audit.Question{
		`"code" is not part of the key of source orders: its key is customer, day`: {Key: map[string]string{"code": "a1"}},
		`key day: `:                              {Key: map[string]string{"day": "yesterday"}},
		`run run-1 has no source named "ordres"`: {Source: "ordres", Row: 1},
		`run run-1 has no sink named "reviews"`:  {Sink: "reviews", Line: 1},
		`by its number, from 1`:                  {},
		`ask for one row, in one way`:            {Row: 1, Token: "orders:1"},
		`a sink and the line of its output`:      {Row: 1, Line: 1},
		`one way: by its number`:                 {Key: map[string]string{"customer": "eve"}, Sink: "review", Line: 1},
		`rows and lines are counted from 1`:      {Row: -1},
		`lines are counted from 1`:               {Sink: "review"},
		`are counted from 1`:                     {Sink: "review", Line: -1},
		`name the Sink as well`:                  {Line: 1},
		`Limit is a number of tokens`:            {Row: 1, Limit: -1},
	} {
		q.Run = run
		_, explained := auditor(s).Explain(t.Context(), q)
		_, denied := auditor(s).WhyNot(t.Context(), q, "review")
		for _, err := range []error{explained, denied} {
			var question *audit.QuestionError
			require.ErrorAs(t, err, &question)
			require.ErrorContains(t, err, message)
		}
	}
	for _, q := range []audit.Question{{Run: run, Row: 12}, {Run: "nothing", Row: 1}, {Run: run, Sink: "review", Line: 1_000}} {
		_, err := auditor(s).Explain(t.Context(), q)
		require.ErrorIs(t, err, landscape.ErrNotFound)
	}
}

// testPayloadStates takes the records of a chunk away: what is recorded is still told, and why the rest is not.
func testPayloadStates(t *testing.T, s *fixture) {
	whole := explain(t, s, audit.Question{Row: 2})
	for state, change := range map[audit.Availability]func([]byte) []byte{audit.Missing: nil, audit.Corrupt: flip} {
		t.Run(string(state), func(t *testing.T) {
			s.damage(t, whole.Source.Payload, change)
			story := explain(t, s, audit.Question{Row: 2})
			require.Equal(t, state, story.Source.State)
			require.Empty(t, story.Source.Raw)
			require.Equal(t, whole.Source.SHA256, story.Source.SHA256)
			requireRecordOnly(t, whole, story)
			require.Empty(t, story.Note)
		})
	}
}

func testChangedEnvironment(t *testing.T, s *fixture) {
	whole := explain(t, s, audit.Question{Row: 2})
	t.Setenv("REGION", "south")
	story := explain(t, s, audit.Question{Row: 2})
	require.Contains(t, story.Note, "the document on record compiles to plan ")
	require.NotEmpty(t, whole.Source.Fields)
	require.Empty(t, story.Source.Fields, "what a field is the plan says")
	whole.Source.Fields = nil
	require.Equal(t, whole.Source, story.Source, "the record is there")
	requireRecordOnly(t, whole, story)
	_, err := auditor(s).Explain(t.Context(), audit.Question{Run: run, Key: map[string]string{"customer": "eve"}})
	require.ErrorContains(t, err, "a key can only be looked up with the run's plan: ")
}

// requireRecordOnly requires a story told from the record: the same nodes, labels and hashes, nothing computed, and
// nothing called verified.
func requireRecordOnly(t *testing.T, whole, story *audit.Explanation) {
	t.Helper()
	require.Equal(t, []string{whole.Way, whole.Outcome, whole.Sink, whole.Output}, []string{story.Way, story.Outcome, story.Sink, story.Output})
	require.Equal(t, whole.Line, story.Line)
	require.Empty(t, story.Written)
	for i, visit := range story.Nodes {
		recorded := whole.Nodes[i]
		require.Equal(t, audit.Visit{
			Node: recorded.Node, Operation: recorded.Operation, Label: recorded.Label, InputHash: recorded.InputHash, OutputHash: recorded.OutputHash,
		}, visit)
	}
	require.NotEmpty(t, story.Nodes)
}

func testText(t *testing.T, s *fixture) {
	var b strings.Builder
	require.NoError(t, explain(t, s, audit.Question{Row: 8}).WriteText(&b))
	for _, line := range []string{
		"row 8 of orders, in run run-1 of orders (completed with failures)\n",
		`  record  a8,"dan\nand co",2026-01-07,400,2` + "\n",
		"  + share = 200\n",
		"  → big\n",
		"way      orders > share > paid > triage[big] > review\n",
	} {
		require.Contains(t, b.String(), line)
	}
	raw := &audit.Explanation{Source: audit.Origin{State: audit.Stored, RawBase64: []byte{0xff}}}
	b.Reset()
	require.NoError(t, raw.WriteText(&b))
	require.Contains(t, b.String(), `"\xff" (not valid UTF-8)`)
	require.Contains(t, toJSON(t, raw), base64.StdEncoding.EncodeToString([]byte{0xff}))
}

// testChangedHash changes what is recorded about one node: that node is no longer called verified, and no other is.
func testChangedHash(t *testing.T, s *fixture) {
	log := tampered(t, s, `update hashes set hashes = cast(zeroblob(31) || x'01' || substr(hashes, 33) as blob) where node = 'share' and chunk = 0`)
	story, err := audit.New(log, s.Payloads, s.Planner).Explain(t.Context(), audit.Question{Run: run, Row: 1})
	require.NoError(t, err)
	for _, visit := range story.Nodes {
		require.Equal(t, visit.Node != "share", visit.Verified, visit.Node)
	}
}

// counted is a driver that counts the records of effects that are read whole.
type counted struct {
	landscape.Driver
	effects int
}

func (c *counted) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	return c.Driver.Read(ctx, kind, q, func(r landscape.Record) bool {
		if _, ok := r.(landscape.Effect); ok {
			c.effects++
		}
		return yield(r)
	})
}

// TestExplainReadsOneEffect: a run has one for each chunk and sink, and what is asked about is in one of them.
func TestExplainReadsOneEffect(t *testing.T) {
	s := play(t)
	effects, err := s.Log.Effects(t.Context(), run)
	require.NoError(t, err)
	require.Greater(t, len(effects), 2)
	store, err := sqlitestore.Open(t.Context(), s.Database, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	driver := &counted{Driver: store}
	story, err := audit.New(landscape.NewReader(driver), s.Payloads, s.Planner).Explain(t.Context(), audit.Question{Run: run, Sink: "ledger", Line: 1})
	require.NoError(t, err)
	require.True(t, story.Complete)
	require.Equal(t, 1, driver.effects)
}
