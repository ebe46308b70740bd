package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/worker/formats"
)

// compile compiles a document whose source reads in.csv or in.jsonl of the folder.
func compile(t testing.TB, folder, document string) *plan.Plan {
	t.Helper()
	loaded, err := pipeline.Load("test.yaml", []byte(document), pipeline.Environment{})
	require.NoError(t, err)
	root, err := file.NewRoot(folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	compiled, err := plan.Compile(loaded, formats.Formats{Files: file.Access{Root: root}})
	require.NoError(t, err)
	return compiled
}

// read reads the plan's source into one chunk.
func read(t testing.TB, p *plan.Plan) *plugin.Chunk {
	t.Helper()
	source := p.Nodes[p.Sources()[0]].Source
	pin, err := source.Stat(context.Background())
	require.NoError(t, err)
	reader, err := source.Open(context.Background(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Close()) }()
	chunk := new(plugin.Chunk)
	require.NoError(t, reader.Next(context.Background(), plugin.Limits{Rows: 1 << 20, Bytes: 1 << 28}, chunk))
	return chunk
}

// run sends the input, the content of in.csv, through the document.
func run(t testing.TB, document, input string) (*plan.Plan, *plugin.Chunk, *engine.Result) {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(input), 0o600))
	p := compile(t, folder, document)
	chunk := read(t, p)
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	result, err := runner.Run(begin(p, chunk))
	require.NoError(t, err)
	return p, chunk, result
}

// begin is the beginning of a pass over a chunk of the plan's first source.
func begin(p *plan.Plan, chunk *plugin.Chunk) engine.Input {
	return engine.Input{Origin: p.Sources()[0], Chunk: chunk}
}

// output returns what a sink gets, without a header.
func output(p *plan.Plan, result *engine.Result, sink string) string {
	return string(result.Parts[p.Find(sink)].Data)
}

// routes returns the way of each record's token in the root lane as text.
func routes(p *plan.Plan, result *engine.Result) []string {
	return laneRoutes(p, result.Lanes[0])
}

// laneRoutes returns the way of each record's token in a lane as text, "" if it has none.
func laneRoutes(p *plan.Plan, lane engine.LaneRoutes) []string {
	texts := make([]string, len(lane.Codes))
	for i, code := range lane.Codes {
		if code == engine.NoToken {
			continue
		}
		way := lane.Ways[code]
		var steps []string
		for _, step := range way.Steps[way.First:] {
			name := p.Nodes[step.Node].Name
			if step.Label != "" {
				name += "=" + step.Label
			}
			steps = append(steps, name)
		}
		texts[i] = strings.Join(steps, ">") + " " + string(way.Path) + " " + way.SentTo
	}
	return texts
}

// allRoutes returns the ways of all tokens, by the name of the lane.
func allRoutes(p *plan.Plan, result *engine.Result) map[string][]string {
	all := map[string][]string{}
	for _, lane := range result.Lanes {
		all[p.Lanes[lane.Lane].Name] = laneRoutes(p, lane)
	}
	return all
}

const head = `
name: test
sources:
  in:
    csv: {path: in.csv}
    schema:
      fields: {id: int, kind: string, amount: "int?"}
`

func TestEveryWayOfALinearGraph(t *testing.T) {
	p, _, result := run(t, head+`
steps:
  - {name: keep, filter: "row.kind != 'skip'"}
  - {name: double, set: {twice: row.amount * 2}}
  - name: triage
    gate: row.twice > 100
    routes: {"true": big, "false": continue}
  - name: last
    gate: row.kind
    routes: {a: continue, b: discard, default: big}
sinks:
  big: {jsonl: {path: out/big.jsonl}}
  all: {csv: {path: out/all.csv}, from: last}
`, "id,kind,amount\n1,a,10\n2,skip,1\n3,a,\n4,a,99\n5,b,1\n6,z,1\nx,a,1\n7,a,1,1\n")
	require.Equal(t, []string{
		"in>keep>double>triage=false>last=a>all default_flow all",
		"in>keep filter_dropped ",
		"in>keep>double on_error_routed __quarantine__",
		"in>keep>double>triage=true>big gate_routed big",
		"in>keep>double>triage=false>last=b gate_discarded ",
		"in>keep>double>triage=false>last=default>big gate_routed big",
		"in quarantined_at_source __quarantine__",
		"in quarantined_at_source __quarantine__",
	}, routes(p, result))
	require.Equal(t, "1,a,10,20\n", output(p, result, "all"))
	require.Equal(t, `{"id":4,"kind":"a","amount":99,"twice":198}`+"\n"+`{"id":6,"kind":"z","amount":1,"twice":2}`+"\n", output(p, result, "big"))
	require.Len(t, result.Rejected, 3)
	require.Equal(t, "NULL_OPERAND", result.Rejected[0].Code)
	require.Equal(t, "twice", result.Rejected[0].Field)
	total := 0
	for _, way := range result.Lanes[0].Ways {
		total += way.Rows
	}
	require.Equal(t, 8, total, "every record took exactly one way")
}

