-- +goose Up
-- +goose StatementBegin
-- Audit tables only grow.
create trigger nodes_keep before update on nodes begin select raise(abort, 'nodes: append-only'); end;
create trigger edges_keep before update on edges begin select raise(abort, 'edges: append-only'); end;
create trigger sources_keep before update on sources begin select raise(abort, 'sources: append-only'); end;
create trigger source_ends_keep before update on source_ends begin select raise(abort, 'source_ends: append-only'); end;
create trigger chunks_keep before update on chunks begin select raise(abort, 'chunks: append-only'); end;
create trigger chunk_rows_keep before update on chunk_rows begin select raise(abort, 'chunk_rows: append-only'); end;
create trigger passages_keep before update on passages begin select raise(abort, 'passages: append-only'); end;
create trigger ways_keep before update on ways begin select raise(abort, 'ways: append-only'); end;
create trigger way_steps_keep before update on way_steps begin select raise(abort, 'way_steps: append-only'); end;
create trigger chunk_ways_keep before update on chunk_ways begin select raise(abort, 'chunk_ways: append-only'); end;
create trigger hashes_keep before update on hashes begin select raise(abort, 'hashes: append-only'); end;
create trigger errors_keep before update on errors begin select raise(abort, 'errors: append-only'); end;
create trigger keys_keep before update on keys begin select raise(abort, 'keys: append-only'); end;
create trigger claims_keep before update on claims begin select raise(abort, 'claims: append-only'); end;
create trigger effect_events_keep before update on effect_events begin select raise(abort, 'effect_events: append-only'); end;
create trigger artifacts_keep before update on artifacts begin select raise(abort, 'artifacts: append-only'); end;
create trigger actions_keep before update on actions begin select raise(abort, 'actions: append-only'); end;
create trigger run_events_keep before update on run_events begin select raise(abort, 'run_events: append-only'); end;
create trigger heals_keep before update on heals begin select raise(abort, 'heals: append-only'); end;
create trigger nodes_stay before delete on nodes begin select raise(abort, 'nodes: append-only'); end;
create trigger edges_stay before delete on edges begin select raise(abort, 'edges: append-only'); end;
create trigger sources_stay before delete on sources begin select raise(abort, 'sources: append-only'); end;
create trigger source_ends_stay before delete on source_ends begin select raise(abort, 'source_ends: append-only'); end;
create trigger chunks_stay before delete on chunks begin select raise(abort, 'chunks: append-only'); end;
create trigger chunk_rows_stay before delete on chunk_rows begin select raise(abort, 'chunk_rows: append-only'); end;
create trigger passages_stay before delete on passages begin select raise(abort, 'passages: append-only'); end;
create trigger ways_stay before delete on ways begin select raise(abort, 'ways: append-only'); end;
create trigger way_steps_stay before delete on way_steps begin select raise(abort, 'way_steps: append-only'); end;
create trigger chunk_ways_stay before delete on chunk_ways begin select raise(abort, 'chunk_ways: append-only'); end;
create trigger hashes_stay before delete on hashes begin select raise(abort, 'hashes: append-only'); end;
create trigger errors_stay before delete on errors begin select raise(abort, 'errors: append-only'); end;
create trigger keys_stay before delete on keys begin select raise(abort, 'keys: append-only'); end;
create trigger claims_stay before delete on claims begin select raise(abort, 'claims: append-only'); end;
create trigger effect_events_stay before delete on effect_events begin select raise(abort, 'effect_events: append-only'); end;
create trigger artifacts_stay before delete on artifacts begin select raise(abort, 'artifacts: append-only'); end;
create trigger actions_stay before delete on actions begin select raise(abort, 'actions: append-only'); end;
create trigger run_events_stay before delete on run_events begin select raise(abort, 'run_events: append-only'); end;
create trigger heals_stay before delete on heals begin select raise(abort, 'heals: append-only'); end;
create trigger runs_stay before delete on runs begin select raise(abort, 'runs: append-only'); end;
create trigger effects_stay before delete on effects begin select raise(abort, 'effects: append-only'); end;

