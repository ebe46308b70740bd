package landscape

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Relation is a table or view as those who query the database see it: rows of plain values.
type Relation struct {
	Name    string
	Columns []RelationColumn // the first ones order the rows
	ByRow   bool             // it is a view of rows of origins: the first columns are run_id, source and row
}

// RelationColumn is a column of a Relation. Each may be NULL.
type RelationColumn struct {
	Name string
	Type ColumnType
}

// ColumnType says which values a column has, besides nil.
type ColumnType int

// The types of columns.
const (
	TextColumn  ColumnType = iota // string
	IntColumn                     // int64
	BytesColumn                   // []byte
)

// OfRun reports whether each row belongs to a run.
func (r Relation) OfRun() bool {
	return slices.ContainsFunc(r.Columns, func(c RelationColumn) bool { return c.Name == "run_id" })
}

// Select returns the statement that reads what of a relation conditions select, in order.
func (r Relation) Select(conditions string) string {
	names, places := make([]string, len(r.Columns)), make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i], places[i] = c.Name, strconv.Itoa(i+1)
	}
	query := "select " + strings.Join(names, ", ") + " from " + r.Name
	if conditions != "" {
		query += " where " + conditions
	}
	return query + " order by " + strings.Join(places, ", ")
}

// ErrNoViews says that a driver has no views.
var ErrNoViews = errors.New("landscape: the database has no views")

// A RelationReader is a driver whose tables and views can be read as others read them.
type RelationReader interface {
	// ReadRelation calls yield with the values of every row of a relation, in the order of all its columns, until yield returns false. run, if not
	// empty, selects the rows of a run; the relation must be of runs. The slice is the caller's until yield returns; yield must not use the driver.
	ReadRelation(ctx context.Context, r Relation, run string, yield func(values []any) bool) error
}

// ReadRelation does what RelationReader says. The error is ErrNoViews if the driver cannot, and an *ArchivedError if the run is archived: views do not see it.
func (r *Reader) ReadRelation(ctx context.Context, of Relation, run string, yield func(values []any) bool) error {
	reader, ok := capable[RelationReader](r.plain)
	if !ok {
		return ErrNoViews
	}
	if run != "" {
		archive, err := r.ArchiveOf(ctx, run)
		if err != nil {
			return err
		}
		if archive != nil {
			return &ArchivedError{*archive}
		}
	}
	return mark(reader.ReadRelation(ctx, of, run, yield))
}

// Relations returns every documented table and view, by name, except the table of salts: with a salt, its owner can find out what a hash in a
// proof stands for.
func Relations() []Relation {
	relations := slices.Clone(views)
	for _, t := range Tables() {
		if t.Name != (Salts{}).Table() {
			relations = append(relations, t.relation())
		}
	}
	slices.SortFunc(relations, func(a, b Relation) int { return strings.Compare(a.Name, b.Name) })
	return relations
}

func (t *Table) relation() Relation {
	r := Relation{Name: t.Name}
	for _, c := range t.Columns {
		r.Columns = append(r.Columns, RelationColumn{c.Name, columnType(t.kind.FieldByIndex(c.field).Type)})
	}
	return r
}

func columnType(kind reflect.Type) ColumnType {
	switch kind.Kind() {
	case reflect.String:
		return TextColumn
	case reflect.Slice:
		return BytesColumn
	default:
		return IntColumn
	}
}

