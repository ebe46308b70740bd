package pipeline_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// world is an environment in which every reference of testdata/full.yaml has a value.
func world() pipeline.Environment {
	variables := map[string]string{
		"REGION": "north-west", "EVIL": "x\n- evil: yaml", "EMPTY": "", "SHORT": "a;b", "BYTES": "\xff", "AGAIN": "${REGION}",
	}
	return pipeline.Environment{
		Params: map[string]string{"rows": "500", "day": "2026-11-20"},
		Env: func(name string) (string, bool) {
			value, ok := variables[name]
			return value, ok
		},
		Secret: func(_, name string) (string, error) {
			if name == "folder" {
				return "hunter2-hunter2", nil
			}
			return "", errors.New("the store has no such secret")
		},
		FingerprintKey: []byte("key"),
	}
}

func readFull(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/full.yaml")
	require.NoError(t, err)
	return data
}

func loadFull(t *testing.T) *pipeline.Document {
	t.Helper()
	doc, err := pipeline.Load("full.yaml", readFull(t), world())
	require.NoError(t, err)
	return doc
}

// small is a correct document to which tests add lines.
const small = "name: x\nsources: {in: {csv: {path: in.csv}}}\nsinks: {out: {csv: {path: out.csv}}}\n"

// loadSmall loads a document in the world, without parameters for the run.
func loadSmall(text string) (*pipeline.Document, error) {
	env := world()
	env.Params = nil
	return pipeline.Load("x.yaml", []byte(text), env)
}

func pointer[T any](v T) *T { return &v }

func TestLoadKeepsTheSourceAndItsDigest(t *testing.T) {
	data := readFull(t)
	doc, err := pipeline.Load("full.yaml", data, world())
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	require.Equal(t, hex.EncodeToString(sum[:]), doc.Digest)
	require.Equal(t, data, doc.Source)
	data[0] = '!'
	require.NotEqual(t, data[0], doc.Source[0], "the document has its own copy")
}

func TestLoadParamsAndChunk(t *testing.T) {
	doc := loadFull(t)
	day, err := row.Parse(row.Date, "2001-01-01")
	require.NoError(t, err)
	slotDay, err := row.Parse(row.Date, "2026-11-20")
	require.NoError(t, err)
	threshold, err := row.Parse(row.Decimal, "1.10")
	require.NoError(t, err)
	require.Equal(t, map[string]row.Value{
		"since": day, "region": row.StringValue("west"), "threshold": threshold, "rows": row.IntValue(500), "day": slotDay,
	}, doc.Params)
	require.Equal(t, "Strikes by severity, west", doc.Pipeline.Description)
	require.Equal(t, pipeline.Chunk{Rows: 500, Bytes: 8 << 20}, doc.Pipeline.Chunk)
}

func TestLoadSources(t *testing.T) {
	sources := loadFull(t).Pipeline.Sources
	strikes, ok := sources.Get("strikes")
	require.True(t, ok)
	require.Equal(t, &pipeline.CSVSource{
		Files: pipeline.Files{Path: "data/north-west/birdstrikes.csv", Compression: "gzip", Encoding: "utf-8", AllowEmpty: true}, Delimiter: ";",
		Quote: "'", Header: "exact", SkipLines: 2, Comment: "#", Newline: "auto", TrimSpace: true, EmptyIsNull: pointer(false), TrailingDelimiter: true,
	}, strikes.CSV)
	require.Equal(t, []string{"airport", "flight_date"}, strikes.Key)
	require.Equal(t, "rejected", strikes.OnInvalid)
	more, ok := sources.Get("more")
	require.True(t, ok)
	require.Equal(t, []string{"id", "the name"}, more.CSV.Columns)
	require.Equal(t, pipeline.ModeObserved, more.Schema.InForce())
	events, ok := sources.Get("events")
	require.True(t, ok)
	require.Equal(t, "data/*.jsonl.gz", events.JSONL.Path)
	nested, ok := sources.Get("nested")
	require.True(t, ok)
	require.Equal(t, &pipeline.JSONSource{Files: pipeline.Files{Path: "data/all.json.zip"}, Records: "data.items"}, nested.JSON)
}

