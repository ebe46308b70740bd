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
