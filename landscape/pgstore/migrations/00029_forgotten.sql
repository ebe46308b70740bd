-- +goose Up
-- +goose StatementBegin
-- Rows of which nothing may be kept that tells their values, and the leaves that they had.
create table forgotten (
  run_id   text collate "C" not null,
  source   text collate "C" not null,
  chunk    bigint not null,
  slot     bigint not null check (slot >= 0),
  row      bigint not null check (row >= 1),
  leaf     bytea check (leaf is null or length(leaf) = 32),
  purge_id bigint not null references purges (purge_id),
  primary key (run_id, source, chunk, slot),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
);
create trigger keep before update or delete or truncate on forgotten for each statement execute function refuse();

create function forgotten_birth() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock(payload_lock());
  perform hold_run(a.run_id, false) from (select distinct run_id from added order by run_id) a;
  if exists (
    select 1 from added a
    where not exists (
        select 1 from purges p join purged_runs c using (purge_id) join runs r on r.run_id = c.run_id
        where p.purge_id = a.purge_id and p.rules = '{"forget":true}' and r.run_id = a.run_id and c.epoch = r.epoch
          and (r.status in ('completed', 'completed_with_failures', 'empty') or r.final = 1))
      or not exists (
        select 1 from chunks c where c.run_id = a.run_id and c.source = a.source and c.chunk = a.chunk and a.row = c.first_row + a.slot and a.slot < c.rows)
      or (a.leaf is null) = exists (select 1 from chunk_seals s where s.run_id = a.run_id and s.source = a.source and s.chunk = a.chunk)
  ) then
    raise exception 'forgotten: not a row of a run that has ended, by an order to forget' using errcode = 'check_violation';
  end if;
  if exists (select 1 from added a join held_runs h on h.run_id = a.run_id) then
    raise exception 'payload in use: a run is held' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on forgotten referencing new table as added for each statement execute function forgotten_birth();

-- Leaves of runs' seals that are records of such rows.
create table forgotten_leaves (
  run_id   text collate "C" not null,
  seq      bigint not null,
  leaf     bigint not null check (leaf >= 0),
  hash     bytea not null check (length(hash) = 32),
  purge_id bigint not null references purges (purge_id),
  primary key (run_id, seq, leaf),
  foreign key (run_id, seq) references run_seals (run_id, seq)
);
create trigger keep before update or delete or truncate on forgotten_leaves for each statement execute function refuse();

create function forgotten_leaves_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where not exists (select 1 from forgotten f where f.run_id = a.run_id and f.purge_id = a.purge_id)) then
    raise exception 'forgotten_leaves: the order forgets no row of the run' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on forgotten_leaves referencing new table as added for each statement execute function forgotten_leaves_birth();

-- Which payloads replaced deleted ones of which a record was forgotten.
create table repacked (
  payload     text collate "C" not null,
  number      bigint not null,
  replacement text collate "C" not null check (replacement ~ '^[0-9a-f]{64}$' and replacement <> payload),
  primary key (payload, number),
  foreign key (payload, number) references deletions (payload, number)
);
create index repacked_by_replacement on repacked (replacement);
create trigger keep before update or delete or truncate on repacked for each statement execute function refuse();

create function repacked_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (
      select 1 from deletions d join purges p using (purge_id)
      where d.payload = a.payload and d.number = a.number and p.rules = '{"forget":true}')
  ) then
    raise exception 'repacked: not deleted by an order to forget' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on repacked referencing new table as added for each statement execute function repacked_birth();

-- Orders to forget that were carried out.
create table forgettings (
  purge_id    bigint not null references purges (purge_id),
  rows        bigint not null check (rows > 0),
  certificate text collate "C" not null check (certificate <> ''),
  at_us       bigint not null check (at_us > 0),
  primary key (purge_id)
);
create trigger keep before update or delete or truncate on forgettings for each statement execute function refuse();

create function forgettings_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.rows <> (select count(*) from forgotten f where f.purge_id = a.purge_id)) then
    raise exception 'forgettings: the order forgets another number of rows' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on forgettings referencing new table as added for each statement execute function forgettings_birth();

-- A payload is needed by whoever needs one that it replaced.
create or replace function deletions_birth() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock(payload_lock());
  if exists (
    select 1 from added a
    where a.number <> (select count(*) from deletions t where t.payload = a.payload)
      or a.number > 1 and not exists (select 1 from returned_payloads t where t.payload = a.payload and t.number = a.number - 1)
  ) then
    raise exception 'deletions: append-only: it is being deleted, or is deleted, already' using errcode = 'check_violation';
  end if;
  if exists (
    with recursive was (purge_id, payload) as (
      select a.purge_id, a.payload from added a
      union select was.purge_id, p.payload from repacked p join was on p.replacement = was.payload
    )
    select 1 from was join payload_refs f using (payload) join runs r on r.run_id = f.run_id
    where exists (select 1 from held_runs h where h.run_id = r.run_id)
      or not exists (select 1 from purged_runs p where p.purge_id = was.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch)
  ) then
    raise exception 'deletions: payload in use: a run needs it, or is held' using errcode = 'check_violation';
  end if;
  return null;