func TestLoadSchemaKeepsTextsOfValues(t *testing.T) {
	strikes, _ := loadFull(t).Pipeline.Sources.Get("strikes")
	require.Equal(t, pipeline.ModeFixed, strikes.Schema.InForce())
	fields := strikes.Schema.Fields
	require.Equal(t, "airport", fields[0].Name, "in document order")
	require.Equal(t, pipeline.Field{
		Type: "string", From: "Airport Name", Min: pointer("1"), Max: pointer("80"), Pattern: "[A-Z].*",
	}, fields[0].Value)
	require.Equal(t, pipeline.Field{Type: "date", Min: pointer("2001-01-01"), Max: pointer("2026-12-31")}, fields[1].Value)
	require.Equal(t, pipeline.Field{Type: "string"}, fields[2].Value)
	require.Equal(t, pipeline.Field{Type: "string", Optional: true, Enum: []string{"Small", "no", "1.10"}}, fields[3].Value)
	require.Equal(t, pipeline.Field{Type: "int", Optional: true}, fields[5].Value)
	require.Equal(t, row.Int, fields[5].Value.Kind())
	require.True(t, fields[6].Value.Unique)
}

func TestLoadSteps(t *testing.T) {
	steps := loadFull(t).Pipeline.Steps
	require.Len(t, steps, 16)
	require.Equal(t, pipeline.Step{
		Name: "tidy", From: pipeline.Names{"strikes", "events"},
		Rename: pipeline.Map[string]{{Name: "species", Value: "kind"}, {Name: "Airport Name", Value: "airport"}},
	}, steps[0])
	require.Equal(t, pipeline.Map[string]{
		{Name: "severity", Value: "row.cost_total > 100000 ? 'major' : 'minor'"}, {Name: "rate", Value: "1.10"},
		{Name: "nothing", Value: "null"}, {Name: "flag", Value: "true"}, {Name: "template", Value: "'${name}'"},
	}, steps[1].Set)
	require.Equal(t, pipeline.Fail, steps[1].OnError)
	require.Equal(t, pipeline.Map[string]{{Name: "speed_ias", Value: "float"}}, steps[2].Cast)
	require.Equal(t, "row.flight_date >= param.since", steps[3].Filter)
	require.Equal(t, []string{"severity", "cost_total", "2019"}, steps[4].Select)
	require.Equal(t, []string{"2019"}, steps[5].Drop)
	require.Equal(t, "row.severity == 'major'", steps[6].Gate)
	require.Equal(t, pipeline.Map[string]{{Name: "true", Value: "review"}, {Name: "false", Value: "continue"}}, steps[6].Routes)
}

func TestLoadStepsOfManyRows(t *testing.T) {
	steps := loadFull(t).Pipeline.Steps[7:]
	require.Equal(t, &pipeline.Sample{Rate: "0.10", Seed: 7, By: []string{"airport"}}, steps[0].Sample)
	require.Equal(t, &pipeline.Deduplicate{Key: []string{"airport", "seen"}, Keep: "last"}, steps[1].Deduplicate)
	require.Equal(t, &pipeline.Expand{Field: "remarks", As: "remark", Split: "; ", Index: "nr"}, steps[2].Expand)
	require.Equal(t, &pipeline.Lookup{
		CSV:    &pipeline.CSVSource{Files: pipeline.Files{Path: "data/north-west/airports.csv"}},
		Schema: pipeline.Schema{Fields: pipeline.Map[pipeline.Field]{{Name: "code", Value: pipeline.Field{Type: "string"}}, {Name: "town", Value: pipeline.Field{Type: "string", Optional: true}}}},
		On:     pipeline.Map[string]{{Name: "airport", Value: "code"}}, Add: pipeline.Map[string]{{Name: "city", Value: "town"}}, Missing: "null",
	}, steps[3].Lookup)
	require.Equal(t, pipeline.Step{Name: "opinions", Fork: []string{"by_cost", "by_species"}}, steps[4])
	require.Equal(t, pipeline.Names{"by_cost"}, steps[5].From, "a text is a list of one")
	require.Equal(t, pipeline.Step{
		Name: "decide", Coalesce: pipeline.Map[string]{{Name: "by_cost", Value: "cost_view"}, {Name: "by_species", Value: "by_species"}},
		Policy: pipeline.Policy{Word: pipeline.Quorum, Quorum: 2}, Merge: pipeline.Merge{Word: pipeline.Union},
		Collision: "first", Timeout: pipeline.Duration(90 * time.Minute),
	}, steps[6])
	require.Equal(t, pipeline.Step{
		Name: "by_kind", Aggregate: &pipeline.Aggregate{
			GroupBy: []string{"kind"}, Compute: pipeline.Map[string]{{Name: "n", Value: "count()"}, {Name: "cost", Value: "sum(row.cost_total)"}},
			Mode: "transform", ExpectRows: 12,
		},
		Trigger: &pipeline.Trigger{Rows: 1000, Over: "step", After: pipeline.Duration(48 * time.Hour), When: "batch.n > 100"},
	}, steps[7])
	require.Equal(t, &pipeline.Sort{By: pipeline.Map[string]{{Name: "cost", Value: "desc"}, {Name: "kind", Value: "asc"}}, Top: 3, GroupBy: []string{"kind"}}, steps[8].Sort)
}

