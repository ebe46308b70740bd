-- +goose Up
-- +goose StatementBegin
-- Audit tables only grow: for every role, their owner included. An owner can disable a trigger; that is why no process works as the owner.
create function refuse() returns trigger language plpgsql set search_path from current as $$
begin
  raise exception '%: append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

create function fix() returns trigger language plpgsql set search_path from current as $$
begin
  raise exception '%: never changes', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

do $$
declare
  name text;
begin
  foreach name in array array[
    'nodes', 'edges', 'sources', 'lanes', 'tables', 'source_ends', 'folds', 'chunks', 'chunk_rows', 'passages', 'ways', 'way_steps',
    'chunk_ways', 'hashes', 'errors', 'keys', 'claims', 'feeds', 'merge_kinds', 'joins', 'chunk_joins', 'batches', 'members', 'merges',
    'parents', 'retried', 'resumptions', 'effect_events', 'artifacts', 'actions', 'run_events', 'heals'
  ] loop
    execute format('create trigger keep before update or delete or truncate on %I for each statement execute function refuse()', name);
  end loop;
  foreach name in array array['runs', 'effects'] loop
    execute format('create trigger stay before delete or truncate on %I for each statement execute function refuse()', name);
  end loop;
  foreach name in array array['numbers', 'bytes'] loop
    execute format('create trigger fixed before insert or update or delete or truncate on %I for each statement execute function fix()', name);
  end loop;
end $$;

-- The guards of what begins look at the rows that a statement has added. Rows that were there already are none of these: they are compared.
create function runs_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.status <> 'running' or a.epoch <> 0
      or a.parent_run <> '' and not exists (select 1 from runs p where p.run_id = a.parent_run)
  ) then
    raise exception 'runs: a run begins as running, in epoch 0, of no run or of one that is there' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on runs referencing new table as added for each statement execute function runs_birth();

create function chunks_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where (a.fold is null) <> exists (
      select 1 from nodes n where n.run_id = a.run_id and n.node = a.source and n.kind = 'source')
  ) then
    raise exception 'chunks: a barrier''s chunk has a fold, a source''s has none' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on chunks referencing new table as added for each statement execute function chunks_birth();

create function passed() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from passages p where p.run_id = a.run_id and p.source = a.source and p.chunk = a.chunk)
  ) then
    raise exception '%: the chunk did not go through the steps', tg_table_name using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on keys referencing new table as added for each statement execute function passed();
create trigger birth after insert on joins referencing new table as added for each statement execute function passed();
create trigger birth after insert on feeds referencing new table as added for each statement execute function passed();

create function of_barrier() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from nodes n where n.run_id = a.run_id and n.node = a.node and n.kind = 'step')
  ) then
    raise exception '%: not of a barrier', tg_table_name using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger place after insert on feeds referencing new table as added for each statement execute function of_barrier();
create trigger place after insert on folds referencing new table as added for each statement execute function of_barrier();

create function folds_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.kind = 'chunk'
      and not exists (select 1 from passages p where p.run_id = a.run_id and p.source = a.source and p.chunk = a.chunk)
  ) then
    raise exception 'folds: the chunk did not go through the steps' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on folds referencing new table as added for each statement execute function folds_birth();

create function merges_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (
        select 1 from batches b where b.run_id = a.run_id and b.node = a.node and b.batch = a.batch
          and b.path = 'coalesced' and b.rows = json_array_length(a.arrivals::json))
      or not exists (
        select 1 from merge_kinds k where k.run_id = a.run_id and k.kind = a.kind and k.node = a.node
          and (k.result = 'nothing') = (a.out_row is null)
          and json_array_length(k.arrived::json) = json_array_length(a.arrivals::json))
  ) then
    raise exception 'merges: not the merge of its batch' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on merges referencing new table as added for each statement execute function merges_birth();

create function resumptions_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (
      select 1 from runs r where r.run_id = a.run_id and r.epoch = a.epoch - 1 and r.status = a.was and r.final = 0)
  ) then
    raise exception 'resumptions: not the next epoch of the run' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on resumptions referencing new table as added for each statement execute function resumptions_birth();

-- A record is fed again by a run that says so, if it was refused and no sink got it.
create function retried_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from runs r where r.run_id = a.run_id and r.parent_run = a.parent_run and r.link = 'retry')
      or not exists (
        select 1 from errors x
        where x.run_id = a.parent_run and x.source = a.source and x.row = a.row and x.sent_to = '__quarantine__')
  ) then
    raise exception 'retried: not a quarantined record of the run that it is linked to' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on retried referencing new table as added for each statement execute function retried_birth();

