package audit

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/plugin"
)

// Trial says what another plan makes of the source records of a run that is complete. Nothing of it is recorded or written.
type Trial struct {
	Run       string        `json:"run"`
	Rows      int64         `json:"rows"`                // that were tried
	Forgotten int64         `json:"forgotten,omitempty"` // rows that are not tried, because they were forgotten
	Flipped   int64         `json:"flipped"`             // of them, those that go another way
	Refused   int64         `json:"refused"`             // of those, the ones that passed before
	Ends      []Ends        `json:"ends"`                // by where rows ended and where they would, each pair once; empty, not nil, if there is none
	Flips     []Flip        `json:"flips"`               // the most frequent first; empty, not nil, if there is none
	Values    []OtherValues `json:"values"`              // by sink, in the order of the plan; empty, not nil, if there is none
	Stops     string        `json:"stops,omitempty"`
	Left      string        `json:"left_out,omitempty"` // why the run was not tried; then nothing else is known
}

// Same reports whether the run was tried, and nothing of it would be another way.
func (t *Trial) Same() bool {
	return t.Flipped+t.Refused == 0 && len(t.Values) == 0 && t.Stops == "" && t.Left == ""
}

// Flip is rows that end elsewhere by the other plan.
type Flip struct {
	From     string   `json:"from"` // such as large (filter_dropped): what ends differently of the row, by node or sink
	To       string   `json:"to"`
	Rows     int64    `json:"rows"`
	Examples []string `json:"examples"` // tokens of the run, at most maxExamples
}

// OtherValues is rows that go the same way by the other plan, and are others in a sink.
type OtherValues struct {
	Sink     string   `json:"sink"`
	Rows     int64    `json:"rows"`
	Examples []string `json:"examples"` // tokens of the run, at most maxExamples
}

// maxExamples bounds how many tokens are named of rows that have something in common.
const maxExamples = 2

// Triable says why no run can be tried with a plan; nil if runs can: what becomes of a row must depend on nothing but the row.
func Triable(p *plan.Plan) error {
	for i := range p.Nodes {
		if p.Nodes[i].Barrier {
			return fmt.Errorf("in step %s rows wait for each other, and that cannot be tried yet", p.Nodes[i].Name)
		}
	}
	if claims := engine.Claims(p); len(claims) > 0 {
		return fmt.Errorf("%s compares rows with earlier ones, and that cannot be tried yet", claims[0].Node)
	}
	return nil
}

// Try sends the stored source records of a run through its own plan and through another one, and compares what becomes of each. The error is about the
// landscape or the payload store; what keeps a run from being tried is in the Trial.
func (a *Auditor) Try(ctx context.Context, run landscape.Run, next *plan.Plan) (Trial, error) {
	t := &trying{
		next: next, trial: Trial{Run: run.ID, Ends: []Ends{}, Flips: []Flip{}, Values: []OtherValues{}},
		ends: map[[2]string]int64{}, flips: map[[2]string]*Flip{}, values: map[string]*OtherValues{},
	}
	var problem string
	var err error
	if t.was, problem, err = a.plan(ctx, run); err != nil {
		return t.trial, err
	}
	if problem == "" {
		problem = t.prepare()
	}
	if problem != "" {
		return NotTried(run.ID, problem), nil
	}
	for _, source := range t.was.Sources() {
		for record, err := range a.log.Chunks(ctx, run.ID, t.was.Nodes[source].Name) {
			if err == nil {
				err = a.tryChunk(ctx, t, record)
			}
			if stopped, ok := errors.AsType[*engine.FailedError](err); ok {
				t.trial.Stops = stopped.Error()
				return t.result(), nil
			}
			if stopped, ok := errors.AsType[*stopError](err); ok {
				t.trial.Stops = stopped.Error()
				return t.result(), nil
			}
			if errors.Is(err, payload.ErrNotFound) {
				return NotTried(run.ID, fmt.Sprintf("its records are not stored any more: %v", err)), nil
			}
			if err != nil {
				return t.trial, err
			}
		}
	}
	return t.result(), nil
}

// NotTried is the Trial of a run that was left out.
func NotTried(run, why string) Trial {
	return Trial{Run: run, Ends: []Ends{}, Flips: []Flip{}, Values: []OtherValues{}, Left: why}
}