func TestLoadPoliciesAndMerges(t *testing.T) {
	for text, want := range map[string]pipeline.Step{
		"":                                  {},
		"policy: best_effort":               {Policy: pipeline.Policy{Word: pipeline.BestEffort}},
		"policy: require_all":               {Policy: pipeline.Policy{Word: pipeline.RequireAll}},
		"policy: first, merge: nested":      {Policy: pipeline.Policy{Word: pipeline.First}, Merge: pipeline.Merge{Word: pipeline.Nested}},
		"policy: {quorum: 1}":               {Policy: pipeline.Policy{Word: pipeline.Quorum, Quorum: 1}},
		"merge: {select: b}, timeout: 1d2h": {Merge: pipeline.Merge{Word: pipeline.SelectBranch, Select: "b"}, Timeout: pipeline.Duration(26 * time.Hour)},
	} {
		want.Name, want.Coalesce = "c", pipeline.Map[string]{{Name: "b", Value: "b"}}
		doc, err := loadSmall(small + "steps: [{name: c, coalesce: {b: b}, " + text + "}]\n")
		require.NoError(t, err)
		require.Equal(t, want, doc.Pipeline.Steps[0])
	}
}

func TestLoadSinks(t *testing.T) {
	sinks := loadFull(t).Pipeline.Sinks
	require.Equal(t, pipeline.Named[pipeline.Sink]{Name: "review", Value: pipeline.Sink{From: pipeline.Names{"triage"}, Disclose: []string{"severity"}, CSV: &pipeline.CSVSink{
		FileTarget: pipeline.FileTarget{Path: "out/review.csv", Parts: true, Overwrite: true},
		Columns:    []string{"severity", "cost_total"}, Delimiter: "tab", Formulas: "escape", CRLF: true,
	}}}, sinks[0])
	require.Equal(t, "out/all.jsonl", sinks[1].Value.JSONL.Path)
	require.Equal(t, "out/north-west/rejected.jsonl", sinks[2].Value.JSONL.Path)
}

func TestLoadConcurrency(t *testing.T) {
	doc := loadFull(t).Pipeline
	require.Equal(t, &pipeline.Concurrency{
		Runs: 2, Key: "west", WhenFull: "queue", Queue: pipeline.RunQueue{Max: 100, Wait: pipeline.Duration(6 * time.Hour)}, Priority: 1,
	}, doc.Concurrency)
	require.Equal(t, pipeline.Map[int]{{Name: "db-prod", Value: 1}, {Name: "llm", Value: 2}}, doc.Pools)
}

func TestLoadPolicies(t *testing.T) {
	policies := loadFull(t).Pipeline.Policies
	require.Equal(t, []pipeline.RunPolicy{
		{Name: "few refused", Assert: "run.refused * 100 < run.read", Gate: pipeline.GatePublish},
		{Name: "as many as ever", Assert: "run.read > 0.5 * last(20).run.read", Gate: pipeline.GateWarn},
	}, policies)
	require.Equal(t, pipeline.GatePublish, pipeline.RunPolicy{}.InForce(), "a policy that does not say it is the strictest")
}

func TestLoadTotals(t *testing.T) {
	require.Equal(t, pipeline.Map[string]{{Name: "amount", Value: "row.amount"}, {Name: "tax", Value: "row.amount * 19"}}, loadFull(t).Pipeline.Totals)
}

func TestLoadSchedules(t *testing.T) {
	require.Equal(t, pipeline.Map[pipeline.Schedule]{
		{Name: "nightly", Value: pipeline.Schedule{
			Every: pipeline.Every{Word: "day"}, At: "02:00", Zone: "Europe/Berlin", Covers: "-2d..-1d", Except: []string{"2026-12-25", "2026-12-26"},
			Jitter: pipeline.Duration(5 * time.Minute), Params: pipeline.Map[string]{{Name: "region", Value: "east"}, {Name: "rows", Value: "100"}},
			Overlap: "skip", After: "previous", Retry: pipeline.ScheduledRetry{Times: 2, Wait: pipeline.Duration(15 * time.Minute)}, PauseAfter: 3,
			CatchUp: pipeline.CatchUp{Slots: "last", Within: pipeline.Duration(72 * time.Hour), AtOnce: 2, Order: "newest"}, Promise: pipeline.Promise{By: "06:00"},
		}},
		{Name: "weekdays", Value: pipeline.Schedule{
			Every: pipeline.Every{Cron: "0 2 * * MON-FRI"}, Zone: "America/Sao_Paulo", Params: pipeline.Map[string]{{Name: "rows", Value: "1"}},
			Promise: pipeline.Promise{Within: pipeline.Duration(4 * time.Hour)},
		}},
		{Name: "often", Value: pipeline.Schedule{
			Every: pipeline.Every{Days: []string{"mon", "thu"}}, Params: pipeline.Map[string]{{Name: "rows", Value: "1"}},
			ForEach: pipeline.Map[pipeline.Each]{{Name: "airport", Value: pipeline.Each{File: "airports.csv", Field: "code"}}},
		}},
	}, loadFull(t).Pipeline.Schedules)
}

