package postgres

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"waymark/plugin"
)

// target is the table as one run's sink writes to it. What it wrote is recorded beside the table, in the transactions that wrote it.
type target struct {
	*Sink
	run string
}

var _ plugin.RowRejecter = (*target)(nil)

// fault is a fault that no retry cures.
func (t *target) fault(code, format string, args ...any) *plugin.TargetError {
	return &plugin.TargetError{Code: code, Target: t.Location(), Message: fmt.Sprintf(format, args...)}
}

// classify puts an error into words, as a TargetError where no retry cures it.
func (t *target) classify(doing string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*plugin.TargetError](err); ok {
		return err
	}
	if refusal := denied(err); refusal != nil && refusal.Held {
		return t.fault(codeSecretHeld, "%s", refusal)
	} else if refusal != nil {
		return t.fault(codeEgressDenied, "%s", refusal)
	}
	if unencrypted(err) {
		return t.fault(codeTargetRefused, "%s: %s", doing, t.database.reason(err))
	}
	state, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return t.database.fault(doing, err)
	}
	reason := t.database.reason(err)
	switch {
	case state.Code == "42501":
		return t.fault(codeTargetRefused, "%s: %s: grant select and insert on the table to the role, and update too for mode upsert; "+
			"on %s and %s select, insert, update and delete", doing, reason, outputsTable, partsTable)
	case state.Code == "42P01", state.Code == "3F000", state.Code == "42703":
		return t.fault(codeTargetChanged, "%s: %s: put back what the run began with", doing, reason)
	case state.Code[:2] == "28", state.Code == "3D000", state.Code[:2] == "42", state.Code[:2] == "0A":
		return t.fault(codeTargetRefused, "%s: %s", doing, reason)
	}
	return t.database.fault(doing, err)
}

// transact calls do in a transaction that is committed if do returns nil. That the commit failed does not say that nothing is
// committed: who tries again finds out by the record.
func (t *target) transact(ctx context.Context, do func(tx pgx.Tx) error) error {
	pool, err := t.database.pool()
	if err != nil {
		return err
	}
	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		// Whatever the role's default is: what others commit must be seen where their part is waited for.
		tx, err := conn.BeginTx(ctx, pinned("isolation level read committed read write"))
		if err != nil {
			return err
		}
		if err := do(tx); err != nil {
			ctx, cancel := farewell()
			defer cancel()
			_ = tx.Rollback(ctx) // the pool closes a connection that is still in a transaction
			return err
		}
		return tx.Commit(ctx)
	})
}

// durable makes the commit wait for the disk, where a role or a database says that it need not: what counts as written must stay.
const durable = `select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`

// Open makes the table if the document asks for it, checks it, and notes that the run writes to it.
func (t *target) Open(ctx context.Context, text []byte) (made bool, err error) {
	h, err := parseHeader(text)
	if err != nil {
		return false, t.fault(codeTargetRefused, "%v", err)
	}
	err = t.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, durable); err != nil {
			return err
		}
		if err := t.prepare(ctx, tx, h); err != nil {
			return err
		}
		made, err = t.register(ctx, tx, text)
		return err
	})
	if err != nil {
		return false, t.classify("make the table ready", err)
	}
	return made, nil
}

// errProbed ends a transaction that is not to be committed.
var errProbed = errors.New("probed")

// Probe makes everything ready in a transaction that is rolled back.
func (t *target) Probe(ctx context.Context, text []byte) error {
	h, err := parseHeader(text)
	if err != nil {
		return t.fault(codeTargetRefused, "%v", err)
	}
	err = t.transact(ctx, func(tx pgx.Tx) error {
		if err := t.prepare(ctx, tx, h); err != nil {
			return err
		}
		if _, err := t.register(ctx, tx, text); err != nil {
			return err
		}
		return errProbed
	})
	if errors.Is(err, errProbed) {
		return nil
	}
	return t.classify("look whether the table can be written", err)
}

