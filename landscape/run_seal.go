package landscape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"waymark/landscape/seal"
	"waymark/pipeline"
)

// RunSeal binds every record of a run that ended, as they were then. A run has one for each time that it ended or that something was recorded of it
// afterwards; the last one counts.
type RunSeal struct {
	Run    string `db:"run_id,key"`
	Seq    int64  `db:"seq,key"` // from 0
	Epoch  int64  `db:"epoch"`   // of the run then
	Root   []byte `db:"root"`    // 32 bytes: of the tree over its records (docs/seal.md)
	Leaves int64  `db:"leaves"`  // records
	Late   bool   `db:"late"`    // it was not made when the run ended: it proves only that nothing changed since
	Tables string `db:"tables"`  // JSON object: table to how many of the records are in it
	Marks  []byte `db:"marks"`   // the first 4 bytes of each leaf, to name one that differs
	At     Micros `db:"at_us,first"`
}

// Table returns run_seals.
func (RunSeal) Table() string { return "run_seals" }

// MarkBytes is how much of each leaf a RunSeal keeps.
const MarkBytes = 4

// Records returns how many of the leaves are records of each table. The error wraps ErrIncomplete if Tables makes no sense.
func (s RunSeal) Records() (map[string]int64, error) {
	records, sum := map[string]int64{}, int64(0)
	err := json.Unmarshal([]byte(s.Tables), &records)
	for table, n := range records {
		if sum += n; n <= 0 {
			delete(records, table)
		}
	}
	if err != nil || sum != s.Leaves || string(encode(records)) != s.Tables {
		return nil, incomplete("seal %d of run %s: tables: %s", s.Seq, s.Run, s.Tables)
	}
	return records, nil
}

// NewSeal is a seal that a transaction inserts, if the run's records are those that it binds.
type NewSeal struct {
	RunSeal
	Counts []TableCount // of every table that has leaves in seals but errors: late ones come with effect_events
	Moved  int64        // the sum of MovedBits of its effects
}

// Counted returns what drivers count before they insert the seal: Counts, and then Moved, as a count of effects.
func (s NewSeal) Counted() []TableCount {
	return append(slices.Clip(s.Counts), TableCount{Effect{}.Table(), s.Moved})
}

// Fits returns an error that wraps ErrStale if what a driver found of Counted, in its order, is not what the seal binds.
func (s NewSeal) Fits(found []int64) error {
	for i, c := range s.Counted() {
		if found[i] != c.Records {
			return fmt.Errorf("%s of run %s: %w", c.Table, s.Run, ErrStale)
		}
	}
	return nil
}

// TableCount is how many records of a run are in a table.
type TableCount struct {
	Table   string
	Records int64
}

// MovedBits are the bits of changed_us that Moved sums up: so many that no sum is too large.
const MovedBits = 1<<32 - 1

// RunSeals returns the seals of a run, the oldest first; nil if it has none.
func (r *Reader) RunSeals(ctx context.Context, run string) ([]RunSeal, error) {
	return Select[RunSeal](ctx, r.from, run)
}

// UnsealableError says why a run cannot be sealed. That keeps it from its seal, and not from its end. Nothing was stored.
type UnsealableError struct {
	Run    string
	Broken bool // its records are not those that its last seal binds
	Why    string
}

// Error names the run and the reason.
func (e *UnsealableError) Error() string {
	if e.Broken {
		return fmt.Sprintf("run %s: %s", e.Run, e.Why)
	}
	return fmt.Sprintf("run %s cannot be sealed: %s", e.Run, e.Why)
}

// endSealed adds to a transaction that ends a run the seal that binds what is recorded then, and the entry that says so. head is the record of the
// run after the transaction. A run that cannot be sealed ends without, and so does one that the log knows, if this process makes no entries: who can seals it later.
func (l *Log) endSealed(ctx context.Context, tx *Tx, head RunHead) error {
	err := l.bind(ctx, tx, head, RunSeal{At: head.Finished})
	if errors.Is(err, ErrKeyless) {
		return nil
	}
	return unlessUnsealable(err)
}

// sealAgain adds to a transaction that records something of a run that has ended a seal that binds this as well, if the run was sealed when it ended. The error
// wraps ErrKeyless if the log knows the run and this process makes no entries: nothing is recorded then.
func (l *Log) sealAgain(ctx context.Context, tx *Tx, head RunHead) error {
	last, err := lastOf[RunSeal](ctx, l, head.ID)
	if err != nil || last == nil || last.Epoch != head.Epoch {
		return err
	}
	return unlessUnsealable(l.bind(ctx, tx, head, RunSeal{At: l.now(), Late: last.Late}))
}

func unlessUnsealable(err error) error {
	if errors.As(err, new(*UnsealableError)) {
		return nil
	}
	return err
}

