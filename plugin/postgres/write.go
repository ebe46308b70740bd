package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/plugin"
)

// Write writes the part's rows and its entry in the record, in one transaction. The entry comes first: another attempt at the same
// part waits for it, and finds that the part is there.
func (t *target) Write(ctx context.Context, part plugin.Part, data []byte) error {
	if int64(len(data)) != part.Bytes || sha256.Sum256(data) != part.SHA256 || int64(bytes.Count(data, []byte{'\n'})) != part.Rows {
		return fmt.Errorf("%s: the bytes given for part %d are not the part's", t.Location(), part.Ordinal)
	}
	doing := fmt.Sprintf("write part %d", part.Ordinal)
	err := t.write(ctx, part, data)
	if isLocked(err) {
		if err := t.endOthers(ctx, part); err != nil {
			return t.classify(doing, err)
		}
		err = t.write(ctx, part, data)
	}
	return t.classify(doing, err)
}

// isLocked reports whether another attempt at the part has not ended.
func isLocked(err error) bool {
	state, ok := errors.AsType[*pgconn.PgError](err)
	return ok && state.Code == "55P03"
}

func (t *target) write(ctx context.Context, part plugin.Part, data []byte) error {
	return t.transact(ctx, func(tx pgx.Tx) error {
		h, err := t.begin(ctx, tx, part)
		if err != nil {
			return err
		}
		first, err := t.enter(ctx, tx, part)
		if err != nil || !first {
			return err
		}
		if h.published {
			return t.fault(codeTargetChanged, "the output is published, without part %d", part.Ordinal)
		}
		t.moment("entered")
		rejected, err := t.load(ctx, tx, h, data)
		if err != nil {
			return err
		}
		t.moment("copied")
		return t.enterRejected(ctx, tx, part, rejected)
	})
}

// begin prepares the transaction, and makes sure that the output is open: it stays so until the transaction ends.
func (t *target) begin(ctx context.Context, tx pgx.Tx, part plugin.Part) (*header, error) {
	var batch pgx.Batch
	batch.Queue(durable)
	batch.Queue(`select set_config('lock_timeout', $1, true), set_config('application_name', $2, true),
		set_config('idle_in_transaction_session_timeout', '60s', true)`, t.patience, t.mark(part))
	batch.Queue("set constraints all immediate")
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, err
	}
	out, ok, err := ledgerOf(t.table).find(ctx, tx, t.run, t.name, "for share")
	switch {
	case err != nil:
		return nil, err
	case !ok || out.state == outputDiscarded:
		return nil, t.fault(codeTargetChanged, "%s has no output of this run", outputsTable)
	}
	h, err := parseHeader(out.header)
	if err != nil {
		return nil, t.fault(codeTargetChanged, "%s: %v", outputsTable, err)
	}
	h.published = out.state == outputPublished
	return h, nil
}

// mark is what a session is called while it writes a part, so that it can be found.
func (t *target) mark(part plugin.Part) string {
	return fmt.Sprintf("waymark part %.12x", sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", t.Location(), t.run, t.name, part.Ordinal)))
}

// enter puts the part on record, and reports whether it was not there before. It waits for another attempt at the part.
func (t *target) enter(ctx context.Context, tx pgx.Tx, part plugin.Part) (first bool, err error) {
	l := ledgerOf(t.table)
	tag, err := tx.Exec(ctx, `insert into `+l.parts()+` (run, sink, ordinal, sha256, bytes, rows) values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
		t.run, t.name, part.Ordinal, part.SHA256[:], part.Bytes, part.Rows)
	if err != nil {
		return false, err
	}
	if tag.RowsAffected() == 0 {
		found, ok, err := l.part(ctx, tx, t.run, t.name, part.Ordinal)
		if err == nil && (!ok || !found.holds(part)) {
			err = t.other(part)
		}
		return false, err
	}
	// From here on rows may wait for others' rows as long as the role's own settings say.
	_, err = tx.Exec(ctx, "set local lock_timeout to default")
	return true, err
}

func (t *target) enterRejected(ctx context.Context, tx pgx.Tx, part plugin.Part, rejected []plugin.RejectedRow) error {
	if len(rejected) == 0 {
		return nil
	}
	text, err := encodeRejected(rejected)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `update `+ledgerOf(t.table).parts()+` set refused = $4::jsonb where run = $1 and sink = $2 and ordinal = $3`,
		t.run, t.name, part.Ordinal, text)
	return err
}

// endOthers ends the sessions of other attempts at the part, which nobody waits for any more: what they did is undone, or was
// committed already.
func (t *target) endOthers(ctx context.Context, part plugin.Part) error {
	pool, err := t.database.pool()
	if err != nil {
		return err
	}
	_, err = pool.Exec(ctx, `
		select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and usename = current_user and application_name = $1 and pid <> pg_backend_pid()`, t.mark(part))
	return err
}