// views are the views that both databases have. docs/landscape.md says what they mean.
var views = []Relation{
	view("batch_members", "run_id, source, row int, lane int, node, batch int, ordinal int, token_id, chunk int, fold int"),
	view("batch_rows", "run_id, node, row int, token_id, batch int, parent_token_id, chunk int, fold int"),
	view("batch_totals", "run_id, node, batch int, trigger, path, rows int, opened_us int, fired_us int, out_rows int, fold int, of int"),
	view("chunk_node_counts", `run_id, source, chunk int, seq int, node, kind, in_rows int, out_rows int, dropped_rows int, diverted_rows int,
		created_rows int, consumed_rows int, held_rows int`),
	view("coalesce_events", `run_id, source, row int, lane int, node, fork_group_id, merged_token_id, policy, merge_strategy, quorum int, timeout_ms int,
		branches_expected, branches_arrived, branches_lost, branches_not_needed, arrival_order, wait_ms int, fired_by, collisions, field_origins, result,
		code, merged_hash, batch_id`),
	view("current_versions", `environment, pipeline, version int, action, actor, why, at_us int, bundle_sha256, document_sha256, message, git_commit,
		git_dirty int`),
	view("held_runs", "run_id, hold_id int, actor, why, at_us int"),
	view("lane_joins", "run_id, source, lane int, branch, node, merged_lane int, fork_lane int"),
	view("latest_outputs", "latest, run_id, sink, path, stands_for, published_us int"),
	view("node_counts", `run_id, seq int, node, kind, in_rows int, out_rows int, dropped_rows int, diverted_rows int, created_rows int, consumed_rows int,
		held_rows int`),
	view("node_states", "run_id, source, row int, lane int, seq int, token_id, chunk int, node, kind, label, status, input_hash, output_hash"),
	view("node_totals", `run_id, seq int, node, kind, total, in_amount, created_amount, revalued_amount, out_amount, dropped_amount, diverted_amount,
		consumed_amount, unreadable int`),
	view("payload_refs", "payload, run_id, class"),
	view("purged_payloads", "payload, number int, purge_id int, actor, why, bytes int, begun_us int, deleted_us int"),
	view("quarantined_rows", `run_id, source, row int, lane int, token_id, chunk int, file, line int, byte_offset int, node, code, field, message,
		error_hash, raw_text, raw bytes, raw_bytes int, at_us int`),
	view("routing_events", "run_id, source, row int, lane int, seq int, token_id, node, label, to_node, kind"),
	view("rows", `run_id, source, row int, token_id, chunk int, file, line int, byte_offset int, byte_length int, raw_hash, pack, pack_index int,
		completed int, outcome, path, sink`),
	view("run_links", "run_id, parent_run, link, retried_rows int"),
	view("run_starts", `run_id, seq int, pipeline, actor, trigger, why, key, schedule, slot, workflow, params, accepted_us int, started_us int, status,
		environment`),
	view("run_summary", `run_id, pipeline, status, reason, started_us int, finished_us int, rows_read int, rows_passed int, rows_succeeded int,
		rows_failed int, rows_quarantined int, rows_filtered int, rows_discarded int, tokens int, tokens_transient int, tokens_held int`),
	view("sink_chunks", "run_id, sink, source, chunk int, rows int, bytes int, state, attempts int, ordinal int, refused int"),
	view("sink_rows", "run_id, sink, line_number int, token_id, source, row int, chunk int, ordinal int, lane int"),
	view("sink_totals", `run_id, sink, guarantee, planned_rows int, finalized_rows int, finalized_bytes int, refused_rows int, artifact_path,
		artifact_bytes int, artifact_sha256, published_us int`),
	view("slot_outcomes", `schedule, slot, from_us int, to_us int, due_us int, fired int, state, run_id, status, attempts int, reason, actor, why,
		deadline_us int, late_us int, changed_us int`),
	view("token_outcomes", `run_id, source, row int, lane int, token_id, chunk int, completed int, outcome, path, sink, last_node, error_hash,
		fork_group_id, join_group_id, expand_group_id, batch_id`),
	view("token_parents", "run_id, source, row int, lane int, ordinal int, token_id, parent_token_id, relation"),
	view("tokens", `run_id, source, row int, lane int, token_id, chunk int, pack_index int, way, bound_for, completed int, lane_name, fork_group_id,
		barrier, batch int, batch_id, refused_by`),
	view("why_not", `run_id, seq int, pipeline, state, refusal, reason, actor, trigger, why, key, schedule, slot, workflow, params, accepted_us int,
		decided_us int, environment`),
}

// view describes a view by its columns: "name", "name int" or "name bytes".
func view(name, columns string) Relation {
	types := map[string]ColumnType{"": TextColumn, "int": IntColumn, "bytes": BytesColumn}
	r := Relation{Name: name, ByRow: strings.HasPrefix(columns, "run_id, source, row int,")}
	for column := range strings.SplitSeq(columns, ",") {
		column, kind, _ := strings.Cut(strings.TrimSpace(column), " ")
		r.Columns = append(r.Columns, RelationColumn{column, types[kind]})
	}
	return r
}