end $$;

-- A row that is forgotten may be blanked, and nothing else may change. zeroed reports whether a column changed only where one of the slots is
-- forgotten, and is zero there.
create function zeroed(was bytea, now bytea, size bigint, slots bigint[]) returns boolean language sql immutable as $$
  select length(was) = length(now) and not exists (
    select 1 from generate_series(0, length(was)::bigint / size - 1) n
    where substr(was, (n * size)::int + 1, size::int) <> substr(now, (n * size)::int + 1, size::int)
      and (n <> all (slots) or substr(now, (n * size)::int + 1, size::int) <> decode(repeat('00', size::int), 'hex')))
$$;

create function chunk_rows_blank() returns trigger language plpgsql set search_path from current as $$
declare
  slots bigint[];
begin
  select array_agg(f.slot % 1024) into slots
  from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.slot / 1024 = old.slice;
  if slots is null or not zeroed(old.raw_hashes, new.raw_hashes, 32, slots)
    or (new.run_id, new.source, new.chunk, new.slice, new.rows, new.offsets, new.lengths, new.lines)
      is distinct from (old.run_id, old.source, old.chunk, old.slice, old.rows, old.offsets, old.lengths, old.lines)
  then
    raise exception 'chunk_rows: append-only' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function chunks_blank() returns trigger language plpgsql set search_path from current as $$
begin
  if not exists (select 1 from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk <= old.chunk)
    or new.cursor::jsonb is distinct from old.cursor::jsonb - 'digest'
    or (new.run_id, new.source, new.chunk, new.file, new.first_row, new.rows, new.first_line, new.first_offset, new.bytes, new.blank, new.comments, new.pack,
        new.last, new.fold, new.attempt, new.read_us)
      is distinct from
      (old.run_id, old.source, old.chunk, old.file, old.first_row, old.rows, old.first_line, old.first_offset, old.bytes, old.blank, old.comments, old.pack,
        old.last, old.fold, old.attempt, old.read_us)
  then
    raise exception 'chunks: append-only' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function hashes_blank() returns trigger language plpgsql set search_path from current as $$
declare
  places bigint[];
begin
  select array_agg(case when old.slots is null then f.slot % 1024
      else 256 * get_byte(old.slots, (2 * (f.slot % 1024))::int) + get_byte(old.slots, (2 * (f.slot % 1024))::int + 1) - 1 end) into places
  from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.slot / 1024 = old.slice;
  if places is null or not zeroed(old.hashes, new.hashes, 32, places)
    or (new.run_id, new.source, new.chunk, new.lane, new.node, new.slice, new.rows, new.slots)
      is distinct from (old.run_id, old.source, old.chunk, old.lane, old.node, old.slice, old.rows, old.slots)
  then
    raise exception 'hashes: append-only' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function keys_blank() returns trigger language plpgsql set search_path from current as $$
declare
  slots bigint[];
begin
  select array_agg(f.slot) into slots from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk;
  if slots is null or not zeroed(old.hashes, new.hashes, 4, slots)
    or (new.run_id, new.source, new.chunk, new.field) is distinct from (old.run_id, old.source, old.chunk, old.field)
  then
    raise exception 'keys: append-only' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function errors_blank() returns trigger language plpgsql set search_path from current as $$
begin
  if not exists (select 1 from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.row = old.row)
    or (new.message, new.raw, new.error_hash) is distinct from ('', ''::bytea, repeat('0', 64))
    or (new.run_id, new.source, new.row, new.lane, new.node, new.chunk, new.code, new.field, new.raw_is_text, new.raw_bytes, new.line, new.byte_offset, new.sent_to, new.at_us)
      is distinct from
      (old.run_id, old.source, old.row, old.lane, old.node, old.chunk, old.code, old.field, old.raw_is_text, old.raw_bytes, old.line, old.byte_offset, old.sent_to, old.at_us)
  then
    raise exception 'errors: append-only' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function salts_replace() returns trigger language plpgsql set search_path from current as $$
begin
  if (new.run_id, new.source, new.chunk) is distinct from (old.run_id, old.source, old.chunk)
    or not exists (select 1 from forgotten f where f.run_id = old.run_id)
  then
    raise exception 'salts: append-only' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function salts_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.chunk >= 0 and not exists (select 1 from forgotten f where f.run_id = a.run_id)) then
    raise exception 'salts: no row of the run is forgotten' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on salts referencing new table as added for each statement execute function salts_birth();