create function effects_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.fence <> 0 or a.refused <> 0 or a.state <> case when a.kind = 'write' then 'prepared' else 'reserved' end
      or not exists (select 1 from nodes n where n.run_id = a.run_id and n.node = a.sink and n.kind = 'sink')
      or a.kind = 'write' and not exists (
        select 1 from passages p where p.run_id = a.run_id and p.source = a.source and p.chunk = a.chunk)
  ) then
    raise exception 'effects: not the beginning of an effect' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on effects referencing new table as added for each statement execute function effects_birth();

-- In place of foreign keys, whose rows nobody deletes.
create function claims_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from (select distinct run_id, node, source, lane from added) a
    where not exists (select 1 from nodes n where n.run_id = a.run_id and n.node = a.node)
      or not exists (select 1 from lanes l where l.run_id = a.run_id and l.source = a.source and l.lane = a.lane)
  ) then
    raise exception 'claims: of a node or lane that is not there' using errcode = 'foreign_key_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on claims referencing new table as added for each statement execute function claims_birth();

create function errors_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from (select distinct run_id, source, chunk, lane, node from added) a
    where not exists (
        select 1 from passages p where p.run_id = a.run_id and p.source = a.source and p.chunk = a.chunk and p.lane = a.lane)
      or not exists (select 1 from nodes n where n.run_id = a.run_id and n.node = a.node)
  ) then
    raise exception 'errors: of a passage or node that is not there' using errcode = 'foreign_key_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on errors referencing new table as added for each statement execute function errors_birth();

-- A run ends out of running. It is taken up again in the next epoch, which is on record by then, even if it seems to run: unless all is
-- done, or it was cancelled for good. What is not done can be cancelled, and what is cancelled can be made final.
create function runs_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.run_id, old.pipeline, old.started_us, old.link, old.parent_run, old.code, old.actor, old.trigger, old.host, old.base_dir,
      old.document_file, old.document_sha256, old.plan_sha256, old.document, old.plan, old.params, old.refs)
    is distinct from
    (new.run_id, new.pipeline, new.started_us, new.link, new.parent_run, new.code, new.actor, new.trigger, new.host, new.base_dir,
      new.document_file, new.document_sha256, new.plan_sha256, new.document, new.plan, new.params, new.refs)
  then
    raise exception 'runs: only status, final, epoch, finished_us and reason change' using errcode = 'integrity_constraint_violation';
  end if;
  if old.final = 1 or not (
    new.epoch = old.epoch + 1 and new.status = 'running' and new.final = 0
      and old.status in ('running', 'failed', 'interrupted', 'blocked', 'cancelled')
      and exists (select 1 from resumptions r where r.run_id = new.run_id and r.epoch = new.epoch)
    or new.epoch = old.epoch and (
      old.status = 'running' and new.status <> 'running'
      or old.status in ('failed', 'interrupted', 'blocked') and new.status = 'cancelled'
      or old.status = 'cancelled' and new.status = 'cancelled' and new.final = 1
        and new.finished_us is not distinct from old.finished_us
    )
  ) then
    raise exception 'runs: illegal change of status' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on runs for each row execute function runs_change();

