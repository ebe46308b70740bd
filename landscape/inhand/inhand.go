// Package inhand answers from memory what a process asks about a run that it began and has recorded alone so far. A
// small run asks more often what it has just recorded than it records anything.
//
// What is in hand is the record of a run as this process wrote it, from the transaction that began the run. Another
// process may have recorded something since then. So every decision ends in a commit, and the database compares: a
// record that is there already, a move from another state, another epoch, and a seal over other records than there are,
// all come to light. Then the run is put down, and the database answers.
//
// An answer about a run that has ended would ask for the same records several times, too. With Remember it asks once.
package inhand

import (
	"bytes"
	"context"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"waymark/landscape"
)

// Limits of what is in hand: a run beyond the second is put down.
const (
	mostRuns  = 256
	mostBytes = 256 << 10
)

// own are the tables of which the records of a run come from the activities of the run alone while it is running.
var own = tables(
	landscape.Run{}, landscape.Execution{}, landscape.Start{}, landscape.Node{}, landscape.Edge{}, landscape.Source{},
	landscape.Lane{}, landscape.LookupTable{},
	landscape.PolicyRecord{}, landscape.PolicyResult{}, landscape.Salts{}, landscape.SourceEnd{}, landscape.Chunk{},
	landscape.ChunkRowsRecord{}, landscape.PassageRecord{}, landscape.WayRecord{}, landscape.WayStepRecord{},
	landscape.ChunkWayRecord{}, landscape.WayTotalRecord{}, landscape.HashesRecord{}, landscape.RowError{},
	landscape.KeyHashes{}, landscape.RepeatsRecord{}, landscape.FieldRootsRecord{}, landscape.FeedRecord{},
	landscape.FoldRecord{}, landscape.MergeKindRecord{}, landscape.MergeCodes{}, landscape.ChunkMerge{},
	landscape.BatchRecord{}, landscape.MembersRecord{}, landscape.MergeRecord{}, landscape.ParentsRecord{},
	landscape.ChunkSeal{}, landscape.Effect{}, landscape.EffectEvent{}, landscape.RejectedTotal{},
	landscape.ArtifactRecord{}, landscape.RunSeal{}, landscape.Archive{},
)

// tables returns the tables of records, with all columns, by name.
func tables(records ...landscape.Record) map[string]*landscape.Table {
	byName := map[string]*landscape.Table{}
	for _, r := range records {
		byName[r.Table()] = landscape.TableOf(r)
	}
	return byName
}

// Driver is another driver, with the runs that are in hand. It is safe for concurrent use.
type Driver struct {
	landscape.Driver

	mu   sync.Mutex
	runs *lru.Cache[string, *hand]
}

// hand is the record of a run.
type hand struct {
	tables map[string][][]any // values of all columns, by key
	bytes  int
}

// New returns a driver over another one. Nothing is in hand.
func New(driver landscape.Driver) *Driver {
	runs, err := lru.New[string, *hand](mostRuns)
	if err != nil {
		panic(err) // only of a size that makes no sense
	}
	return &Driver{Driver: driver, runs: runs}
}

// Release puts a run down: from now on others may record something of it. It may not be in hand.
func (d *Driver) Release(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs.Remove(run)
}

// Unwrap returns the driver that stores the records.
func (d *Driver) Unwrap() landscape.Driver { return d.Driver }

// Read does what landscape.Driver says.
func (d *Driver) Read(
	ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool,
) error {
	of := landscape.TableOf(kind)
	if found, ok := d.find(of, q); ok {
		return tell(of, found, yield)
	}
	if m, ok := ctx.Value(memoryKey{}).(*memory); ok {
		return m.read(ctx, d.Driver, kind, q, yield)
	}
	return d.Driver.Read(ctx, kind, q, yield)
}

// find returns what a query selects; false if that is about no run in hand.
func (d *Driver) find(of *landscape.Table, q landscape.Query) (found [][]any, ok bool) {
	full := own[of.Name]
	if full == nil || len(q.Prefix) == 0 || of.Columns[0].Name != runColumn {
		return nil, false
	}
	run, _ := q.Prefix[0].(string)
	d.mu.Lock()
	defer d.mu.Unlock()
	held, ok := d.runs.Get(run)
	if !ok {
		return nil, false
	}
	at := places(of, full)
	for _, values := range held.tables[of.Name] {
		if selects(q, values, at) {
			found = append(found, pick(values, at))
		}
	}
	slices.SortFunc(found, func(a, b []any) int { return inOrder(q, a[:of.Keys], b[:of.Keys]) })
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	return found, true
}

const runColumn = "run_id"

// places returns where the columns of a table are among those of full, which has all.
func places(of, full *landscape.Table) []int {
	at := make([]int, len(of.Columns))
	for i, c := range of.Columns {
		at[i] = slices.IndexFunc(full.Columns, func(f landscape.Column) bool { return f.Name == c.Name })
	}
	return at
}

// selects reports whether a query selects the record with these values, whatever its limit is.
func selects(q landscape.Query, values []any, at []int) bool {
	for i, want := range q.Prefix {
		if landscape.CompareValues(values[at[i]], portable(want)) != 0 {
			return false
		}
	}
	for i, bound := range q.After {
		value := values[at[len(q.Prefix)+i]]
		if c := inOrder(q, []any{value}, []any{portable(bound)}); c != 0 {
			return c > 0
		}
	}
	return len(q.After) == 0
}