// bind adds a seal to a transaction, and the entry about it; none if the run has one of this epoch already that binds all. What does not fit that
// is not sealed again: else nobody would find it. The error is an *UnsealableError if the run cannot be sealed.
func (l *Log) bind(ctx context.Context, tx *Tx, head RunHead, with RunSeal) error {
	last, err := lastOf[RunSeal](ctx, l, head.ID)
	if err != nil {
		return err
	}
	ofEnd, err := l.sealOfEnd(ctx, head.ID)
	if err != nil {
		return err
	}
	with.Run, with.Epoch = head.ID, head.Epoch
	b, err := l.newBinding(ctx, with, last, ofEnd)
	if err != nil {
		return unsealable(head.ID, ofEnd, err)
	}
	if err := l.runRecords(ctx, head.ID, *tx, b.add); err != nil {
		return unsealable(head.ID, ofEnd, err)
	}
	if b.last != nil {
		if err := l.fits(ctx, b); err != nil || !b.changed {
			return err
		}
	}
	return l.addSeal(ctx, tx, head, b.seal())
}

// unsealable says of records that make no sense that they cannot be sealed: if they were sealed at the end of the run,
// they were changed since.
func unsealable(run string, ofEnd *RunSeal, err error) error {
	switch {
	case !errors.Is(err, ErrIncomplete):
		return err
	case ofEnd != nil:
		return changedSince(*ofEnd)
	}
	return &UnsealableError{Run: run, Why: err.Error()}
}

// sealOfEnd returns the last seal of a run if it is still that of its last end, as far as resumptions are recorded; else nil. An epoch that nobody began is no
// reason not to compare.
func (r *Reader) sealOfEnd(ctx context.Context, run string) (*RunSeal, error) {
	head, err := get[runEnd](ctx, r.from, run)
	if err != nil {
		return nil, err
	}
	last, err := lastOf[RunSeal](ctx, r.from, run)
	if err != nil || last == nil || last.Epoch >= head.Epoch {
		return last, err
	}
	_, err = get[Resumption](ctx, r.from, run, head.Epoch)
	if errors.Is(err, ErrNotFound) {
		return last, nil
	}
	return nil, err
}

// changedSince is the error of a run whose records are not those of its last seal.
func changedSince(last RunSeal) *UnsealableError {
	why := fmt.Sprintf("its records are not those that its seal %d binds: waymark verify %s names them", last.Seq, last.Run)
	return &UnsealableError{Run: last.Run, Broken: true, Why: why}
}

// Intact requires that the records of a run are those that its last seal binds, if the run was not resumed since: while it was stopped, nobody
// changed them. It writes nothing. The error is an *UnsealableError that is Broken if they are not. A run without such a seal is intact.
func (l *Log) Intact(ctx context.Context, run string) error {
	return settle("", func() error {
		head, err := get[RunHead](ctx, l, run)
		if err != nil {
			return err
		}
		return l.intact(ctx, head)
	})
}

// intact is Intact of the run with this record. The error wraps ErrStale if something was recorded of it meanwhile.
func (l *Log) intact(ctx context.Context, head RunHead) error {
	ofEnd, err := l.sealOfEnd(ctx, head.ID)
	if err != nil || ofEnd == nil {
		return err
	}
	return l.bind(ctx, new(Tx), head, RunSeal{})
}

// fits requires that the records before the transaction are those that the last seal binds, unless there is another one by now, or the run was resumed.
func (l *Log) fits(ctx context.Context, b *binding) error {
	root := b.before.Root()
	if bytes.Equal(root[:], b.last.Root) {
		return nil
	}
	last, err := lastOf[RunSeal](ctx, l, b.last.Run)
	if err != nil {
		return err
	}
	now, err := get[runEnd](ctx, l, b.last.Run)
	if err == nil && (last == nil || last.Seq != b.last.Seq || now.Epoch != b.new.Epoch) {
		err = fmt.Errorf("run %s: %w", b.last.Run, ErrStale)
	}
	if err != nil {
		return err
	}
	return changedSince(*last)
}

// addSeal adds a seal and the entry about it to a transaction.
func (l *Log) addSeal(ctx context.Context, tx *Tx, head RunHead, s *NewSeal) error {
	if err := l.keylessAbout(ctx, s.Run); err != nil {
		return err
	}
	if l.sealer != nil {
		entry, err := l.sealer.Sealed(head, s.RunSeal)
		if err != nil {
			return &UnsealableError{Run: s.Run, Why: err.Error()}
		}
		tx.Append = append(slices.Clip(tx.Append), entry)
	}
	tx.Seal = s
	return nil
}