// trying is a trial that is under way.
type trying struct {
	was, next *plan.Plan
	wasThere  *engine.Runner
	nextThere *engine.Runner
	trial     Trial
	ends      map[[2]string]int64 // by where rows ended, and where they would
	flips     map[[2]string]*Flip
	values    map[string]*OtherValues
	sinks     []string // of the other plan
}

// prepare says why the plans cannot be compared; nothing if they can.
func (t *trying) prepare() string {
	for _, source := range t.was.Sources() {
		if at := t.next.Find(t.was.Nodes[source].Name); at == plan.None || t.next.Nodes[at].Kind != plan.Source {
			return fmt.Sprintf("the run has the source %s, and the version has none of this name", t.was.Nodes[source].Name)
		}
	}
	if err := Triable(t.was); err != nil {
		return err.Error()
	}
	var before, after error
	t.wasThere, before = engine.NewRunner(t.was)
	t.nextThere, after = engine.NewRunner(t.next)
	if err := errors.Join(before, after); err != nil {
		return err.Error()
	}
	for _, sink := range t.next.Sinks() {
		t.sinks = append(t.sinks, t.next.Nodes[sink].Name)
	}
	return ""
}

// tryChunk compares what becomes of the records of a chunk: of all at once, and one by one if that differs.
func (a *Auditor) tryChunk(ctx context.Context, t *trying, record landscape.Chunk) error {
	in, err := recompute.Others(ctx, a.log, a.payloads, t.was, record)
	if err != nil {
		return err
	}
	was, next, err := t.run(in, record.Source)
	if err != nil {
		return err
	}
	t.trial.Rows += int64(in.Chunk.Len() - len(in.Without))
	t.trial.Forgotten += int64(len(in.Without))
	if t.sameWays(was, next, in.Chunk.Len()) && len(t.otherSinks(was, next)) == 0 {
		t.countSame(endsOf(t.was, was), in)
		return nil
	}
	for i := range in.Chunk.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if in.Without[i] {
			continue
		}
		was, next, err := t.run(only(in, i), record.Source)
		if err != nil {
			return err
		}
		t.compare(tokenAt(record, 0, i), was, next)
	}
	return nil
}

// run sends records through both plans.
func (t *trying) run(in engine.Input, source string) (was, next *engine.Result, err error) {
	in.Hashes = &engine.Hashes{} // of which none is made
	in.Origin = t.was.Find(source)
	if was, err = t.wasThere.Run(in); err != nil {
		return nil, nil, fmt.Errorf("by the run's own plan: %w", err)
	}
	in.Origin = t.next.Find(source)
	next, err = t.nextThere.Run(in)
	if fault, is := errors.AsType[*plugin.SourceError](err); is { // such as another header than the version declares
		err = &stopError{fault}
	}
	return was, next, err
}

// stopError says why a run of the other plan would stop.
type stopError struct{ error }

// only is the input with nothing but its i-th record, which is one of a source.
func only(in engine.Input, i int) engine.Input {
	chunk := *in.Chunk
	chunk.Offsets, chunk.Lengths, chunk.Cells = chunk.Offsets[i:i+1], chunk.Lengths[i:i+1], plugin.Cells{}
	chunk.FirstRow += int64(i)
	if chunk.Lines == nil {
		chunk.FirstLine += int64(i)
	} else {
		chunk.Lines = chunk.Lines[i : i+1]
	}
	chunk.Bad = nil
	for _, bad := range in.Chunk.Bad {
		if bad.Index == i {
			bad.Index = 0
			chunk.Bad = []plugin.BadRecord{bad}
		}
	}
	return engine.Input{Chunk: &chunk}
}

// sameWays reports whether each record ends in both results alike.
func (t *trying) sameWays(was, next *engine.Result, rows int) bool {
	before, after := endsOf(t.was, was), endsOf(t.next, next)
	for i := range rows {
		if !slices.Equal(before.of(i), after.of(i)) {
			return false
		}
	}
	return true
}