// register notes that the run writes to the table, and reports whether it did not before.
func (t *target) register(ctx context.Context, tx pgx.Tx, text []byte) (made bool, err error) {
	l := ledgerOf(t.table)
	other, err := scalar(ctx, tx, "select sink from "+l.outputs()+" where run = $1 and sink <> $2 and target = $3 order by sink limit 1",
		t.run, t.name, t.table.String())
	if err != nil {
		return false, err
	}
	if other != "" {
		return false, t.fault(codeTargetRefused, "the sink %s writes into the same table: give each a table of its own", other)
	}
	tag, err := tx.Exec(ctx, `insert into `+l.outputs()+` as o (run, sink, target, header, state) values ($1, $2, $3, $4, 'open')
		on conflict (run, sink) do update set state = 'open', ended_at = null where o.state = 'discarded'`, t.run, t.name, t.table.String(), text)
	if err != nil {
		return false, err
	}
	found, ok, err := l.find(ctx, tx, t.run, t.name, "")
	if err == nil && (!ok || !bytes.Equal(found.header, text)) {
		err = t.fault(codeTargetChanged, "this run wrote other columns before")
	}
	return tag.RowsAffected() > 0, err
}

// scalar returns a text, or "" if there is no row.
func scalar(ctx context.Context, q querier, sql string, args ...any) (text string, err error) {
	err = q.QueryRow(ctx, sql, args...).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return text, err
}

// Check asks the record. While another attempt's transaction is not over, the part is not there; writing it waits for that end.
func (t *target) Check(ctx context.Context, part plugin.Part) (plugin.Applied, error) {
	found, ok, err := t.entry(ctx, part)
	switch {
	case err != nil && tableMissing(err):
		return plugin.NotApplied, nil
	case err != nil:
		return plugin.Unknown, t.classify("ask for a part", err)
	case !ok:
		return plugin.NotApplied, nil
	case !found.holds(part):
		return plugin.Unknown, t.other(part)
	}
	return plugin.Exactly, nil
}

func (t *target) entry(ctx context.Context, part plugin.Part) (entry, bool, error) {
	pool, err := t.database.pool()
	if err != nil {
		return entry{}, false, err
	}
	return ledgerOf(t.table).part(ctx, pool, t.run, t.name, part.Ordinal)
}

func (t *target) other(part plugin.Part) *plugin.TargetError {
	return t.fault(codeTargetChanged, "%s holds other rows for part %d of this run", partsTable, part.Ordinal)
}

// Rejected returns the rows that the table rejected of a part, from the record.
func (t *target) Rejected(ctx context.Context, part plugin.Part) ([]plugin.RejectedRow, error) {
	pool, err := t.database.pool()
	if err != nil {
		return nil, t.classify("ask for refused rows", err)
	}
	found, ok, err := t.entry(ctx, part)
	if err != nil {
		return nil, t.classify("ask for refused rows", err)
	}
	if !ok || !found.holds(part) {
		return nil, t.fault(codeTargetChanged, "part %d, whose refused rows are asked for, is not recorded in %s", part.Ordinal, partsTable)
	}
	text, err := scalar(ctx, pool, "select refused::text from "+ledgerOf(t.table).parts()+" where run = $1 and sink = $2 and ordinal = $3",
		t.run, t.name, part.Ordinal)
	if err != nil {
		return nil, t.classify("ask for refused rows", err)
	}
	rejected, err := decodeRejected(text)
	if err != nil {
		return nil, t.fault(codeTargetChanged, "%s: the refused rows of part %d cannot be read: %v", partsTable, part.Ordinal, err)
	}
	return rejected, nil
}

// Publish notes that the output is whole, after it made sure that the record has exactly these parts. Rows are visible part by part,
// before that.
func (t *target) Publish(ctx context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	var artifact plugin.Artifact
	err := t.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, durable); err != nil {
			return err
		}
		found, err := t.compare(ctx, tx, header, parts, "for update")
		if err != nil || found.state == outputPublished {
			artifact = found.artifact
			return err
		}
		artifact = found.artifact
		_, err = tx.Exec(ctx, `update `+ledgerOf(t.table).outputs()+`
			set state = 'published', parts = $3, rows = $4, refused = $5, bytes = $6, sha256 = $7, ended_at = now() where run = $1 and sink = $2`,
			t.run, t.name, int64(len(parts)), artifact.Rows, found.refused, artifact.Bytes, artifact.SHA256)
		return err
	})
	if err != nil {
		return plugin.Artifact{}, t.classify("publish", err)
	}
	return artifact, nil
}

