package landscape

import (
	"context"
	"slices"
)

// RunLeaf is a record of a run as the run's seal binds it.
type RunLeaf struct {
	Table string
	Key   string // for people
	Line  []byte // docs/seal.md; the next leaf takes its place
}

// Unsealed says of each table that has no leaves in the seals of runs why. What is recorded of rows is bound by the roots of their chunks, which
// are leaves.
func Unsealed() map[string]string {
	const rows, log, deploys, purges = "the root of its chunk binds its rows", "the log binds itself", "it belongs to no run", "it comes after the run"
	const told = "it only tells others what is recorded elsewhere, and is dropped when it is old"
	const orders = "people signed it, and the log has an entry about each"
	return map[string]string{
		"chunk_rows": rows, "hashes": rows, "key_hashes": rows, "repeats": rows, "merge_codes": rows, "parents": rows,
		"field_roots": rows,
		"salts":       "with others no root fits", "run_seals": "it is the seal", "sign_offs": "each names the seal that was signed, and the log has its digest", "heals": "payloads are shared by runs",
		"starts": "it is what was asked for; of what began, runs and executions say it",
		"log":    log, "log_head": log, "log_hashes": log, "log_heads": log, "log_anchors": log,
		"bundles": deploys, "pipeline_versions": deploys, "deployments": deploys, "environments": deploys, "schedules": deploys, "slot_requests": deploys,
		"slots": deploys, "slot_events": deploys, "gates": deploys, "limits": deploys, "triggers": deploys, "watches": deploys,
		"arrivals": "what of them a run reads, its sources say", "arrival_orders": deploys, "arrival_runs": "what of them a run reads, its sources say",
		"holds": purges, "hold_ends": purges, "purges": purges, "purged_runs": purges, "deletions": purges,
		"deleted_payloads": purges, "returned_payloads": purges, "retention_periods": purges, "retention_turns": purges,
		"forgotten": purges, "forgotten_leaves": purges, "repacked": purges, "forgettings": purges, "erasures": purges, "erased": purges,
		"outbox": told, "outbox_head": told, "endpoints": told, "endpoint_states": told, "deliveries": told, "delivery_attempts": told,
		"approval_rules": orders, "approval_requests": orders, "approvals": orders, "approved_executions": orders,
		"archives": "it says where the run is that its seal binds, and the log has an entry about it", "archived_payloads": purges,
		"access_tokens": deploys, "disclosures": "who looked at values changes none of them",
		"attestations": "they come after the run, and the log has an entry about each",
	}
}

// RunLeaves calls yield with every record that a seal of the run would bind now, in the order of its leaves: by Tables, then by key; until it
// returns false. yield must not use the reader.
func (r *Reader) RunLeaves(ctx context.Context, run string, yield func(RunLeaf) bool) error {
	if _, err := get[runID](ctx, r.from, run); err != nil {
		return err
	}
	var line []byte
	return r.runRecords(ctx, run, Tx{}, func(record, _ Record) bool {
		t := TableOf(record)
		line = t.AppendLine(line[:0], record)
		return yield(RunLeaf{t.Name, t.Key(t.AppendValues(nil, record)), line})
	})
}

// A TableFinder is a driver that can say at once which tables have records of a run.
type TableFinder interface {
	// TablesWith returns those of the tables that have records of a run, in their order; nil if none has. Each must have a column run_id.
	TablesWith(ctx context.Context, run string, tables []string) ([]string, error)
}

// leafTables returns the tables that have leaves in seals, in their order.
func leafTables() []*Table {
	unsealed := Unsealed()
	return slices.DeleteFunc(Tables(), func(t *Table) bool { return unsealed[t.Name] != "" })
}

// filled returns the names of those of the tables in which records of a run may be; of most runs some are in less than half of the tables. They are all if the driver cannot
// tell, and if nothing is in those that an archive empties: the run may be archived.
func (r *Reader) filled(ctx context.Context, run string, tables []*Table) ([]string, error) {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	finder, is := capable[TableFinder](r.plain)
	if !is {
		return names, nil
	}
	filled, err := finder.TablesWith(ctx, run, names)
	if err != nil {
		return nil, mark(err)
	}
	if !slices.ContainsFunc(Archivable(), func(t *Table) bool { return slices.Contains(filled, t.Name) }) {
		return names, nil
	}
	return filled, nil
}

// leavesOf calls leaf with the stored records of one table that are leaves of a run, or become ones with what changes.
func (r *Reader) leavesOf(ctx context.Context, t *Table, c *changes, leaf func(Record) bool) error {
	kind, of := t.Zero(), []any{c.run}
	switch t.Name {
	case PassageRecord{}.Table():
		kind = passageLeaf{}
	case RowError{}.Table():
		if len(c.refusing) == 0 { // as of most runs: then nothing is read of the errors
			return nil
		}
		return each(ctx, r.from, of, func(e RowError) bool { return !c.late(e) || leaf(e) })
	case RetriedRow{}.Table():
		return r.retriedLeaves(ctx, c.run, leaf)
	}
	return r.from.Read(ctx, kind, Query{Prefix: of}, leaf)
}

// passageLeaf is a PassageRecord without what the root of its chunk binds.
type passageLeaf struct {
	passageHead
	Rows      int64  `db:"rows"`
	CodeBytes int64  `db:"code_bytes"`
	Started   Micros `db:"started_us"`
	Finished  Micros `db:"finished_us"`
	Attempt   int64  `db:"attempt"`
	Worker    string `db:"worker"`
}

func passageLeafOf(p PassageRecord) passageLeaf {
	return passageLeaf{passageHead{p.Run, p.Source, p.Chunk, p.Lane}, p.Rows, p.CodeBytes, p.Started, p.Finished, p.Attempt, p.Worker}
}

// retriedLeaves calls leaf with the records of its parent that a run retries.
func (r *Reader) retriedLeaves(ctx context.Context, id string, leaf func(Record) bool) error {
	run, err := r.Run(ctx, id)
	if err != nil || run.Link != RetryLink {
		return err
	}
	return each(ctx, r.from, []any{run.Parent}, func(row RetriedRow) bool { return row.Run != id || leaf(row) })
}
