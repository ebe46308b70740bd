package landscape

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"waymark/landscape/seal"
)

// RedactionOrder is the number of the order by which rows and leaves of a redacted record were forgotten: none, for they are recorded.
const RedactionOrder = 0

// RedactedAlways says what stands in a redacted record in place of who did something, why, and where. A test asks of every column where it belongs.
var RedactedAlways = map[string]any{
	"runs.actor": "", "runs.host": "", "runs.base_dir": "", "runs.document_file": "", "runs.reason": "",
	"sources.info": "{}", "lookup_tables.path": "", "chunks.file": "", "effects.receipt": "{}",
	"effect_events.detail": "",
	"artifacts.path":       "", "artifacts.latest": "",
	"resumptions.actor": "", "resumptions.why": "", "resumptions.host": "",
	"executions.identity": "", "executions.principal": "", "executions.workflow": "", "executions.parent": "",
	"actions.actor": "", "actions.why": "", "run_events.detail": "", "policy_results.actor": "", "policy_results.detail": "",
}

// zeroed stands for a column of as many zeros.
type zeroed struct{}

// RedactedValues says what stands there in place of values of rows, and of hashes by which they could be guessed; nil is NULL.
var RedactedValues = map[string]any{
	"source_ends.digests": "[]", "chunks.pack": NoHash, "chunks.cursor": "{}", "chunk_rows.raw_hashes": zeroed{},
	"hashes.hashes": zeroed{}, "key_hashes.hashes": zeroed{},
	"errors.message": "", "errors.raw": []byte{}, "errors.error_hash": NoHash, "way_totals.amount": "0",
	"rejected_totals.amount": "0", "effects.sha256": NoHash, "folds.state": nil,
	"artifacts.sha256": NoHash, "policy_results.figures": "{}", "artifacts.schema": "", "effects.beyond": "", // keys may be data
}

// RedactedTables are left out of a redacted record: they are full of both, and no seal binds them.
var RedactedTables = []string{
	Start{}.Table(), SignOff{}.Table(), Attestation{}.Table(), ApprovalRequest{}.Table(), Approval{}.Table(),
	ApprovedExecution{}.Table(), Archive{}.Table(), ArchivedPayload{}.Table(),
}

// Redaction is what a redacted record of a run does not show.
type Redaction struct {
	Run     string
	Sources []string // whose rows are redacted, and barriers that made rows of them; sorted
	log     *Reader
	salts   []Salts
	leaves  []ForgottenLeaf // of records that are not shown whole
}

// Redact returns the record of a run that has ended, without the values of some sources' rows: of these, and of the rows that barriers made of them, it shows the way, the place,
// and the leaf in the tree of their chunk, as of rows that were forgotten by RedactionOrder. Nor does it show who did something, why and where: of records with that it has the
// leaf in the last seal as well. The salts are those from which no salt of such a leaf follows. So the seals hold for it. Nothing is stored.
//
// The error wraps ErrNotFound if the run has no such source. The Reader answers questions about this run alone.
func (r *Reader) Redact(ctx context.Context, run string, sources []string) (*Reader, *Redaction, error) {
	d := &Redaction{Run: run, log: r}
	var err error
	if d.Sources, err = r.madeOf(ctx, run, sources); err != nil {
		return nil, nil, err
	}
	err = d.puncture(ctx)
	return newReader(redacted{r.from, d}), d, err
}

// madeOf returns sources, and the barriers that get rows of them.
func (r *Reader) madeOf(ctx context.Context, run string, sources []string) ([]string, error) {
	origins, err := r.Sources(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		if !slices.ContainsFunc(origins, func(s Source) bool { return s.Source == source }) {
			var names []string
			for _, origin := range origins {
				names = append(names, origin.Source)
			}
			return nil, fmt.Errorf("source %s of run %s: %w: the run has %s", source, run, ErrNotFound, strings.Join(names, ", "))
		}
	}
	edges, err := Select[Edge](ctx, r.from, run)
	reached := slices.Clone(sources)
	for i := 0; i < len(reached); i++ {
		for _, e := range edges {
			if e.From == reached[i] && !slices.Contains(reached, e.To) {
				reached = append(reached, e.To)
			}
		}
	}
	made := []string{}
	for _, origin := range origins {
		if slices.Contains(reached, origin.Source) {
			made = append(made, origin.Source)
		}
	}
	slices.Sort(made)
	return made, err
}

