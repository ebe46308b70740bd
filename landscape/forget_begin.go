package landscape

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"waymark/landscape/seal"
)

// UnforgettableError says why the rows of a run cannot be forgotten. Nothing was stored.
type UnforgettableError struct {
	Run    string
	Open   bool // it is running, or can be resumed
	Broken bool // its records are not those that its seals bind
	Why    string
}

// Error names the run and the reason.
func (e *UnforgettableError) Error() string { return fmt.Sprintf("run %s: %s", e.Run, e.Why) }

// BeginForgetting records an order to forget rows in one transaction: the order, the runs whose payloads it may replace, the rows with their leaves, and the rows
// that it deletes in targets; and destroys the salts of these leaves. From then on the rows are forgotten, and what is left of them can be blanked and deleted by any process that finds
// the order. The rows must be of runs that have ended, cannot be resumed, and fit their seals, else the error is an *UnforgettableError; it wraps
// ErrInUse if a hold protects one of the runs. It wraps ErrKeyless if the log would not know it, and is a *NeedsOrderError if one
// person may not.
func (l *Log) BeginForgetting(ctx context.Context, order Purge, runs []string, rows []RowKey, erasures ...Erasure) (Purge, error) {
	if err := cmp.Or(l.keyless(ctx), l.MayOrder(ctx, OrderForget)); err != nil {
		return order, err
	}
	order.Rules = ForgetRules
	err := settle(order.Table(), func() error {
		f, err := l.forgetting(ctx, order, runs, rows)
		if err != nil {
			return err
		}
		order = f.tx.Insert[0].(Purge) //nolint:forcetypeassert // it is the first
		for _, e := range erasures {
			e.Order = order.ID
			f.tx.Insert = append(f.tx.Insert, e)
		}
		if err := l.executed(ctx, &f.tx, &order.ID); err != nil {
			return err
		}
		return l.driver.Commit(ctx, f.tx)
	})
	return order, err
}

// MayForget fails as BeginForgetting would now, but for the key of this process and whether it executes an approval request. It stores nothing.
func (l *Log) MayForget(ctx context.Context, order Purge, runs []string, rows []RowKey) error {
	if err := l.MayOrder(ctx, OrderForget); err != nil {
		return err
	}
	_, err := l.forgetting(ctx, order, runs, rows)
	return err
}

// forgetting makes the transaction that begins an order, without what it deletes in targets.
func (l *Log) forgetting(ctx context.Context, order Purge, runs []string, rows []RowKey) (*forgetting, error) {
	order, err := l.numbered(ctx, order)
	if err != nil {
		return nil, err
	}
	f := &forgetting{Log: l, order: order.ID, tx: Tx{Insert: []Record{order}}}
	for _, run := range runs {
		if err := f.cover(ctx, run); err != nil {
			return nil, err
		}
	}
	for run, of := range byRun(rows) {
		if err := f.run(ctx, run, of); err != nil {
			return nil, fmt.Errorf("run %s: %w", run, err)
		}
	}
	return f, nil
}

// byRun groups rows; runs are sorted.
func byRun(rows []RowKey) func(yield func(string, []RowKey) bool) {
	of := map[string][]RowKey{}
	for _, row := range rows {
		of[row.Run] = append(of[row.Run], row)
	}
	return func(yield func(string, []RowKey) bool) {
		for _, run := range slices.Sorted(maps.Keys(of)) {
			if !yield(run, of[run]) {
				return
			}
		}
	}
}

// forgetting is the transaction that begins an order.
type forgetting struct {
	*Log
	order int64
	tx    Tx
}

// cover lets the order replace payloads of a run.
func (f *forgetting) cover(ctx context.Context, id string) error {
	head, err := get[RunHead](ctx, f, id)
	if err != nil {
		return err
	}
	if _, ok := head.ended(); !ok {
		return &UnforgettableError{Run: id, Open: true, Why: fmt.Sprintf("it is %s: rows can be forgotten once it has ended and cannot be resumed", head.Status)}
	}
	for _, class := range Classes {
		f.tx.Insert = append(f.tx.Insert, PurgedRun{Purge: f.order, Run: id, Class: class, Epoch: head.Epoch, Due: head.Finished})
	}
	return nil
}