-- reserved > prepared > in_flight (again with every attempt) > finalized or blocked. Out of blocked leads what a person said.
create function effects_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.run_id, old.sink, old.source, old.chunk, old.kind, old.sha256)
    is distinct from (new.run_id, new.sink, new.source, new.chunk, new.kind, new.sha256)
  then
    raise exception 'effects: only state, fence, place, size of a publication, receipt, refused and changed_us change'
      using errcode = 'integrity_constraint_violation';
  end if;
  if not (
    old.state = 'reserved' and new.state = 'prepared'
    or old.state in ('prepared', 'in_flight') and new.state = 'in_flight' and new.fence = old.fence + 1
      and new.rows = old.rows and new.bytes = old.bytes
      and (old.ordinal is null or new.ordinal = old.ordinal and new.byte_offset = old.byte_offset)
    or old.state = 'in_flight' and new.state in ('finalized', 'blocked') and new.fence = old.fence
      and new.rows = old.rows and new.bytes = old.bytes
      and (new.ordinal, new.byte_offset) is not distinct from (old.ordinal, old.byte_offset)
    or old.state = 'blocked' and new.state in ('finalized', 'in_flight') and new.fence = old.fence
      and new.rows = old.rows and new.bytes = old.bytes
      and (new.ordinal, new.byte_offset) is not distinct from (old.ordinal, old.byte_offset)
      and exists (
        select 1 from effect_events v
        where v.run_id = new.run_id and v.sink = new.sink and v.source = new.source and v.chunk = new.chunk and v.fence = new.fence
          and v.event = 'resolved' and v.detail = case when new.state = 'finalized' then 'applied' else 'not_applied' end)
  ) then
    raise exception 'effects: illegal change of state' using errcode = 'integrity_constraint_violation';
  end if;
  if new.refused <> old.refused and (
    old.state = 'finalized' or new.state <> 'finalized'
    or new.refused <> (
      select count(*) from chunks c
      join errors x on x.run_id = c.run_id and x.source = c.source and x.row >= c.first_row and x.row < c.first_row + c.rows
      where c.run_id = new.run_id and c.source = new.source and c.chunk = new.chunk and x.node = new.sink and x.sent_to = '__quarantine__'
    ) - (
      select coalesce(sum(w.rows), 0) from chunk_ways w
      join ways k on k.run_id = w.run_id and k.way = w.way
      where w.run_id = new.run_id and w.source = new.source and w.chunk = new.chunk and k.last_node = new.sink and k.outcome = 'failure'
    )
  ) then
    raise exception 'effects: other rows are refused than errors say, or it is not the moment'
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on effects for each row execute function effects_change();

-- What a target refused is on record while its write ends, in quarantine; later nothing comes to it.
create function errors_late() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from (select distinct run_id, source, chunk, node, sent_to from added) a
    join effects e on e.run_id = a.run_id and e.sink = a.node and e.source = a.source and e.chunk = a.chunk
    where e.state not in ('in_flight', 'blocked') or a.sent_to <> '__quarantine__'
  ) then
    raise exception 'errors: the sink''s target did not refuse it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger late after insert on errors referencing new table as added for each statement execute function errors_late();

-- The writer's role may insert and read. What it may change, it changes through these functions: they compare and set, and the guards
-- above hold for them as for everybody.
create function move_runs(
  run_id text,
  from_epoch bigint, from_status text, from_final bigint, from_finished_us bigint, from_reason text,
  to_epoch bigint, to_status text, to_final bigint, to_finished_us bigint, to_reason text
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update runs r
    set epoch = to_epoch, status = to_status, final = to_final, finished_us = to_finished_us, reason = to_reason
    where r.run_id = move_runs.run_id
      and (r.epoch, r.status, r.final, r.finished_us, r.reason)
        is not distinct from (from_epoch, from_status, from_final, from_finished_us, from_reason)
    returning 1
  )
  select count(*) from moved
$$;

create function move_effects(
  run_id text, sink text, source text, chunk bigint,
  from_rows bigint, from_bytes bigint, from_state text, from_fence bigint, from_ordinal bigint, from_byte_offset bigint,
  from_receipt text, from_refused bigint, from_changed_us bigint,
  to_rows bigint, to_bytes bigint, to_state text, to_fence bigint, to_ordinal bigint, to_byte_offset bigint,
  to_receipt text, to_refused bigint, to_changed_us bigint
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update effects e
    set rows = to_rows, bytes = to_bytes, state = to_state, fence = to_fence, ordinal = to_ordinal, byte_offset = to_byte_offset,
      receipt = to_receipt, refused = to_refused, changed_us = to_changed_us
    where e.run_id = move_effects.run_id and e.sink = move_effects.sink and e.source = move_effects.source
      and e.chunk = move_effects.chunk
      and (e.rows, e.bytes, e.state, e.fence, e.ordinal, e.byte_offset, e.receipt, e.refused, e.changed_us)
        is not distinct from
        (from_rows, from_bytes, from_state, from_fence, from_ordinal, from_byte_offset, from_receipt, from_refused, from_changed_us)
    returning 1
  )
  select count(*) from moved
$$;

-- hold_run returns the epoch of a run, NULL if there is none, and keeps everybody from changing it until the transaction ends; alone,
-- it keeps others from holding it as well.
create function hold_run(run_id text, alone boolean) returns bigint
language plpgsql security definer set search_path from current as $$
declare
  found bigint;
begin
  if alone then
    select r.epoch into found from runs r where r.run_id = hold_run.run_id for no key update;
  else
    select r.epoch into found from runs r where r.run_id = hold_run.run_id for share;
  end if;
  return found;
end $$;

revoke execute on function move_runs, move_effects, hold_run from public;
-- +goose StatementEnd