func (d *Redaction) hides(source string) bool {
	_, found := slices.BinarySearch(d.Sources, source)
	return found
}

// Rows returns how many rows of each of the Sources are redacted, and how many records of the run are not shown whole.
func (d *Redaction) Rows(ctx context.Context) (rows []int64, records int, err error) {
	rows = make([]int64, len(d.Sources))
	err = each(ctx, d.log.from, []any{d.Run}, func(c chunkHead) bool {
		if i, found := slices.BinarySearch(d.Sources, c.Source); found {
			rows[i] += c.Rows
		}
		return true
	})
	if err == nil {
		err = each(ctx, d.log.from, []any{d.Run}, func(f Forgotten) bool { // those are not here by an order, and were not left out
			if i, found := slices.BinarySearch(d.Sources, f.Source); found {
				rows[i]--
			}
			return true
		})
	}
	for _, leaf := range d.leaves {
		if leaf.Order == RedactionOrder {
			records++
		}
	}
	return rows, records, err
}

// puncture collects the leaves of records that are not shown whole, and the salts without theirs.
func (d *Redaction) puncture(ctx context.Context) error {
	d.salts = []Salts{{Run: d.Run, Chunk: rootOfSalts, Keys: make([]byte, seal.KeyBytes)}}
	last, err := lastOf[RunSeal](ctx, d.log, d.Run)
	if err != nil {
		return err
	}
	if last != nil {
		if err := d.punctureRun(ctx, *last); err != nil {
			return err
		}
	}
	sealed, err := d.log.ChunkSeals(ctx, d.Run)
	for _, s := range sealed {
		own := Salts{Run: d.Run, Source: s.Source, Chunk: s.Chunk, Keys: []byte{}}
		if err == nil && !d.hides(s.Source) {
			var chunk Chunk
			var salts seal.Cover
			if chunk, err = d.log.Chunk(ctx, d.Run, ChunkKey{s.Source, s.Chunk}); err == nil {
				salts, err = d.log.ChunkSalts(ctx, chunk)
			}
			own.Keys = salts.Keys()
		}
		d.salts = append(d.salts, own)
	}
	return err
}

// punctureRun does so with the records that the last seal binds.
func (d *Redaction) punctureRun(ctx context.Context, last RunSeal) error {
	salts, err := d.log.RunSalts(ctx, d.Run, last.Seq)
	if err != nil {
		return err
	}
	if d.leaves, err = Select[ForgottenLeaf](ctx, d.log, d.Run, last.Seq); err != nil {
		return err
	}
	tree, cover, i := seal.NewRunTree(salts), salts.Cover, 0
	var line, shown []byte
	err = d.log.runRecords(ctx, d.Run, Tx{}, func(now, _ Record) bool {
		t := TableOf(now)
		line = t.AppendLine(line[:0], now)
		hash := tree.Add(line)
		shown = t.AppendLine(shown[:0], d.redact(now))
		if _, before := salts.Forgotten[i]; !before && !bytes.Equal(line, shown) {
			d.leaves = append(d.leaves, ForgottenLeaf{Run: d.Run, Seq: last.Seq, Leaf: int64(i), Hash: hash[:], Order: RedactionOrder})
			cover = cover.Without(i)
		}
		i++
		return true
	})
	slices.SortFunc(d.leaves, func(a, b ForgottenLeaf) int { return int(a.Leaf - b.Leaf) })
	d.salts = append(d.salts, Salts{Run: d.Run, Chunk: last.Seq, Keys: cover.Keys()})
	return err
}

// redact returns a record as it is shown.
func (d *Redaction) redact(r Record) Record {
	t := TableOf(r)
	values, changed := t.AppendValues(nil, r), false
	for i, c := range t.Columns {
		with, found := RedactedAlways[t.Name+"."+c.Name]
		if !found && d.hidesValues(t, values) {
			with, found = RedactedValues[t.Name+"."+c.Name]
		}
		if !found || values[i] == nil {
			continue
		}
		if _, is := with.(zeroed); is {
			with = make([]byte, len(values[i].([]byte)))
		}
		values[i], changed = with, true
	}
	if !changed {
		return r
	}
	shown, err := t.Record(values)
	if err != nil {
		panic(err) // a value of another type stands in the tables above
	}
	return shown
}