func TestUnroutedLabelRejectsRow(t *testing.T) {
	p, _, result := run(t, head+`
steps:
  - {name: sort, gate: row.kind, routes: {a: all}}
sinks:
  all: {csv: {path: out/all.csv}}
`, "id,kind,amount\n1,a,1\n2,b,2\n")
	require.Equal(t, []string{"in>sort=a>all gate_routed all", "in>sort unrouted __quarantine__"}, routes(p, result))
	require.Equal(t, `no route for the label "b"`, result.Rejected[0].Message)
}

func TestRefusedRowsGoToASinkWithTheirRawRecord(t *testing.T) {
	p, _, result := run(t, `
name: test
sources:
  in:
    csv: {path: in.csv}
    schema: {fields: {id: int, name: string}}
    on_invalid: bad
steps:
  - {name: check, set: {inverse: 10 / row.id}, on_error: bad}
sinks:
  bad: {jsonl: {path: out/bad.jsonl}}
  good: {csv: {path: out/good.csv}, from: check}
`, "id,name\n5,five\n0,zero\nx,\xff\n")
	require.Equal(t, []string{
		"in>check>good default_flow good",
		"in>check on_error_routed bad",
		"in on_error_routed bad",
	}, routes(p, result))
	lines := strings.Split(strings.TrimSpace(output(p, result, "bad")), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `"source":"in","file":"in.csv","row":2,"line":3,"node":"check","code":"DIVISION_BY_ZERO"`)
	require.Contains(t, lines[0], `"raw":"0,zero","raw_base64":null`)
	require.Contains(t, lines[1], `"raw":null,"raw_base64":"eCz/"`)
}

func TestFailPolicyStopsAtTheRow(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id,kind,amount\n1,a,1\nx,b,2\n"), 0o600))
	p := compile(t, folder, strings.Replace(head, "    schema:", "    on_invalid: fail\n    schema:", 1)+"sinks: {all: {csv: {path: out/all.csv}}}\n")
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	_, err = runner.Run(begin(p, read(t, p)))
	var failed *engine.FailedError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "in", failed.Node)
	require.EqualValues(t, 2, failed.Row)
	require.EqualValues(t, 3, failed.Line)
}

func TestTransformsChangeFieldsAndHashes(t *testing.T) {
	p, _, result := run(t, head+`
steps:
  - {name: rename, rename: {kind: sort}}
  - {name: cast, cast: {id: string}}
  - {name: drop, drop: [amount]}
  - {name: select, select: [sort, id]}
sinks:
  all: {jsonl: {path: out/all.jsonl}}
`, "id,kind,amount\n1,a,\n")
	require.Equal(t, `{"sort":"a","id":"1"}`+"\n", output(p, result, "all"))
	var nodes []string
	seen := map[string]bool{}
	for _, column := range result.Columns {
		nodes = append(nodes, p.Nodes[column.Node].Name)
		seen[string(column.Hashes)] = true
	}
	require.Equal(t, []string{"in", "rename", "cast", "drop", "select"}, nodes)
	require.Len(t, seen, 4, "select only changes the order of fields, which the canonical form does not have")
}

