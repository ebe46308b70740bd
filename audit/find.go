package audit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// maxListed is how many rows an ambiguous key lists.
const maxListed = 20

// find returns the token that the question means.
func (a *Auditor) find(ctx context.Context, run landscape.Run, q Question) (landscape.Token, error) {
	switch {
	case q.Sink != "":
		if err := a.hasSink(ctx, run.ID, q.Sink); err != nil {
			return landscape.Token{}, err
		}
		return a.log.SinkLine(ctx, run.ID, q.Sink, q.Line)
	case q.Token != "":
		word, _, _ := strings.Cut(q.Token, "@") // lists of errors name TOKEN@NODE
		token, err := a.log.ParseToken(ctx, run.ID, word)
		if err != nil && !errors.Is(err, landscape.ErrNotFound) {
			return token, &QuestionError{Message: err.Error()}
		}
		return token, err
	}
	origin, err := a.origin(ctx, run.ID, q.Source)
	if err != nil {
		return landscape.Token{}, err
	}
	row := q.Row
	if len(q.Key) > 0 {
		found, err := a.findKey(ctx, run, origin, q.Key)
		if err != nil {
			return landscape.Token{}, err
		}
		row = found.Row
	}
	return a.log.RootToken(ctx, run.ID, origin, row)
}

// findKey looks the key up by its hashes and then compares the values of the rows that these lead to.
func (a *Auditor) findKey(ctx context.Context, run landscape.Run, source string, key map[string]string) (Token, error) {
	compiled, problem, err := a.plan(ctx, run)
	if err != nil {
		return Token{}, err
	}
	if problem != "" {
		return Token{}, fmt.Errorf("a key can only be looked up with the run's plan: %s", problem)
	}
	node := &compiled.Nodes[compiled.Find(source)]
	wanted, err := typedKey(node, key)
	if err != nil {
		return Token{}, err
	}
	candidates, unkeyed, err := a.candidates(ctx, run.ID, source, wanted)
	if err != nil {
		return Token{}, err
	}
	read, err := a.searchUnkeyed(ctx, node, unkeyed, wanted)
	if err != nil {
		return Token{}, err
	}
	return a.only(ctx, run, node, slices.Concat(candidates, read.rows), wanted)
}

// candidates returns the rows of a source whose business key may have these values, by the prefixes of their hashes, and the chunks without such hashes.
func (a *Auditor) candidates(ctx context.Context, run, source string, wanted wantedKey) ([]int64, []landscape.Chunk, error) {
	hashes := map[string][][4]byte{}
	for field, values := range wanted {
		for _, value := range values {
			sum := sha256.Sum256(row.AppendValue(nil, value))
			hashes[field] = append(hashes[field], [4]byte(sum[:4]))
		}
	}
	return a.log.KeyCandidates(ctx, run, source, hashes)
}

// wantedKey is the business key that is looked for: of each field what it may be, by row.Value.Key.
type wantedKey map[string][]row.Value

// typedKey reads the key's texts as the fields of the source's business key.
func typedKey(node *plan.Node, key map[string]string) (wantedKey, error) {
	wanted := wantedKey{}
	for _, field := range slices.Sorted(maps.Keys(key)) {
		if !slices.Contains(node.Key, field) {
			return nil, &QuestionError{Message: fmt.Sprintf("%q is not part of the key of source %s: %s", field, node.Name, keyOf(node))}
		}
		values, err := keyValues(node, field, key[field])
		if err != nil {
			return nil, &QuestionError{Message: fmt.Sprintf("key %s: %v", field, err)}
		}
		wanted[field] = values
	}
	return wanted, nil
}

func keyOf(node *plan.Node) string {
	if len(node.Key) == 0 {
		return "it has none; declare one with `key: [field, …]`, or ask with --row"
	}
	return "its key is " + strings.Join(node.Key, ", ")
}

// keyValues returns what a text means in a field of a key: of one that is not declared, as a text, and as a value of each kind
// that it can be, because its kind is known only where a row is read.
func keyValues(node *plan.Node, field, text string) ([]row.Value, error) {
	for _, declared := range node.Out.Fields {
		if declared.Name == field {
			value, err := row.Parse(declared.Kind, text)
			return []row.Value{value.Key()}, err
		}
	}
	values := []row.Value{row.StringValue(text)}
	for _, kind := range []row.Kind{row.Date, row.Timestamp, row.JSON} {
		if value, err := row.Parse(kind, text); err == nil && !strings.HasPrefix(text, `"`) && !value.Key().IsNull() {
			values = append(values, value.Key())
		}
	}
	return values, nil
}