// countSame counts rows that end where they ended.
func (t *trying) countSame(e ends, in engine.Input) {
	counts := map[string]int64{} // by the codes of a row in all lanes
	first := map[string]int{}    // a row that has them
	var codes []byte
	for i := range in.Chunk.Len() {
		if in.Without[i] {
			continue
		}
		codes = codes[:0]
		for _, lane := range e.lanes {
			codes = binary.BigEndian.AppendUint16(codes, lane.Codes[i])
		}
		if counts[string(codes)]++; counts[string(codes)] == 1 {
			first[string(codes)] = i
		}
	}
	for codes, n := range counts {
		end := Together(e.of(first[codes]))
		t.ends[[2]string{end, end}] += n
	}
}

// ends says where the tokens of records end: for each lane and way, by node or sink.
type ends struct {
	lanes []engine.LaneRoutes
	names [][]string
}

func endsOf(p *plan.Plan, result *engine.Result) ends {
	e := ends{lanes: result.Lanes}
	for _, lane := range result.Lanes {
		var names []string
		for _, way := range lane.Ways {
			named := recompute.WayOf(p, lane.Lane, way)
			at := named.Last()
			if named.ToSink() {
				at = named.Sink
			}
			names = append(names, EndName(at, named.Path))
		}
		e.names = append(e.names, names)
	}
	return e
}

// of returns where the tokens of record i end, in the order of the names.
func (e ends) of(i int) (names []string) {
	for k, lane := range e.lanes {
		if code := lane.Codes[i]; code != engine.NoToken && e.names[k][code] != "" {
			names = append(names, e.names[k][code])
		}
	}
	slices.Sort(names)
	return names
}

// otherSinks returns the sinks of both plans that get other bytes.
func (t *trying) otherSinks(was, next *engine.Result) (other []string) {
	for _, name := range t.sinks {
		before := t.was.Find(name)
		if before != plan.None && was.Parts[before].SHA256 != next.Parts[t.next.Find(name)].SHA256 {
			other = append(other, name)
		}
	}
	return other
}

// compare notes what differs of one record.
func (t *trying) compare(token landscape.Token, was, next *engine.Result) {
	name := fmt.Sprintf("%s:%d", token.Source, token.Row)
	before, after := endsOf(t.was, was).of(0), endsOf(t.next, next).of(0)
	t.ends[[2]string{Together(before), Together(after)}]++
	if !slices.Equal(before, after) {
		t.trial.Flipped++
		if !refused(before) && refused(after) {
			t.trial.Refused++
		}
		key := [2]string{besides(before, after), besides(after, before)}
		if t.flips[key] == nil {
			t.flips[key] = &Flip{From: key[0], To: key[1], Examples: []string{}}
		}
		flip := t.flips[key]
		flip.Rows++
		flip.Examples = example(flip.Examples, name)
		return
	}
	for _, sink := range t.otherSinks(was, next) {
		if t.values[sink] == nil {
			t.values[sink] = &OtherValues{Sink: sink, Examples: []string{}}
		}
		t.values[sink].Rows++
		t.values[sink].Examples = example(t.values[sink].Examples, name)
	}
}

// refused reports whether a token of a record was refused.
func refused(ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool {
		_, path, _ := strings.Cut(end, "(")
		return pipeline.Path(strings.TrimSuffix(path, ")")).Outcome() == pipeline.Failure
	})
}

// besides says which ends are not among the others, each as often as it is there.
func besides(ends, others []string) string {
	left := slices.Clone(others)
	var rest []string
	for _, end := range ends {
		if at := slices.Index(left, end); at >= 0 {
			left = slices.Delete(left, at, at+1)
			continue
		}
		rest = append(rest, end)
	}
	return Together(rest)
}

func example(examples []string, token string) []string {
	if len(examples) < maxExamples {
		examples = append(examples, token)
	}
	return examples
}

// result returns what was found.
func (t *trying) result() Trial {
	for _, pair := range slices.SortedFunc(maps.Keys(t.ends), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		t.trial.Ends = append(t.trial.Ends, Ends{pair[0], pair[1], t.ends[pair]})
	}
	for _, key := range slices.SortedFunc(maps.Keys(t.flips), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(t.flips[b].Rows, t.flips[a].Rows), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}) {
		t.trial.Flips = append(t.trial.Flips, *t.flips[key])
	}
	for _, sink := range t.sinks {
		if values := t.values[sink]; values != nil {
			t.trial.Values = append(t.trial.Values, *values)
		}
	}
	return t.trial
}
