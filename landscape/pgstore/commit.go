package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/landscape/sweep"
)

// rollbackPatience is how long a rollback may take before the connection is given up.
const rollbackPatience = 5 * time.Second

// Commit does what landscape.Driver says.
//
// What fails before the transaction is to be committed is begun again if it may pass: a deadlock, a server that restarts. An error of
// the commit itself is the caller's: whether all of it is stored or nothing, nobody knows.
func (s *Store) Commit(ctx context.Context, b landscape.Tx) error {
	inserts, err := s.prepare(b.Insert)
	if err != nil {
		return err
	}
	var sealed []*insert
	if b.Seal != nil {
		if sealed, err = s.prepare([]landscape.Record{b.Seal.RunSeal}); err != nil {
			return err
		}
	}
	moves, err := s.prepareMoves(b.Move)
	if err != nil {
		return err
	}
	return explain(s.place, s.commit(ctx, b, inserts, sealed, moves))
}

func (s *Store) commit(ctx context.Context, b landscape.Tx, inserts, sealed []*insert, moves []moving) error {
	if s.mayGoAtOnce(b) {
		done, err := s.commitAtOnce(ctx, b, inserts, moves)
		if done || err != nil {
			return err
		}
	}
	if b.Repeats == nil {
		b.Repeats = new(bool)
	}
	err := s.transact(ctx, func(tx pgx.Tx) error { return apply(ctx, tx, b, inserts, sealed, moves) })
	if err == nil && !*b.Repeats && b.Guard != nil {
		s.repeating.Remove(b.Guard.Run)
	}
	return err
}

// transact does work in a transaction.
func (s *Store) transact(ctx context.Context, work func(pgx.Tx) error) error {
	return s.patiently(ctx, func() error {
		tx, err := s.pool.Begin(ctx)
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		if err := defect.Catch("record", func() error { return work(tx) }); err != nil {
			rollback(ctx, tx)
			return err
		}
		return commit(ctx, tx)
	})
}

// rollback ends a transaction without a trace. That it fails changes nothing: without a commit nothing is stored.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackPatience)
	defer cancel()
	_ = tx.Rollback(ctx)
}

// commit sends the commit. Only where the server itself says that it did not commit is that known.
func commit(ctx context.Context, tx pgx.Tx) error {
	err := tx.Commit(ctx)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Severity == "ERROR" || errors.Is(err, pgx.ErrTxCommitRollback) {
		return fmt.Errorf("commit: %w", err)
	}
	return &unknown{err}
}

// unknown is the error of a commit whose answer did not come. It hides its cause from again: that must not do it once more.
type unknown struct{ cause error }

func (u *unknown) Error() string {
	return "commit: the answer is lost, and nobody knows whether all of it is stored or nothing: commit the same again: " + u.cause.Error()
}

// apply does all that a landscape.Tx says.
func apply(ctx context.Context, tx pgx.Tx, b landscape.Tx, inserts, sealed []*insert, moves []moving) error {
	if err := send(ctx, tx, b, inserts, moves); err != nil {
		return err
	}
	if b.Remove != "" {
		if _, err := tx.Exec(ctx, `select remove_run($1)`, landscape.PortableText(b.Remove)); err != nil {
			return fmt.Errorf("remove run %s: %w", b.Remove, err)
		}
	}
	if b.Check != "" {
		wrong, err := findings(ctx, tx, b.Check, sweep.Counts)
		if err != nil {
			return err
		}
		if len(wrong) > 0 {
			return &landscape.ImbalanceError{Run: b.Check, Findings: wrong}
		}
	}
	if b.Seal != nil {
		if err := seal(ctx, tx, *b.Seal, sealed); err != nil {
			return err
		}
	}
	if atOnce(b) {
		return nil
	}
	for _, entry := range b.Append {
		if _, err := tx.Exec(ctx, appendSQL, appended(entry)...); err != nil {
			return fmt.Errorf("append to the log: %w", err)
		}
	}
	return nil
}

// atOnce reports whether a landscape.Tx has nothing that waits for answers before its entries are appended.
func atOnce(b landscape.Tx) bool { return b.Check == "" && b.Seal == nil && b.Remove == "" }