-- What is there stays: `insert or replace` fires no trigger on delete in a shell with default settings, so an insert is refused
-- before it can replace anything, whether by the key, by another unique value or by rowid.
create trigger runs_once before insert on runs when exists (select 1 from runs t where t.run_id = new.run_id)
begin select raise(abort, 'runs: append-only: it is there already'); end;
create trigger nodes_once before insert on nodes when exists (select 1 from nodes t where t.run_id = new.run_id and t.node = new.node)
  or exists (select 1 from nodes t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'nodes: append-only: it is there already'); end;
create trigger edges_once before insert on edges when exists (select 1 from edges t where t.run_id = new.run_id and t.from_node = new.from_node and t.kind = new.kind and t.label = new.label)
begin select raise(abort, 'edges: append-only: it is there already'); end;
create trigger sources_once before insert on sources when exists (select 1 from sources t where t.run_id = new.run_id and t.source = new.source)
begin select raise(abort, 'sources: append-only: it is there already'); end;
create trigger source_ends_once before insert on source_ends when exists (select 1 from source_ends t where t.run_id = new.run_id and t.source = new.source)
begin select raise(abort, 'source_ends: append-only: it is there already'); end;
create trigger chunks_once before insert on chunks when exists (select 1 from chunks t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'chunks: append-only: it is there already'); end;
create trigger chunk_rows_once before insert on chunk_rows when exists (select 1 from chunk_rows t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.slice = new.slice)
  or exists (select 1 from chunk_rows t where t.rowid = new.rowid)
begin select raise(abort, 'chunk_rows: append-only: it is there already'); end;
create trigger passages_once before insert on passages when exists (select 1 from passages t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'passages: append-only: it is there already'); end;
create trigger ways_once before insert on ways when exists (select 1 from ways t where t.run_id = new.run_id and t.way = new.way)
begin select raise(abort, 'ways: append-only: it is there already'); end;
create trigger way_steps_once before insert on way_steps when exists (select 1 from way_steps t where t.run_id = new.run_id and t.way = new.way and t.seq = new.seq)
begin select raise(abort, 'way_steps: append-only: it is there already'); end;
create trigger chunk_ways_once before insert on chunk_ways when exists (select 1 from chunk_ways t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.code = new.code)
  or exists (select 1 from chunk_ways t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.way = new.way)
begin select raise(abort, 'chunk_ways: append-only: it is there already'); end;
create trigger hashes_once before insert on hashes when exists (select 1 from hashes t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.node = new.node and t.slice = new.slice)
  or exists (select 1 from hashes t where t.rowid = new.rowid)
begin select raise(abort, 'hashes: append-only: it is there already'); end;
create trigger errors_once before insert on errors when exists (select 1 from errors t where t.run_id = new.run_id and t.source = new.source and t.row = new.row and t.node = new.node)
begin select raise(abort, 'errors: append-only: it is there already'); end;
create trigger keys_once before insert on keys when exists (select 1 from keys t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.field = new.field)
  or exists (select 1 from keys t where t.rowid = new.rowid)
begin select raise(abort, 'keys: append-only: it is there already'); end;
create trigger claims_once before insert on claims when exists (select 1 from claims t where t.run_id = new.run_id and t.source = new.source and t.field = new.field and t.key_hash = new.key_hash)
begin select raise(abort, 'claims: append-only: it is there already'); end;
create trigger effects_once before insert on effects when exists (select 1 from effects t where t.run_id = new.run_id and t.sink = new.sink and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'effects: append-only: it is there already'); end;
create trigger effect_events_once before insert on effect_events when exists (select 1 from effect_events t where t.run_id = new.run_id and t.sink = new.sink and t.source = new.source and t.chunk = new.chunk and t.fence = new.fence and t.event = new.event and t.worker = new.worker and t.at_us = new.at_us)
begin select raise(abort, 'effect_events: append-only: it is there already'); end;
create trigger artifacts_once before insert on artifacts when exists (select 1 from artifacts t where t.run_id = new.run_id and t.sink = new.sink)
begin select raise(abort, 'artifacts: append-only: it is there already'); end;
create trigger actions_once before insert on actions when exists (select 1 from actions t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'actions: append-only: it is there already'); end;
create trigger run_events_once before insert on run_events when exists (select 1 from run_events t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'run_events: append-only: it is there already'); end;
create trigger heals_once before insert on heals when exists (select 1 from heals t where t.digest = new.digest and t.at_us = new.at_us)
begin select raise(abort, 'heals: append-only: it is there already'); end;