// hidesValues reports whether a record is about rows that are redacted: those of its source or, if it has none, any.
func (d *Redaction) hidesValues(t *Table, values []any) bool {
	origin := "source"
	if t.Name == (FoldRecord{}).Table() {
		origin = "node" // whose state it is
	}
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == origin })
	if i < 0 {
		return len(d.Sources) > 0
	}
	return d.hides(values[i].(string))
}

// redacted is the record of a run, redacted.
type redacted struct {
	source
	*Redaction
}

func (s redacted) Read(ctx context.Context, kind Record, q Query, yield func(Record) bool) error {
	switch table := kind.Table(); {
	case slices.Contains(RedactedTables, table):
		return nil
	case table == (Salts{}).Table():
		return yieldOf(kind, s.salts, q, yield)
	case table == (ForgottenLeaf{}).Table():
		return yieldOf(kind, s.leaves, q, yield)
	case table == (Forgotten{}).Table():
		return s.readForgotten(ctx, kind, q, yield)
	}
	return s.source.Read(ctx, kind, q, func(r Record) bool { return yield(s.redact(r)) })
}

// yieldOf calls yield with those of some sorted records that a query selects by a prefix of their keys.
func yieldOf[T Record](kind Record, records []T, q Query, yield func(Record) bool) error {
	var zero T
	whole, asked := TableOf(kind), TableOf(zero)
	if whole != asked || q.After != nil || q.Descending || q.Limit > 1 {
		return fmt.Errorf("a redacted record does not answer this question about %s", asked.Name)
	}
	var values []any
	for _, r := range records {
		values = whole.AppendValues(values[:0], r)
		if CompareKeys(values[:len(q.Prefix)], q.Prefix) == 0 && (!yield(r) || q.Limit == 1) {
			return nil
		}
	}
	return nil
}

// readForgotten yields the rows that were forgotten by order, and those that are redacted.
func (s redacted) readForgotten(ctx context.Context, kind Record, q Query, yield func(Record) bool) error {
	chunks, err := Select[ChunkRef](ctx, s.log, q.Prefix[:min(len(q.Prefix), 3)]...)
	for _, ref := range chunks {
		if err != nil {
			return err
		}
		var rows []Forgotten
		if rows, err = s.forgottenOf(ctx, ref); err != nil {
			return err
		}
		more := true
		if err := yieldOf(kind, rows, q, func(r Record) bool { more = yield(r); return more }); err != nil || !more {
			return err
		}
	}
	return err
}

// forgottenOf returns those of one chunk.
func (s redacted) forgottenOf(ctx context.Context, ref ChunkRef) ([]Forgotten, error) {
	chunk, err := s.log.Chunk(ctx, ref.Run, ChunkKey{ref.Source, ref.Chunk})
	if err != nil {
		return nil, err
	}
	before, err := s.log.Forgotten(ctx, ref.Run, chunk.Key())
	if err != nil || !s.hides(ref.Source) {
		return before, err
	}
	leaves, err := s.leavesOf(ctx, chunk)
	if err != nil {
		return nil, err
	}
	rows := make([]Forgotten, chunk.Rows)
	for i := range rows {
		rows[i] = Forgotten{Run: chunk.Run, Source: chunk.Source, Chunk: chunk.Chunk, Slot: int64(i), Row: chunk.FirstRow + int64(i), Order: RedactionOrder}
		if leaves != nil {
			rows[i].Leaf = leaves[i][:]
		}
	}
	for _, row := range before {
		rows[row.Slot] = row
	}
	return rows, nil
}

// leavesOf returns the leaves of a chunk's rows; nil if nothing sealed it.
func (s redacted) leavesOf(ctx context.Context, chunk Chunk) ([]seal.Hash, error) {
	sealed, err := Select[ChunkSeal](ctx, s.log, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil || sealed == nil || s.salts == nil {
		return nil, err
	}
	rows, err := s.log.SealedRows(ctx, chunk)
	if err != nil {
		return nil, err
	}
	salts, err := s.log.ChunkSalts(ctx, chunk)
	return rows.Leaves(salts), err
}