// seal inserts a seal, unless the run has other records than it binds.
func seal(ctx context.Context, tx pgx.Tx, s landscape.NewSeal, inserts []*insert) error {
	if err := counted(ctx, tx, s); err != nil {
		return err
	}
	for _, i := range inserts {
		tag, err := tx.Exec(ctx, i.sql, i.arrays...)
		if err == nil && tag.RowsAffected() == 0 {
			err = i.compare(ctx, tx)
		}
		if err != nil {
			return fmt.Errorf("insert into %s: %w", i.table.Name, err)
		}
	}
	return nil
}

// counted refuses a seal of a run that has other records than it binds.
func counted(ctx context.Context, tx pgx.Tx, s landscape.NewSeal) error {
	wanted := s.Counted()
	parts, found, into := make([]string, len(wanted)), make([]int64, len(wanted)), make([]any, len(wanted))
	for i, c := range wanted {
		parts[i], into[i] = "(select count(*) from "+c.Table+" where run_id = $1)", &found[i]
	}
	parts[len(s.Counts)] = fmt.Sprintf("(select coalesce(sum(changed_us & %d), 0)::bigint from effects where run_id = $1)", landscape.MovedBits)
	if err := tx.QueryRow(ctx, "select "+strings.Join(parts, ", "), landscape.PortableText(s.Run)).Scan(into...); err != nil {
		return fmt.Errorf("count the records of run %s: %w", s.Run, err)
	}
	return s.Fits(found)
}

// appendSQL appends an entry to the log, and holds the log's head until the transaction ends: it is the last statement of all.
const appendSQL = `select append_log($1, $2, $3)`

func appended(e landscape.LogEntry) []any {
	return []any{landscape.PortableText(e.About), landscape.PortableText(e.Entry), e.Leaf}
}

// send holds the runs of a landscape.Tx, inserts, moves and, if nothing is to be checked before that, appends, in one round trip.
func send(ctx context.Context, tx pgx.Tx, b landscape.Tx, inserts []*insert, moves []moving) error {
	var queue pgx.Batch
	held := holds(b)
	for _, h := range held {
		h.queue(&queue, b.Guard)
	}
	for _, i := range inserts {
		queue.Queue(i.sql, i.arrays...)
	}
	for _, m := range moves {
		queue.Queue("select "+m.calls, m.arrays...)
	}
	if atOnce(b) {
		for _, entry := range b.Append {
			queue.Queue(appendSQL, appended(entry)...)
		}
	}
	results := tx.SendBatch(ctx, &queue)
	repeated, stale, err := receive(results, held, inserts, moves)
	if closed := results.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return cmp.Or(stale, err) // what follows a move that is stale may break rules that only hold after it
	}
	if b.Repeats != nil {
		*b.Repeats = len(repeated) > 0
	}
	for _, i := range repeated {
		if err := i.compare(ctx, tx); err != nil {
			return err
		}
	}
	return stale
}

// receive reads the answers to what send queued. repeated are inserts of which some records were there already; stale is
// the first move that did not find what it expects, also beside an error of what follows it.
func receive(
	results pgx.BatchResults, held []hold, inserts []*insert, moves []moving,
) (repeated []*insert, stale, err error) {
	for range held {
		if _, err := results.Exec(); err != nil {
			return nil, nil, refusedBy(err)
		}
	}
	for _, i := range inserts {
		tag, err := results.Exec()
		if err != nil {
			return nil, nil, fmt.Errorf("insert into %s: %w", i.table.Name, err)
		}
		if tag.RowsAffected() < int64(len(i.records)) {
			repeated = append(repeated, i)
		}
	}
	for _, m := range moves {
		rows, err := results.Query()
		if err != nil {
			return nil, stale, fmt.Errorf("move %s: %w", m.table.Name, err)
		}
		counts, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return nil, stale, fmt.Errorf("move %s: %w", m.table.Name, err)
		}
		if i := slices.Index(counts, 0); i >= 0 && stale == nil {
			stale = fmt.Errorf("%s %s: %w", m.table.Name, m.keys[i], landscape.ErrStale)
		}
	}
	return repeated, stale, nil
}