// ended returns when a run ended that cannot be resumed.
func (h RunHead) ended() (Micros, bool) {
	return h.Finished, h.Status.Complete() || h.Final
}

// run adds the rows of one run, and destroys their salts.
func (f *forgetting) run(ctx context.Context, id string, rows []RowKey) error {
	chunks, err := f.chunksOf(ctx, id, rows)
	if err != nil {
		return err
	}
	slots := map[ChunkKey][]int{}
	for _, chunk := range chunks {
		forgotten, err := f.chunk(ctx, chunk, rows)
		if err != nil {
			return err
		}
		for _, row := range forgotten {
			slots[chunk.Key()] = append(slots[chunk.Key()], int(row.Slot))
			f.tx.Insert = append(f.tx.Insert, row)
		}
	}
	tails := map[ChunkKey]bool{}
	for at := range slots {
		found, err := f.tails(ctx, id, at)
		if err != nil {
			return err
		}
		for _, chunk := range found {
			tails[chunk.Key()] = true
		}
	}
	leaves, last, err := f.runLeaves(ctx, id, rows, tails)
	if err != nil {
		return err
	}
	return f.puncture(ctx, id, slots, last, leaves)
}

// chunksOf returns the chunks with the rows, by source and number.
func (f *forgetting) chunksOf(ctx context.Context, id string, rows []RowKey) (chunks []Chunk, err error) {
	seen := map[ChunkKey]bool{}
	for _, row := range rows {
		chunk, err := f.ChunkOf(ctx, id, row.Source, row.Row)
		if err != nil {
			return nil, err
		}
		if !seen[chunk.Key()] {
			seen[chunk.Key()] = true
			chunks = append(chunks, chunk)
		}
	}
	slices.SortFunc(chunks, func(a, b Chunk) int { return a.Key().Compare(b.Key()) })
	return chunks, nil
}

// chunk returns the records of the rows of a chunk, with their leaves if the chunk is sealed.
func (f *forgetting) chunk(ctx context.Context, chunk Chunk, rows []RowKey) (forgotten []Forgotten, err error) {
	sealed, err := Select[ChunkSeal](ctx, f, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return nil, err
	}
	leaf := func(int) []byte { return nil }
	if sealed != nil {
		if leaf, err = f.leavesOf(ctx, chunk, sealed[0]); err != nil {
			return nil, err
		}
	}
	for _, row := range rows {
		if slot := row.Row - chunk.FirstRow; row.Source == chunk.Source && slot >= 0 && slot < chunk.Rows {
			forgotten = append(forgotten, Forgotten{
				Run: chunk.Run, Source: chunk.Source, Chunk: chunk.Chunk, Slot: slot, Row: row.Row, Leaf: leaf(int(slot)), Order: f.order,
			})
		}
	}
	slices.SortFunc(forgotten, func(a, b Forgotten) int { return cmp.Compare(a.Slot, b.Slot) })
	return forgotten, nil
}

// leavesOf returns the leaves of the rows of a chunk whose records fit its seal.
func (f *forgetting) leavesOf(ctx context.Context, chunk Chunk, sealed ChunkSeal) (leaf func(int) []byte, err error) {
	if err := f.checkChunkSeal(ctx, sealed); err != nil {
		return nil, f.broken(chunk.Run, err)
	}
	rows, err := f.SealedRows(ctx, chunk)
	if err != nil {
		return nil, err
	}
	salts, err := f.ChunkSalts(ctx, chunk)
	return func(slot int) []byte { hash := rows.Leaf(salts, slot); return hash[:] }, err
}

// broken refuses a run whose record was changed: nobody could distinguish what is forgotten from what was changed.
func (*forgetting) broken(run string, err error) error {
	if errors.Is(err, ErrSealBroken) {
		err = &UnforgettableError{Run: run, Broken: true, Why: err.Error()}
	}
	return err
}