// SealRun seals a run that has ended, and has no seal since then, as it is recorded now. The seal says that it is late: it proves only that nothing
// changed since. Of a run that is sealed the result is its last seal. A run that is running, or whose records are not
// those that its last seal binds, is refused with an *UnsealableError; so is one that is running in an epoch in which it ended, as its last seal says.
func (l *Log) SealRun(ctx context.Context, run string) (sealed RunSeal, added bool, err error) {
	err = settle("run_seals", func() error {
		head, err := get[RunHead](ctx, l, run)
		if err != nil {
			return err
		}
		if head.Status == pipeline.Running {
			if err := l.intact(ctx, head); err != nil {
				return err
			}
			return &UnsealableError{Run: run, Why: "it is running: it is sealed when it ends"}
		}
		tx := Tx{Guard: &Guard{Run: run, Epoch: head.Epoch}}
		if err := l.bind(ctx, &tx, head, RunSeal{At: l.now(), Late: true}); err != nil {
			return err
		}
		if added = tx.Seal != nil; added {
			sealed = tx.Seal.RunSeal
			return l.driver.Commit(ctx, tx)
		}
		last, err := lastOf[RunSeal](ctx, l, run)
		if err == nil {
			sealed = *last
		}
		return err
	})
	return sealed, added, err
}

// recordOf commits what happened to a run; if that has ended, with a new seal. It may be called with a guard and without.
func (l *Log) recordOf(ctx context.Context, run string, tx Tx) error {
	if _, ok := l.driver.(guarded); ok {
		return l.driver.Commit(ctx, tx)
	}
	return settle("", func() error {
		head, err := get[RunHead](ctx, l, run)
		if err != nil {
			return err
		}
		err = l.InEpoch(run, head.Epoch).driver.Commit(ctx, tx)
		if errors.Is(err, ErrSuperseded) { // it is recorded all the same
			err = fmt.Errorf("%w: %w", ErrStale, err)
		}
		return err
	})
}

// binding computes the seal of a run, and at the same time that of the records before a transaction.
type binding struct {
	new     NewSeal
	tree    *seal.RunTree
	tables  map[string]int64
	last    *RunSeal // of the last end; nil if there is none since the run was resumed
	before  *seal.RunTree
	changed bool // the transaction adds or changes a leaf
	line    []byte
}

func (l *Log) newBinding(ctx context.Context, s RunSeal, last, ofEnd *RunSeal) (*binding, error) {
	b := &binding{tables: map[string]int64{}}
	if last != nil {
		s.Seq = last.Seq + 1
	}
	if ofEnd != nil {
		salts, err := l.RunSalts(ctx, s.Run, ofEnd.Seq)
		if err != nil {
			return nil, err
		}
		b.last, b.before = ofEnd, seal.NewRunTree(salts)
	}
	salts, err := l.RunSalts(ctx, s.Run, s.Seq)
	b.new.RunSeal, b.tree = s, seal.NewRunTree(salts)
	return b, err
}

// add adds a record as it is, if it is one already, and as the transaction leaves it.
func (b *binding) add(now, next Record) bool {
	if now != nil {
		b.line = TableOf(now).AppendLine(b.line[:0], now)
		if b.before != nil {
			b.before.Add(b.line)
		}
	}
	if next != nil {
		b.changed = true
		b.line = TableOf(next).AppendLine(b.line[:0], next)
		now = next
	}
	hash := b.tree.Add(b.line)
	b.new.Marks = append(b.new.Marks, hash[:MarkBytes]...)
	b.new.Leaves++
	b.tables[now.Table()]++
	if e, ok := now.(Effect); ok {
		b.new.Moved += int64(e.Changed) & MovedBits
	}
	return true
}

// seal returns the seal of what was added.
func (b *binding) seal() *NewSeal {
	root := b.tree.Root()
	b.new.Root, b.new.Tables = root[:], string(encode(b.tables))
	for _, t := range leafTables() {
		if t.Name != (RowError{}).Table() {
			b.new.Counts = append(b.new.Counts, TableCount{t.Name, b.tables[t.Name]})
		}
	}
	return &b.new
}

// UnsealedRuns returns the ids of the runs that have ended since they were sealed last, in order; nil if there is none.
// With before it returns only those that ended until then; 0 is for all.
func (r *Reader) UnsealedRuns(ctx context.Context, before Micros) (unsealed []string, err error) {
	sealed := map[string]int64{}
	err = each(ctx, r.from, nil, func(s sealedEpoch) bool {
		sealed[s.Run] = s.Epoch
		return true
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, r.from, nil, func(run runEnd) bool {
		epoch, ok := sealed[run.ID]
		ended := run.Status != pipeline.Running && (before == 0 || run.Finished <= before)
		if ended && (!ok || epoch != run.Epoch) {
			unsealed = append(unsealed, run.ID)
		}
		return true
	})
	return unsealed, err
}

// sealedEpoch is a RunSeal without what makes it long.
type sealedEpoch struct {
	Run   string `db:"run_id,key"`
	Seq   int64  `db:"seq,key"`
	Epoch int64  `db:"epoch"`
}

// Table returns run_seals.
func (sealedEpoch) Table() string { return "run_seals" }

// runEnd is what of a run says whether it has ended.
type runEnd struct {
	ID       string             `db:"run_id,key"`
	Epoch    int64              `db:"epoch"`
	Status   pipeline.RunStatus `db:"status"`
	Finished Micros             `db:"finished_us,null"`
}

// Table returns runs.
func (runEnd) Table() string { return "runs" }