// accepted are correct documents with something unusual in them.
var accepted = map[string]string{
	"BI-082 a date for a text":        small + "description: 2001-01-01\n",
	"BI-090 a byte order mark":        "\ufeff" + small,
	"CRLF line ends":                  strings.ReplaceAll(small, "\n", "\r\n"),
	"document marks":                  "# first\n---\n" + small + "...\n",
	"a bool in quotes":                small + "description: \"true\"\n",
	"a word that was a bool once":     small + "description: yes\n",
	"an integer for a text":           small + "description: 2019\n",
	"a reference in a value":          small + "description: ${AGAIN}\n",
	"BI-100 a value that is YAML":     small + "description: ${EVIL}\n",
	"a literal reference":             small + "description: costs $5 and $${NAME}\n",
	"a key with a literal reference":  small + "steps: [{name: a, set: {'$${x}': \"1\"}}]\n",
	"a timestamp":                     small + "params: {p: {type: timestamp, default: 2001-01-01T00:00:00Z}}\n",
	"a text of several lines":         small + "steps:\n- name: a\n  filter: |\n    row.x > 1 &&\n    row.y < 2\n",
	"an expression that is a literal": small + "steps: [{name: a, filter: true}]\n",
	"a whole parameter":               small + "chunk: {rows: \"${param:p}\"}\nparams: {p: {type: int, default: 7}}\n",
	"a reference for a word": "name: x\nsources: {in: {csv: {path: a, compression: \"${param:c}\"}}}\nsinks: {out: {csv: {path: b}}}\n" +
		"params: {c: {type: string, default: gzip}}\n",
	"several origins of rows":                small + "steps: [{name: a, from: [in, b], filter: x}, {name: c, from: in, fork: [b]}]\n",
	"one branch":                             small + "steps: [{name: f, fork: [b]}, {name: c, coalesce: {b: b}, policy: {quorum: 1}, merge: {select: b}}]\n",
	"a whole parameter for a time":           small + "params: {p: {type: string, default: 1d12h}}\nsteps: [{name: c, coalesce: {b: b}, timeout: \"${param:p}\"}]\n",
	"a lookup of lines":                      small + "steps: [{name: l, lookup: {jsonl: {path: t}, on: {a: b}, add: {c: d}}}]\n",
	"a share that is written without quotes": small + "steps: [{name: s, sample: {rate: 0.1}}]\n",
	"a batch for each value":                 small + "steps: [{name: a, aggregate: {compute: {n: count()}}, trigger: {after: 1ms}}]\n",
	"a name that is a number":                "name: x\nsources: {\"1\": {csv: {path: a}}}\nsinks: {out: {csv: {path: b}, from: 1}}\n",
	"a schedule in quarters of an hour":      small + "schedules: {often: {every: 15m, covers: since last}}\n",
	"a schedule without quotes":              small + "schedules: {nightly: {every: day, at: 12:30, zone: UTC, covers: day before}}\n",
	"no quoting, commented":                  "name: x\nsources: {in: {csv: {path: a, delimiter: tab, quote: none, comment: \"#\"}}}\nsinks: {out: {csv: {path: b}}}\n",
}

func TestLoadAccepts(t *testing.T) {
	for name, text := range accepted {
		t.Run(name, func(t *testing.T) {
			_, err := loadSmall(text)
			require.NoError(t, err)
		})
	}
}

func TestLoadReadsBlocksAndFoldedTexts(t *testing.T) {
	doc, err := loadSmall(small + "description: >-\n  one\n  two\nsteps:\n- name: a\n  filter: |\n    row.x > 1 &&\n    row.y < 2\n- name: b\n  filter: row.x\n    > 3\n")
	require.NoError(t, err)
	require.Equal(t, "one two", doc.Pipeline.Description)
	require.Equal(t, "row.x > 1 &&\nrow.y < 2\n", doc.Pipeline.Steps[0].Filter)
	require.Equal(t, "row.x > 3", doc.Pipeline.Steps[1].Filter)
	doc, err = loadSmall(small + "description: >\n  no line end\n  at the end")
	require.NoError(t, err)
	require.Equal(t, "no line end at the end\n", doc.Pipeline.Description)
}