// Verify compares the record with the parts. What became of the rows since they were written is not looked at: others may change them.
func (t *target) Verify(ctx context.Context, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	pool, err := t.database.pool()
	if err != nil {
		return plugin.Artifact{}, t.classify("verify", err)
	}
	found, err := t.compare(ctx, pool, header, parts, "")
	if err != nil {
		return plugin.Artifact{}, t.classify("verify", err)
	}
	if found.state != outputPublished {
		return plugin.Artifact{}, t.fault(codeTargetChanged, "%s says that the output is %s, and not published", outputsTable, found.state)
	}
	kind, err := t.find(ctx, pool)
	switch {
	case err != nil:
		return plugin.Artifact{}, t.classify("verify", err)
	case kind == "":
		return plugin.Artifact{}, t.fault(codeTargetChanged, "there is no table %s any more", t.table)
	}
	return found.artifact, nil
}

// compared is an output whose parts are those that they should be.
type compared struct {
	state    string
	artifact plugin.Artifact
	refused  int64
}

// compare fails if the record has not exactly the header and these parts.
func (t *target) compare(ctx context.Context, q querier, header []byte, parts []plugin.Part, lock string) (compared, error) {
	parts, err := t.inOrder(header, parts)
	if err != nil {
		return compared{}, err
	}
	l := ledgerOf(t.table)
	out, ok, err := l.find(ctx, q, t.run, t.name, lock)
	switch {
	case err != nil:
		return compared{}, err
	case !ok || out.state == outputDiscarded:
		return compared{}, t.fault(codeTargetChanged, "%s has no output of this run", outputsTable)
	case !bytes.Equal(out.header, header):
		return compared{}, t.fault(codeTargetChanged, "this run wrote other columns before")
	}
	entries, err := l.all(ctx, q, t.run, t.name)
	if err != nil {
		return compared{}, err
	}
	found := compared{state: out.state, artifact: plugin.Artifact{Path: t.Location()}}
	hash := sha256.New()
	for i, part := range parts {
		if i >= len(entries) || !entries[i].holds(part) {
			return compared{}, t.fault(codeTargetChanged, "%s does not hold part %d as this run wrote it", partsTable, part.Ordinal)
		}
		found.artifact.Rows += entries[i].rows - entries[i].refused
		found.artifact.Bytes += entries[i].bytes
		found.refused += entries[i].refused
		hash.Write(entries[i].sha256)
	}
	if len(entries) > len(parts) {
		return compared{}, t.fault(codeTargetChanged, "%s holds %d parts of this run, and it has %d", partsTable, len(entries), len(parts))
	}
	found.artifact.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return found, nil
}

// inOrder returns the parts by ordinal, or an error if they and the header leave a gap or overlap.
func (t *target) inOrder(header []byte, parts []plugin.Part) ([]plugin.Part, error) {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b plugin.Part) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	end := int64(len(header))
	for i, part := range parts {
		if part.Ordinal != int64(i) || part.Offset != end {
			return nil, t.fault(codeTargetRefused, "part %d at byte %d does not follow what is before it: part %d at byte %d belongs here",
				part.Ordinal, part.Offset, i, end)
		}
		end += part.Bytes
	}
	return parts, nil
}

// Discard notes that nothing more is to come. Rows of parts that are recorded stay: who wrote them is known by the record, and
// others may have used them.
func (t *target) Discard(ctx context.Context) error {
	l := ledgerOf(t.table)
	err := t.transact(ctx, func(tx pgx.Tx) error {
		for _, statement := range []string{
			`update ` + l.outputs() + ` set state = 'discarded', ended_at = now() where run = $1 and sink = $2 and state = 'open'`,
			`delete from ` + l.outputs() + ` o where run = $1 and sink = $2 and state = 'discarded'
				and not exists (select from ` + l.parts() + ` p where p.run = o.run and p.sink = o.sink)`,
		} {
			if _, err := tx.Exec(ctx, statement, t.run, t.name); err != nil {
				return err
			}
		}
		return nil
	})
	if tableMissing(err) {
		return nil // nothing was opened
	}
	return t.classify("discard", err)
}