// inOrder compares two keys in the order of a query.
func inOrder(q landscape.Query, a, b []any) int {
	if q.Descending {
		a, b = b, a
	}
	return landscape.CompareKeys(a, b)
}

// pick returns some of the values. The bytes in them are the caller's.
func pick(values []any, at []int) []any {
	picked := make([]any, len(at))
	for i, place := range at {
		picked[i] = values[place]
		if b, ok := picked[i].([]byte); ok {
			picked[i] = bytes.Clone(b)
		}
	}
	return picked
}

// portable returns a value as a database gives it back.
func portable(value any) any {
	if text, ok := value.(string); ok {
		return landscape.PortableText(text)
	}
	return value
}

// Commit does what landscape.Driver says. A run that it begins is in hand afterwards; so is one that was in hand, if
// all of the transaction was new.
func (d *Driver) Commit(ctx context.Context, tx landscape.Tx) error {
	if group, ok := ctx.Value(groupKey{}).(*Group); ok && joint(tx) {
		return group.commit(ctx, tx, d.commit)
	}
	return d.commit(ctx, tx)
}

func (d *Driver) commit(ctx context.Context, tx landscape.Tx) error {
	var repeats bool
	tx.Repeats = &repeats
	err := d.Driver.Commit(ctx, tx)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, run := range d.touched(tx) {
		if err != nil || repeats || !d.note(run, tx) {
			d.runs.Remove(run)
		}
	}
	return err
}

// touched returns those of the runs in hand that a transaction is about, and those that it begins. One with a guard is
// about the guard's run.
func (d *Driver) touched(tx landscape.Tx) (runs []string) {
	for _, r := range tx.Insert {
		if begun, ok := r.(landscape.Run); ok {
			runs = append(runs, begun.ID)
		}
	}
	switch {
	case d.runs.Len() == 0:
		return runs
	case tx.Guard != nil:
		if d.runs.Contains(tx.Guard.Run) && !slices.Contains(runs, tx.Guard.Run) {
			runs = append(runs, tx.Guard.Run)
		}
		return runs
	}
	for _, run := range d.runs.Keys() {
		if !slices.Contains(runs, run) && isAbout(tx, run) {
			runs = append(runs, run)
		}
	}
	return runs
}

// isAbout reports whether a transaction changes what of a run may be in hand.
func isAbout(tx landscape.Tx, run string) bool {
	about := func(r landscape.Record) bool {
		t := own[r.Table()]
		return t != nil && landscape.TableOf(r).AppendValues(nil, r)[0] == run
	}
	return tx.Remove == run || slices.ContainsFunc(tx.Insert, about) ||
		slices.ContainsFunc(tx.Move, func(m landscape.Move) bool { return about(m.To) })
}

// note takes into the hand what a transaction stored of a run. It reports whether the run is in hand then: one that
// holds too much is not.
func (d *Driver) note(run string, tx landscape.Tx) bool {
	if tx.Remove != "" {
		return false
	}
	held, ok := d.runs.Get(run)
	if !ok {
		if !begins(run, tx) {
			return false
		}
		held = &hand{tables: map[string][][]any{}}
		d.runs.Add(run, held)
	}
	for _, r := range tx.Insert {
		held.insert(run, r)
	}
	for _, m := range tx.Move {
		if start, is := m.To.(landscape.Start); is && start.Seq == 0 && held.tables[start.Table()] == nil {
			held.insert(run, start) // the run begins: it is its only start
		}
		if !held.move(run, m) {
			return false
		}
	}
	if tx.Seal != nil {
		held.insert(run, tx.Seal.RunSeal)
	}
	return held.bytes <= mostBytes
}

// begins reports whether a transaction begins a run.
func begins(run string, tx landscape.Tx) bool {
	return slices.ContainsFunc(tx.Insert, func(r landscape.Record) bool {
		begun, ok := r.(landscape.Run)
		return ok && begun.ID == run
	})
}

// insert takes a record of the run.
func (h *hand) insert(run string, r landscape.Record) {
	full := own[r.Table()]
	if full == nil {
		return
	}
	values := full.AppendValues(nil, r)
	if values[0] != run {
		return
	}
	h.bytes += keep(values)
	h.tables[full.Name] = append(h.tables[full.Name], values)
}

// keep makes values what a database would give back, and the hand's own. It returns how many bytes they take.
func keep(values []any) (size int) {
	const overhead = 64
	for i, value := range values {
		switch value := portable(value).(type) {
		case []byte:
			values[i] = bytes.Clone(value)
			size += len(value)
		case string:
			values[i] = value
			size += len(value)
		}
	}
	return size + overhead
}

// move changes a record as a compare-and-set did. It reports whether the hand is what the database has then.
func (h *hand) move(run string, m landscape.Move) bool {
	of := landscape.TableOf(m.To)
	full := own[of.Name]
	if full == nil {
		return true
	}
	to := of.AppendValues(nil, m.To)
	if to[0] != run {
		return true
	}
	keep(to)
	at := places(of, full)
	for _, values := range h.tables[of.Name] {
		if landscape.CompareKeys(pick(values, at)[:of.Keys], to[:of.Keys]) != 0 {
			continue
		}
		for i, c := range of.Columns {
			if c.Move {
				values[at[i]] = to[i]
			}
		}
		return true
	}
	return false
}
