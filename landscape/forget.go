package landscape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// Forgotten is a row of which nothing may be kept that tells its values. Its way, its place and its leaf stay. It is recorded before anything is
// blanked, so the process that finishes an order knows which rows it is about.
type Forgotten struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Slot   int64  `db:"slot,key"` // of the row in the chunk, from 0
	Row    int64  `db:"row"`
	Leaf   []byte `db:"leaf,null"` // in the tree of its chunk; nil if nothing sealed that
	Order  int64  `db:"purge_id"`
}

// ForgottenLeaf is the leaf of a record of a forgotten row in one of the seals of its run.
type ForgottenLeaf struct {
	Run   string `db:"run_id,key"`
	Seq   int64  `db:"seq,key"`  // of the seal
	Leaf  int64  `db:"leaf,key"` // from 0
	Hash  []byte `db:"hash"`
	Order int64  `db:"purge_id"`
}

// Repacked says that a payload was deleted because a record in it was forgotten, and which payload holds the other records.
type Repacked struct {
	Payload     string `db:"payload,key"`
	Number      int64  `db:"number,key"` // of its deletion
	Replacement string `db:"replacement"`
}

// Forgetting says that an order to forget was carried out.
type Forgetting struct {
	Order       int64  `db:"purge_id,key"`
	Rows        int64  `db:"rows"`
	Certificate string `db:"certificate,first"` // a text that says what was deleted and what was not; signed if the process has a sealer's key
	At          Micros `db:"at_us"`
}

// Table returns forgotten.
func (Forgotten) Table() string { return "forgotten" }

// Table returns forgotten_leaves.
func (ForgottenLeaf) Table() string { return "forgotten_leaves" }

// Table returns repacked.
func (Repacked) Table() string { return "repacked" }

// Table returns forgettings.
func (Forgetting) Table() string { return "forgettings" }

// ErrForgotten says that a row was forgotten by order.
var ErrForgotten = errors.New("the row was forgotten")

// ChunkKey returns the key of the row's chunk within its run.
func (f Forgotten) ChunkKey() ChunkKey { return ChunkKey{Source: f.Source, Chunk: f.Chunk} }

// In reports whether the row is one of a chunk.
func (f Forgotten) In(chunk Chunk) bool { return f.Run == chunk.Run && f.ChunkKey() == chunk.Key() }

// ForgetRules are the rules of an order to forget: no period, but rows that are named.
const ForgetRules = `{"forget":true}`

// Forgets reports whether the order is to forget rows, and not to delete what is due.
func (p Purge) Forgets() bool { return p.Rules == ForgetRules }

// RowKey is a row of a source or barrier.
type RowKey struct {
	Run    string `json:"run"`
	Source string `json:"source"`
	Row    int64  `json:"row"`
}

// Compare orders rows by run, source and number.
func (k RowKey) Compare(other RowKey) int {
	return cmp.Or(strings.Compare(k.Run, other.Run), strings.Compare(k.Source, other.Source), cmp.Compare(k.Row, other.Row))
}

// String names the row.
func (k RowKey) String() string { return fmt.Sprintf("%s:%d of run %s", k.Source, k.Row, k.Run) }

// Descent is what came of rows in one run.
type Descent struct {
	Rows     []RowKey     // of barriers, that were made of these rows and of nothing else; sorted
	Mixed    []string     // tokens of barriers' rows that were made of other rows as well
	Barriers []string     // that took something of these rows, by name
	Lines    []OutputLine // of outputs
}

// OutputLine is a line of what a sink published.
type OutputLine struct {
	Sink   string `json:"sink"`
	Output string `json:"output"`
	Line   int64  `json:"line"` // from 1, not counting a header; 0 if the sink did not confirm it
}

// Forgotten returns the forgotten rows of a chunk, in order; nil if there are none.
func (r *Reader) Forgotten(ctx context.Context, run string, at ChunkKey) ([]Forgotten, error) {
	return Select[Forgotten](ctx, r.from, run, at.Source, at.Chunk)
}

// ForgottenBy returns the rows that an order forgets, in order.
func (r *Reader) ForgottenBy(ctx context.Context, order int64) (rows []Forgotten, err error) {
	err = each(ctx, r.from, nil, func(f Forgotten) bool {
		if f.Order == order {
			rows = append(rows, f)
		}
		return true
	})
	return rows, err
}

// ForgottenIn returns how many rows of a run were forgotten.
func (r *Reader) ForgottenIn(ctx context.Context, run string) (rows int64, err error) {
	err = each(ctx, r.from, []any{run}, func(Forgotten) bool { rows++; return true })
	return rows, err
}

// ForgottenRows returns the forgotten rows of a run, each with the order that forgot it; empty if there are none.
func (r *Reader) ForgottenRows(ctx context.Context, run string) (map[RowKey]Purge, error) {
	forgotten, err := Select[Forgotten](ctx, r.from, run)
	if err != nil {
		return nil, err
	}
	rows, orders := make(map[RowKey]Purge, len(forgotten)), map[int64]Purge{}
	for _, f := range forgotten {
		order, known := orders[f.Order]
		if !known {
			if order, err = get[Purge](ctx, r.from, f.Order); err != nil {
				return nil, err
			}
			orders[f.Order] = order
		}
		rows[RowKey{f.Run, f.Source, f.Row}] = order
	}
	return rows, nil
}