-- What the views count with never changes, and the versions of the schema only grow.
create trigger numbers_fixed before insert on numbers begin select raise(abort, 'numbers: never changes'); end;
create trigger numbers_keep before update on numbers begin select raise(abort, 'numbers: never changes'); end;
create trigger numbers_stay before delete on numbers begin select raise(abort, 'numbers: never changes'); end;
create trigger bytes_fixed before insert on bytes begin select raise(abort, 'bytes: never changes'); end;
create trigger bytes_keep before update on bytes begin select raise(abort, 'bytes: never changes'); end;
create trigger bytes_stay before delete on bytes begin select raise(abort, 'bytes: never changes'); end;
create trigger goose_db_version_keep before update on goose_db_version begin select raise(abort, 'goose_db_version: append-only'); end;
create trigger goose_db_version_stay before delete on goose_db_version begin select raise(abort, 'goose_db_version: append-only'); end;
create trigger goose_db_version_once before insert on goose_db_version when exists (select 1 from goose_db_version t where t.id = new.id)
begin select raise(abort, 'goose_db_version: append-only: it is there already'); end;

-- A run is born running. Only its status, with its time and reason, changes: out of running, and back from a stop that can be mended.
create trigger runs_birth before insert on runs when new.status <> 'running'
begin select raise(abort, 'runs: a run begins as running'); end;

create trigger runs_keep before update of
  run_id, pipeline, document, document_sha256, plan, plan_sha256, params, refs, code, actor, trigger, host, base_dir, started_us on runs
begin select raise(abort, 'runs: only status, finished_us and reason change'); end;

create trigger runs_status before update on runs
when not (old.status = 'running' and new.status <> 'running' or old.status in ('failed', 'interrupted') and new.status = 'running')
begin select raise(abort, 'runs: illegal change of status'); end;

-- An effect is born with what is known: a write is prepared and belongs to a chunk that passed, a publication is reserved.
create trigger effects_birth before insert on effects
when new.fence <> 0 or new.state <> iif(new.kind = 'write', 'prepared', 'reserved')
  or not exists (select 1 from nodes n where n.run_id = new.run_id and n.node = new.sink and n.kind = 'sink')
  or new.kind = 'write' and not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
begin select raise(abort, 'effects: not the beginning of an effect'); end;

create trigger effects_keep before update of run_id, sink, source, chunk, kind, sha256 on effects
begin select raise(abort, 'effects: what is written where never changes'); end;

create trigger effects_place before update of ordinal on effects
when old.ordinal is null
  and exists (select 1 from effects t where t.run_id = new.run_id and t.sink = new.sink and t.ordinal = new.ordinal)
begin select raise(abort, 'effects: two writes in one place'); end;

-- reserved > prepared > in_flight (again with every attempt) > finalized or blocked.
create trigger effects_state before update on effects
when not (
  old.state = 'reserved' and new.state = 'prepared'
  or old.state in ('prepared', 'in_flight') and new.state = 'in_flight' and new.fence = old.fence + 1
    and new.rows = old.rows and new.bytes = old.bytes
    and (old.ordinal is null or new.ordinal = old.ordinal and new.byte_offset = old.byte_offset)
  or old.state = 'in_flight' and new.state in ('finalized', 'blocked') and new.fence = old.fence
    and new.rows = old.rows and new.bytes = old.bytes
    and new.ordinal is old.ordinal and new.byte_offset is old.byte_offset
)
begin select raise(abort, 'effects: illegal change of state'); end;
-- +goose StatementEnd