// runLeaves returns which leaves of the last seal are records that will be blanked, errors of the rows and chunks, and records their hashes.
func (f *forgetting) runLeaves(ctx context.Context, id string, rows []RowKey, tails map[ChunkKey]bool) (leaves []int, last *RunSeal, err error) {
	if last, err = lastOf[RunSeal](ctx, f, id); err != nil || last == nil {
		return nil, last, err
	}
	salts, err := f.RunSalts(ctx, id, last.Seq)
	if err != nil {
		return nil, last, err
	}
	known, err := Select[ForgottenLeaf](ctx, f, id, last.Seq) // of orders that wait, such as for a target, also chunks that this one concerns
	if err != nil {
		return nil, last, err
	}
	tree, i := seal.NewRunTree(salts), 0
	var line []byte
	err = f.runRecords(ctx, id, Tx{}, func(now, _ Record) bool {
		line = TableOf(now).AppendLine(line[:0], now)
		hash := tree.Add(line)
		e, isError := now.(RowError)
		chunk, isChunk := now.(Chunk)
		forgotten := isError && slices.Contains(rows, RowKey{id, e.Source, e.Row}) || isChunk && tails[chunk.Key()]
		if forgotten && !slices.ContainsFunc(known, func(l ForgottenLeaf) bool { return l.Leaf == int64(i) }) {
			leaves = append(leaves, i)
			f.tx.Insert = append(f.tx.Insert, ForgottenLeaf{Run: id, Seq: last.Seq, Leaf: int64(i), Hash: hash[:], Order: f.order})
		}
		i++
		return true
	})
	if root := tree.Root(); err == nil && !bytes.Equal(root[:], last.Root) {
		err = &UnforgettableError{Run: id, Broken: true, Why: fmt.Sprintf("its records are not those that its seal %d binds", last.Seq)}
	}
	return leaves, last, err
}

// puncture gives each chunk, and the seals that count, keys of their own, without the salts of what is forgotten; and the run another root.
func (f *forgetting) puncture(ctx context.Context, id string, slots map[ChunkKey][]int, last *RunSeal, late []int) error {
	root, err := get[Salts](ctx, f, id, "", int64(rootOfSalts))
	if err != nil {
		return err
	}
	sealed, err := f.ChunkSeals(ctx, id)
	if err != nil {
		return err
	}
	for _, s := range sealed {
		chunk, err := f.Chunk(ctx, id, ChunkKey{s.Source, s.Chunk})
		if err != nil {
			return err
		}
		salts, err := f.ChunkSalts(ctx, chunk)
		if err == nil {
			err = f.keep(ctx, Salts{Run: id, Source: s.Source, Chunk: s.Chunk}, salts, slots[chunk.Key()])
		}
		if err != nil {
			return err
		}
	}
	next := int64(0)
	if last != nil {
		next = last.Seq + 1
		salts, err := f.RunSalts(ctx, id, last.Seq)
		if err == nil {
			err = f.keep(ctx, Salts{Run: id, Chunk: last.Seq}, salts.Cover, late)
		}
		if err != nil {
			return err
		}
	}
	salts, err := f.RunSalts(ctx, id, next) // of a seal that may be made at this moment
	if err == nil {
		err = f.keep(ctx, Salts{Run: id, Chunk: next}, salts.Cover, nil)
	}
	key, other := seal.NewKey(), root
	other.Keys = key[:]
	f.tx.Move = append(f.tx.Move, Move{From: root, To: other})
	return err
}

// keep stores keys without the salts of some leaves.
func (f *forgetting) keep(ctx context.Context, as Salts, salts seal.Cover, without []int) error {
	stored, err := Select[Salts](ctx, f, as.Run, as.Source, as.Chunk)
	if err != nil {
		return err
	}
	for _, leaf := range without {
		salts = salts.Without(leaf)
	}
	as.Keys = salts.Keys()
	switch {
	case stored == nil:
		f.tx.Insert = append(f.tx.Insert, as)
	case !bytes.Equal(stored[0].Keys, as.Keys):
		f.tx.Move = append(f.tx.Move, Move{From: stored[0], To: as})
	}
	return nil
}