// ForgottenOrder returns the order by which a row of a chunk was forgotten; nil if it was not.
func (r *Reader) ForgottenOrder(ctx context.Context, chunk Chunk, slot int64) (*Purge, error) {
	rows, err := Select[Forgotten](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk, slot)
	if err != nil || rows == nil {
		return nil, err
	}
	order, err := get[Purge](ctx, r.from, rows[0].Order)
	return &order, err
}

// Told says when the order was given, by whom, and why.
func (p Purge) Told() string {
	did := "purged"
	if p.Forgets() {
		did = "forgotten"
	}
	return fmt.Sprintf("%s %s by %s (order %d: %s)", did, p.At.Time().UTC().Format("2006-01-02 15:04:05 MST"), p.Actor, p.ID, p.Why)
}

// UnfinishedForgettings returns the orders to forget that were given and not carried out, by number.
func (r *Reader) UnfinishedForgettings(ctx context.Context) (orders []Purge, err error) {
	done := map[int64]bool{}
	if err := each(ctx, r.from, nil, func(f Forgetting) bool { done[f.Order] = true; return true }); err != nil {
		return nil, err
	}
	err = each(ctx, r.from, nil, func(p Purge) bool {
		if p.Forgets() && !done[p.ID] {
			orders = append(orders, p)
		}
		return true
	})
	return orders, err
}

// Forgetting returns what came of an order to forget. The error wraps ErrNotFound if there is none, or it was not carried out.
func (r *Reader) Forgetting(ctx context.Context, order int64) (Forgetting, error) {
	return get[Forgetting](ctx, r.from, order)
}

// PackOf returns the payload that holds the records of a chunk: the chunk's own, or the one that replaced it when a record was forgotten.
func (r *Reader) PackOf(ctx context.Context, chunk Chunk) (string, error) {
	pack := chunk.Pack
	for {
		purged, err := r.Purged(ctx, pack)
		if err != nil || purged == nil {
			return pack, err
		}
		next, err := Select[Repacked](ctx, r.from, pack, purged.Number)
		if err != nil || next == nil {
			return pack, err
		}
		pack = next[0].Replacement
	}
}

// Replacements returns the payloads that replaced one, in order; nil if none did.
func (r *Reader) Replacements(ctx context.Context, payload string) (replacements []string, err error) {
	repacked, err := Select[Repacked](ctx, r.from, payload)
	for _, p := range repacked {
		replacements = append(replacements, p.Replacement)
	}
	return replacements, err
}

// replacements returns the payloads that replaced others, by those.
func (r *Reader) replacements(ctx context.Context) (of map[string][]string, err error) {
	err = each(ctx, r.from, nil, func(p Repacked) bool {
		if of == nil {
			of = map[string][]string{}
		}
		of[p.Payload] = append(of[p.Payload], p.Replacement)
		return true
	})
	return of, err
}

// BeginRepack records that a payload may be deleted, and which one replaces it; the errors are those of BeginDeletion.
func (l *Log) BeginRepack(ctx context.Context, order int64, payload, replacement string) ([]Deletion, error) {
	begun, err := l.nextDeletion(ctx, order, payload)
	if err != nil || begun == nil {
		return nil, err
	}
	return []Deletion{*begun}, l.insert(ctx, *begun, Repacked{Payload: payload, Number: begun.Number, Replacement: replacement})
}

// EndForgetting records that an order was carried out, with a certificate of what became of everything, and the entry that says so. What is recorded of the order
// already is returned as it is.
func (l *Log) EndForgetting(ctx context.Context, done Forgetting, certificate string) (Forgetting, error) {
	err := settle(done.Table(), func() error {
		before, err := l.Forgetting(ctx, done.Order)
		if !errors.Is(err, ErrNotFound) {
			done = before
			return err
		}
		if err := l.keyless(ctx); err != nil {
			return err
		}
		done.Certificate, done.At = certificate, l.now()
		tx := Tx{}
		if l.sealer != nil {
			signed, entry, err := l.sealer.Forgot(done)
			if err != nil {
				return err
			}
			done.Certificate, tx.Append = signed, []LogEntry{entry}
		}
		tx.Insert = []Record{done}
		return l.driver.Commit(ctx, tx)
	})
	return done, err
}

// A Freer is a driver whose database keeps what was deleted or overwritten in free space until something is written there.
type Freer interface {
	// OverwriteFreed overwrites that space. It may be repeated.
	OverwriteFreed(ctx context.Context) error
}

// OverwriteFreed overwrites what the database freed, if it keeps that. Postgres does so by itself, in its own time.
func (l *Log) OverwriteFreed(ctx context.Context) error {
	if freer, ok := capable[Freer](l.plain); ok {
		return freer.OverwriteFreed(ctx)
	}
	return nil
}

// NoHash is what stands where a hash in hex digits was forgotten.
var NoHash = strings.Repeat("0", 2*HashBytes)