do $$
declare
  rule record;
begin
  for rule in select * from (values ('chunks', 'chunks_blank'), ('chunk_rows', 'chunk_rows_blank'), ('hashes', 'hashes_blank'), ('keys', 'keys_blank'), ('errors', 'errors_blank'), ('salts', 'salts_replace')) v (name, guard) loop
    execute format('drop trigger keep on %I', rule.name);
    execute format('create trigger keep before delete or truncate on %I for each statement execute function refuse()', rule.name);
    execute format('create trigger blank before update on %I for each row execute function %I()', rule.name, rule.guard);
  end loop;
end $$;

-- Once rows of a run are forgotten, its salts are more than one record.
alter table salts drop constraint salts_check;
alter table salts drop constraint salts_keys_check;
alter table salts add constraint salts_check check (chunk >= 0 or chunk = -1 and source = '');
alter table salts add constraint salts_keys_check check (length(keys) % 16 = 0 and (chunk >= 0 or length(keys) = 16));

-- A purger blanks by these functions, and in no other way.
create function move_chunks(run_id text, source text, chunk bigint, from_cursor text, to_cursor text)
returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update chunks c set cursor = to_cursor
    where c.run_id = move_chunks.run_id and c.source = move_chunks.source and c.chunk = move_chunks.chunk and c.cursor = from_cursor
    returning 1
  )
  select count(*) from moved
$$;
create function move_chunk_rows(run_id text, source text, chunk bigint, slice bigint, from_raw_hashes bytea, to_raw_hashes bytea)
returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update chunk_rows r set raw_hashes = to_raw_hashes
    where r.run_id = move_chunk_rows.run_id and r.source = move_chunk_rows.source and r.chunk = move_chunk_rows.chunk and r.slice = move_chunk_rows.slice
      and r.raw_hashes = from_raw_hashes
    returning 1
  )
  select count(*) from moved
$$;
create function move_hashes(run_id text, source text, chunk bigint, lane bigint, node text, slice bigint, from_hashes bytea, to_hashes bytea)
returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update hashes h set hashes = to_hashes
    where h.run_id = move_hashes.run_id and h.source = move_hashes.source and h.chunk = move_hashes.chunk and h.lane = move_hashes.lane
      and h.node = move_hashes.node and h.slice = move_hashes.slice and h.hashes = from_hashes
    returning 1
  )
  select count(*) from moved
$$;
create function move_keys(run_id text, source text, chunk bigint, field text, from_hashes bytea, to_hashes bytea)
returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update keys k set hashes = to_hashes
    where k.run_id = move_keys.run_id and k.source = move_keys.source and k.chunk = move_keys.chunk and k.field = move_keys.field and k.hashes = from_hashes
    returning 1
  )
  select count(*) from moved
$$;
create function move_errors(
  run_id text, source text, "row" bigint, lane bigint, node text,
  from_message text, from_error_hash text, from_raw bytea, to_message text, to_error_hash text, to_raw bytea
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update errors e set message = to_message, error_hash = to_error_hash, raw = to_raw
    where e.run_id = move_errors.run_id and e.source = move_errors.source and e.row = move_errors."row" and e.lane = move_errors.lane and e.node = move_errors.node
      and (e.message, e.error_hash, e.raw) is not distinct from (from_message, from_error_hash, from_raw)
    returning 1
  )
  select count(*) from moved
$$;
create function move_salts(run_id text, source text, chunk bigint, from_keys bytea, to_keys bytea)
returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update salts s set keys = to_keys
    where s.run_id = move_salts.run_id and s.source = move_salts.source and s.chunk = move_salts.chunk and s.keys = from_keys
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_chunks, move_chunk_rows, move_hashes, move_keys, move_errors, move_salts from public;

-- Who may read the record, and purge, may do so here.
do $$
declare
  given record;
begin
  for given in
    select c.relname as of, a.grantee::regrole as role, a.privilege_type as privilege
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid in ('resumptions'::regclass, 'purges'::regclass) and a.grantee not in (0, c.relowner) and a.privilege_type in ('SELECT', 'INSERT')
  loop
    if given.privilege = 'SELECT' then
      execute format('grant select on forgotten, forgotten_leaves, repacked, forgettings to %s', given.role);
    elsif given.of = 'purges' then
      execute format('grant insert on forgotten, forgotten_leaves, repacked, forgettings, salts to %s', given.role);
      execute format('grant execute on function move_chunks, move_chunk_rows, move_hashes, move_keys, move_errors, move_salts, hold_run, append_log to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