func TestColumnsHaveASlotForEveryRecord(t *testing.T) {
	p, chunk, result := run(t, head+`
steps:
  - {name: rare, filter: row.id == 2}
  - {name: mark, set: {rare: "true"}}
sinks:
  all: {jsonl: {path: out/all.jsonl}}
`, "id,kind,amount\n1,a,1\n2,a,1\n3,a,1\n")
	column := result.Columns[len(result.Columns)-1]
	require.Equal(t, p.Find("mark"), column.Node)
	require.Len(t, column.Hashes, 32*chunk.Len())
	var none [32]byte
	require.Equal(t, none[:], column.Hashes[:32])
	require.NotEqual(t, none[:], column.Hashes[32:64])
	require.Equal(t, none[:], column.Hashes[64:])
}

func TestTheSameChunkGivesTheSameResult(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id,kind,amount\n1,a,1\nx\n2,b,\n"), 0o600))
	p := compile(t, folder, head+"steps: [{name: s, set: {n: row.amount + 1}}]\nsinks: {all: {jsonl: {path: out/all.jsonl}}}\n")
	chunk := read(t, p)
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	first, err := runner.Run(begin(p, chunk))
	require.NoError(t, err)
	again, err := runner.Run(begin(p, chunk))
	require.NoError(t, err)
	require.Equal(t, first.Lanes, again.Lanes)
	require.Equal(t, first.Columns, again.Columns)
	require.Equal(t, first.Parts, again.Parts)
}

func TestDuplicatesAreRefusedWithTheEarlierRow(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id,n\n1,a\n2,b\n1,c\nx,d\n"), 0o600))
	p := compile(t, folder, `
name: test
sources:
  in: {csv: {path: in.csv}, schema: {fields: {id: {type: int, unique: true}, n: string}}}
sinks: {all: {jsonl: {path: out/all.jsonl}}}
`)
	chunk := read(t, p)
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	claims := engine.Claims(p)
	require.Equal(t, []engine.Claimed{{Node: "in", Field: "id"}}, claims)
	in := begin(p, chunk)
	values := heard(t, runner, in)
	require.Equal(t, []barrier.Token{{Row: 1}, {Row: 2}, {Row: 3}}, values.tokens)
	require.Equal(t, values.values[0], values.values[2])
	in.Firsts = engine.Duplicates{{Claim: 0, Token: barrier.Token{Row: 3}}: {Row: 1}}
	result, err := runner.Run(in)
	require.NoError(t, err)
	require.Equal(t, engine.CodeUnique, result.Rejected[0].Code)
	require.Equal(t, "row 1 has the same value", result.Rejected[0].Message)
	require.Equal(t, `{"id":1,"n":"a"}`+"\n"+`{"id":2,"n":"b"}`+"\n", output(p, result, "all"))
}

// asked is the values of which a pass asks which token is the first with them. Each token is.
type asked struct {
	tokens []barrier.Token
	values []engine.Value
}

func (a *asked) First(_ int, value engine.Value, token barrier.Token) (barrier.Token, error) {
	a.tokens, a.values = append(a.tokens, token), append(a.values, value)
	return token, nil
}

// heard returns what of a chunk must be unique.
func heard(t *testing.T, runner *engine.Runner, in engine.Input) asked {
	t.Helper()
	var values asked
	in.Firsts = &values
	require.NoError(t, runner.Claim(in))
	return values
}

func TestTraceTellsWhatRunDoes(t *testing.T) {
	p, chunk, result := run(t, head+`
steps:
  - {name: double, set: {twice: row.amount * 2}}
  - name: triage
    gate: row.twice > 100 || row.kind == 'b'
    routes: {"true": big, "false": discard}
sinks:
  big: {jsonl: {path: out/big.jsonl}}
`, "id,kind,amount\n1,a,1\n2,b,3\n")
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	story, err := runner.Trace(begin(p, chunk), 1)
	require.NoError(t, err)
	events := story.Events
	require.Len(t, story.Ways, 1)
	require.Equal(t, result.Lanes[0].Ways[result.Lanes[0].Codes[1]].Path, story.Ways[0].Path)
	require.Len(t, events, 4)
	require.Equal(t, "true", events[2].Label)
	require.Equal(t, output(p, result, "big"), string(events[3].Encoded))
	hash := events[1].Hash()
	require.Equal(t, result.Columns[1].Hashes[32:64], hash[:])
	parts := engine.Explain(&p.Nodes[events[2].Node], events[2].Before)
	require.NotEmpty(t, parts)
	require.Equal(t, "true", parts[0].Value)
}