// only returns the one candidate whose values are those that are wanted.
func (a *Auditor) only(
	ctx context.Context, run landscape.Run, node *plan.Node, candidates []int64, wanted wantedKey,
) (Token, error) {
	var found []Token
	for _, number := range candidates {
		fits, err := a.fits(ctx, run.ID, node, number, wanted)
		if err != nil {
			return Token{}, err
		}
		if fits {
			found = append(found, Token{node.Name, number})
		}
		if len(found) > maxListed {
			return Token{}, &AmbiguousError{Tokens: found[:maxListed], More: true}
		}
	}
	switch len(found) {
	case 0:
		return Token{}, a.noSuchKey(ctx, run, node.Name)
	case 1:
		return found[0], nil
	}
	return Token{}, &AmbiguousError{Tokens: found}
}

// noSuchKey says that no row has the key, and where else the row may be if the run failed or the source rejected some.
func (a *Auditor) noSuchKey(ctx context.Context, run landscape.Run, source string) error {
	rejected, err := a.log.RowErrorKeys(ctx, run.ID, source)
	if err != nil {
		return err
	}
	hint := ""
	if run.Status == pipeline.Failed {
		hint = "; the run failed, perhaps before it read the row: see waymark runs"
	}
	if slices.ContainsFunc(rejected, func(r landscape.RowErrorKey) bool { return r.Node == source }) {
		hint += "; rows that the source refused have none: see waymark errors"
	}
	return &noKeyError{fmt.Sprintf("no row of source %s has this key%s", source, hint)}
}

// noKeyError wraps landscape.ErrNotFound.
type noKeyError struct{ message string }

func (e *noKeyError) Error() string { return e.message }

func (e *noKeyError) Unwrap() error { return landscape.ErrNotFound }

func (a *Auditor) fits(ctx context.Context, run string, node *plan.Node, number int64, wanted wantedKey) (bool, error) {
	record, err := a.log.ChunkOf(ctx, run, node.Name, number)
	if err != nil {
		return false, err
	}
	in, err := recompute.Record(ctx, a.log, a.payloads, nil, record, int(number-record.FirstRow))
	if err != nil {
		return false, err
	}
	parser, err := node.Source.Parser(in.Chunk.Context)
	if err != nil {
		return false, err
	}
	parsed, err := parser.Parse(string(in.Chunk.Record(0)), nil)
	if _, rejected := errors.AsType[*plugin.Rejection](err); rejected {
		return false, nil // such a row has no key
	}
	return err == nil && has(parsed, wanted), err
}

// has reports whether a row has one of the values in each field.
func has(parsed row.Row, wanted wantedKey) bool {
	for field, values := range wanted {
		if have, ok := parsed.Get(field); !ok || !slices.Contains(values, have.Key()) {
			return false
		}
	}
	return true
}

// unkeyedRows are rows of chunks that were read and did not go through the steps, so nothing but their records says what they are.
type unkeyedRows struct {
	rows    []int64 // that have the values
	refused []int64 // that their source refuses
	purged  int64   // whose records were purged, or are missing
}

// searchUnkeyed looks through the records of chunks that have no hashes of keys. Forgotten rows are none of these.
func (a *Auditor) searchUnkeyed(ctx context.Context, node *plan.Node, chunks []landscape.Chunk, wanted wantedKey) (found unkeyedRows, err error) {
	for _, chunk := range chunks {
		forgotten, err := a.log.Forgotten(ctx, chunk.Run, chunk.Key())
		if err != nil {
			return found, err
		}
		in, err := recompute.Stored(ctx, a.log, a.payloads, nil, chunk)
		switch {
		case errors.Is(err, payload.ErrPurged) || errors.Is(err, payload.ErrNotFound):
			found.purged += chunk.Rows - int64(len(forgotten))
			continue
		case err != nil:
			return found, err
		}
		if err := found.search(node, in.Chunk, forgotten, wanted); err != nil {
			return found, err
		}
	}
	return found, nil
}

// search looks through the records of one chunk.
func (u *unkeyedRows) search(node *plan.Node, chunk *plugin.Chunk, forgotten []landscape.Forgotten, wanted wantedKey) error {
	parser, err := node.Source.Parser(chunk.Context)
	if err != nil {
		return err
	}
	for i := range chunk.Len() {
		if slices.ContainsFunc(forgotten, func(f landscape.Forgotten) bool { return f.Slot == int64(i) }) {
			continue
		}
		parsed, err := parser.Parse(string(chunk.Record(i)), nil)
		_, rejected := errors.AsType[*plugin.Rejection](err)
		switch {
		case rejected || slices.ContainsFunc(chunk.Bad, func(bad plugin.BadRecord) bool { return bad.Index == i }):
			u.refused = append(u.refused, chunk.FirstRow+int64(i))
		case err != nil:
			return err
		case has(parsed, wanted):
			u.rows = append(u.rows, chunk.FirstRow+int64(i))
		}
	}
	return nil
}
