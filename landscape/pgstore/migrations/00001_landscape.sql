-- The landscape in Postgres: the tables, columns, keys, checks and views of SQLite's landscapes. docs/landscape.md explains
-- them, and what is in each column. Numbers and truth values are bigint. Texts are ordered by their bytes, whatever the
-- collation of the database is. The search path is the landscape's schema alone.

-- ========== Guards that several tables share ==========

-- Audit tables only grow: for every role, their owner included. An owner can disable a trigger; that is why no process
-- works as the owner.
create function refuse() returns trigger language plpgsql set search_path from current as $$
begin
  raise exception '%: append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

create function fix() returns trigger language plpgsql set search_path from current as $$
begin
  raise exception '%: never changes', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

-- The guards of what begins look at the rows that a statement has added.
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

-- A transaction that stores what refers to a payload shares this lock until it ends; one that allows payloads to be
-- deleted has it alone. So the second of two always sees what the first did.
create function payload_lock() returns bigint language sql stable set search_path from current as $$
  select hashtextextended('payloads ' || current_schema(), 0)
$$;

-- Nothing may refer to a payload that was purged, unless it was stored again. The argument names the column.
create function refer() returns trigger language plpgsql set search_path from current as $$
declare
  gone boolean;
begin
  perform pg_advisory_xact_lock_shared(payload_lock());
  execute format('select exists (select 1 from added a join purged_payloads p on p.payload = a.%I)', tg_argv[0]) into gone;
  if gone then
    raise exception 'payload purged: store it again' using errcode = 'check_violation';
  end if;
  return null;
end $$;

-- What is recorded of a run is removed in the transaction that archives it, and not without a note of the payloads that
-- it refers to: the argument names the column that has them.
create function archiving() returns trigger language plpgsql set search_path from current as $$
begin
  if not exists (select 1 from archives a where a.xmin = pg_current_xact_id()::xid) then
    raise exception '%: append-only', tg_table_name using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;

create function archived() returns trigger language plpgsql set search_path from current as $$
begin
  if not exists (select 1 from archives a where a.run_id = old.run_id and a.xmin = pg_current_xact_id()::xid)
    or tg_nargs = 1 and to_jsonb(old) ->> tg_argv[0] is not null
      and not exists (select 1 from archived_payloads p where p.run_id = old.run_id and p.payload = to_jsonb(old) ->> tg_argv[0])
  then
    raise exception '%: append-only', tg_table_name using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;

-- A row that is forgotten may be blanked, and nothing else may change. zeroed reports whether a column changed only
-- where one of the slots is forgotten, and is zero there.
create function zeroed(was bytea, now bytea, size bigint, slots bigint[]) returns boolean language sql immutable as $$
  select length(was) = length(now) and not exists (
    select 1 from generate_series(0, length(was)::bigint / size - 1) n
    where substr(was, (n * size)::int + 1, size::int) <> substr(now, (n * size)::int + 1, size::int)
      and (n <> all (slots) or substr(now, (n * size)::int + 1, size::int) <> decode(repeat('00', size::int), 'hex')))
$$;

-- ========== Runs and their graphs ==========

-- One row per run. What changes, and what lists show, comes first: it is read without the pages of the long texts.
create table runs (
  run_id          text collate "C" primary key check (run_id <> ''),
  epoch           bigint not null check (epoch >= 0),
  pipeline        text collate "C" not null check (pipeline <> ''),
  status          text collate "C" not null check (status in ('running', 'completed', 'completed_with_failures', 'empty', 'failed', 'interrupted', 'blocked', 'cancelled')),
  final           bigint not null check (final in (0, 1)),
  started_us      bigint not null check (started_us > 0),
  finished_us     bigint,
  reason          text collate "C" not null,
  link            text collate "C" not null check (link in ('', 'fork', 'retry')),
  parent_run      text collate "C" not null check (parent_run <> run_id),
  code            text collate "C" not null,
  actor           text collate "C" not null,
  trigger         text collate "C" not null,
  host            text collate "C" not null,
  base_dir        text collate "C" not null,
  document_file   text collate "C" not null,
  document_sha256 text collate "C" not null check (document_sha256 ~ '^[0-9a-f]{64}$'),
  plan_sha256     text collate "C" not null check (plan_sha256 ~ '^[0-9a-f]{64}$'),
  document        text collate "C" not null,
  plan            text collate "C" not null check (json_typeof(plan::json) is not null),
  params          text collate "C" not null check (json_typeof(params::json) = 'object'),
  refs            text collate "C" not null check (json_typeof(refs::json) is not null),
  version         bigint not null check (version >= 0),
  environment     text collate "C" not null,
  environment_seq bigint not null check (environment_seq >= 0),
  check ((status = 'running') = (finished_us is null)),
  check (final = 0 or status = 'cancelled'),
  check ((link = '') = (parent_run = ''))
);
create index runs_started on runs (started_us, run_id);
create index runs_by_status on runs (status, run_id);
create index runs_by_parent on runs (parent_run, run_id);

create function runs_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.status <> 'running' or a.epoch <> 0
      or a.parent_run <> '' and not exists (select 1 from runs p where p.run_id = a.parent_run)
  ) then
    raise exception 'runs: a run begins as running, in epoch 0, of no run or of one that is there' using errcode = 'check_violation';
  end if;
  if exists (
    select 1 from added a
    where a.version > 0 and not exists (
      select 1 from pipeline_versions v join bundles b using (bundle_sha256)
      where v.pipeline = a.pipeline and v.version = a.version and b.document_sha256 = a.document_sha256)
  ) then
    raise exception 'runs: a run of a version has the document of that version' using errcode = 'check_violation';
  end if;
  if exists (
    select 1 from added a
    where a.environment_seq > 0 and not exists (
      select 1 from environments e where e.environment = a.environment and e.seq = a.environment_seq)
  ) then
    raise exception 'runs: a run has values that its environment had' using errcode = 'check_violation';
  end if;
  return null;
end $$;

-- A run ends out of running. It is resumed in the next epoch, which is recorded before, even if it seems to run: unless
-- it is done, or was cancelled for good. A run that is not done can be cancelled, and a cancelled one can be made
-- final.
create function runs_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.run_id, old.pipeline, old.started_us, old.link, old.parent_run, old.code, old.actor, old.trigger, old.host, old.base_dir,
      old.document_file, old.document_sha256, old.plan_sha256, old.document, old.plan, old.params, old.refs,
      old.version, old.environment, old.environment_seq)
    is distinct from
    (new.run_id, new.pipeline, new.started_us, new.link, new.parent_run, new.code, new.actor, new.trigger, new.host, new.base_dir,
      new.document_file, new.document_sha256, new.plan_sha256, new.document, new.plan, new.params, new.refs,
      new.version, new.environment, new.environment_seq)
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

-- A run does not begin any more once its arrivals were taken back.
create function runs_arrivals() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added n join arrival_runs l on l.run_id = n.run_id join arrivals a on (a.trigger, a.item, a.revision) = (l.trigger, l.item, l.revision)
    where a.run_id <> n.run_id
  ) then
    raise exception 'runs: not the beginning: its arrivals were taken back' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on runs referencing new table as added
  for each statement execute function runs_birth();
create trigger arrivals after insert on runs referencing new table as added
  for each statement execute function runs_arrivals();
create trigger change before update on runs for each row execute function runs_change();
create trigger stay before delete or truncate on runs for each statement execute function refuse();

-- The role of a writer may insert and read. What it may change, it changes through functions such as this one: they
-- compare and set, and the guards hold for them as for every role.
create function move_runs(
  run_id text,
  from_epoch bigint, from_status text, from_final bigint, from_finished_us bigint, from_reason text,
  to_epoch bigint, to_status text, to_final bigint, to_finished_us bigint, to_reason text
) returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update runs r
  set epoch = to_epoch, status = to_status, final = to_final, finished_us = to_finished_us, reason = to_reason
  where r.run_id = move_runs.run_id
    and (r.epoch, r.status, r.final, r.finished_us, r.reason)
      is not distinct from (from_epoch, from_status, from_final, from_finished_us, from_reason);
  get diagnostics moved = row_count;
  return moved;
end $$;

-- hold_run keeps other transactions from changing a run until this one ends; alone, it keeps them from holding it as
-- well. With an epoch it refuses a run that is in another one, or not there if the epoch is not 0; running, it refuses
-- one that has ended.
create function hold_run(run_id text, alone boolean, epoch bigint, running boolean) returns void
language plpgsql security definer set search_path from current as $$
declare
  found_epoch bigint;
  found_status text;
begin
  if alone then
    select r.epoch, r.status into found_epoch, found_status from runs r where r.run_id = hold_run.run_id for no key update;
  else
    select r.epoch, r.status into found_epoch, found_status from runs r where r.run_id = hold_run.run_id for share;
  end if;
  if epoch <> coalesce(found_epoch, 0) then
    raise exception 'run % is in epoch %, not %', run_id, coalesce(found_epoch, 0), epoch using errcode = 'WM001';
  end if;
  if running and found_status <> 'running' then
    raise exception 'run %', run_id using errcode = 'WM002';
  end if;
end $$;

-- The nodes of a run's graph.
create table nodes (
  run_id      text collate "C" not null references runs (run_id),
  node        text collate "C" not null check (node <> '' and node not like '\_\_%' escape '\'),
  seq         bigint not null check (seq >= 0),
  kind        text collate "C" not null check (kind in ('source', 'step', 'sink')),
  operation   text collate "C" not null check (operation <> ''),
  config      text collate "C" not null check (json_typeof(config::json) is not null),
  determinism text collate "C" not null check (determinism in ('deterministic', 'seeded', 'reads_io', 'writes_io', 'external_call', 'non_deterministic')),
  guarantee   text collate "C" not null check (guarantee in ('', 'transactional', 'idempotent', 'reconcilable', 'at_least_once')),
  hashes      text collate "C" not null check (hashes in ('own', 'input', 'record')),
  primary key (run_id, node),
  unique (run_id, seq),
  check ((kind = 'sink') = (guarantee <> '')),
  check (kind = 'step' or hashes = case when kind = 'source' then 'own' else 'input' end)
);

-- Where tokens may go.
create table edges (
  run_id    text collate "C" not null,
  from_node text collate "C" not null,
  kind      text collate "C" not null check (kind in ('flow', 'route', 'error')),
  label     text collate "C" not null,
  to_node   text collate "C" not null check (to_node <> ''),
  primary key (run_id, from_node, kind, label),
  foreign key (run_id, from_node) references nodes (run_id, node),
  check (kind = 'route' or label = '')
);

-- What a source held when the run began, as JSON.
create table sources (
  run_id text collate "C" not null,
  source text collate "C" not null,
  info   text collate "C" not null check (json_typeof(info::json) is not null),
  primary key (run_id, source),
  foreign key (run_id, source) references nodes (run_id, node)
);

-- The kinds of tokens, numbered over the whole graph: the record itself, the copies that forks send down branches, and
-- what coalesces make of them.
create table lanes (
  run_id text collate "C" not null,
  lane   bigint not null check (lane >= 0),
  source text collate "C" not null,
  name   text collate "C" not null,
  parent bigint check (parent >= 0 and parent < lane),
  node   text collate "C" not null,
  branch text collate "C" not null,
  fork   text collate "C" not null,
  primary key (run_id, lane),
  unique (run_id, source, lane),
  unique (run_id, source, name),
  foreign key (run_id, source) references sources (run_id, source),
  foreign key (run_id, source, parent) references lanes (run_id, source, lane),
  check ((parent is null) = (name = '')),
  check ((parent is null) = (node = '')),
  check ((parent is null) = (fork = '')),
  check ((branch <> '') = (parent is not null and node = fork))
);

-- What a lookup read.
create table lookup_tables (
  run_id text collate "C" not null,
  node   text collate "C" not null,
  path   text collate "C" not null check (path <> ''),
  sha256 text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$'),
  bytes  bigint not null check (bytes >= 0),
  rows   bigint not null check (rows >= 0),
  primary key (run_id, node),
  foreign key (run_id, node) references nodes (run_id, node)
);
create index lookup_tables_by_sha256 on lookup_tables (sha256);

create trigger archived before delete on lookup_tables for each row execute function archived('sha256');
create trigger archiving before delete on lookup_tables for each statement execute function archiving();
create trigger purged after insert on lookup_tables referencing new table as added
  for each statement execute function refer('sha256');

-- ========== What was read ==========

-- A source that was read to its end, or a barrier after its last fold.
create table source_ends (
  run_id   text collate "C" not null,
  source   text collate "C" not null,
  chunks   bigint not null check (chunks >= 0),
  rows     bigint not null check (rows >= 0),
  blank    bigint not null check (blank >= 0),
  comments bigint not null check (comments >= 0),
  bytes    bigint not null check (bytes >= 0),
  digests  text collate "C" not null check (json_typeof(digests::json) is not null),
  ended_us bigint not null check (ended_us > 0),
  primary key (run_id, source),
  foreign key (run_id, source) references sources (run_id, source)
);

-- One step of a barrier.
create table folds (
  run_id         text collate "C" not null,
  node           text collate "C" not null,
  fold           bigint not null check (fold >= 0),
  kind           text collate "C" not null check (kind in ('chunk', 'tick', 'end')),
  source         text collate "C" not null,
  chunk          bigint not null,
  at_us          bigint not null check (at_us > 0),
  state          text collate "C" check (state ~ '^[0-9a-f]{64}$'),
  opened_batches bigint not null check (opened_batches >= 0),
  open_batches   bigint not null check (open_batches between 0 and opened_batches),
  held_rows      bigint not null check (held_rows >= 0),
  out_rows       bigint not null check (out_rows >= 0),
  turn           bigint not null check (turn >= 0),
  deadline_us    bigint check (deadline_us > 0),
  primary key (run_id, node, fold),
  foreign key (run_id, node) references sources (run_id, source),
  check (case when kind = 'chunk' then source <> '' and chunk >= 0 else source = '' and chunk = -1 end),
  check (kind <> 'end' or open_batches = 0 and held_rows = 0)
);
create unique index folds_by_chunk on folds (run_id, node, source, chunk) where kind = 'chunk';
create unique index folds_by_end on folds (run_id, node) where kind = 'end';
create index folds_by_state on folds (state) where state is not null;

-- A chunk that was read, and whose payload is stored.
create table chunks (
  run_id       text collate "C" not null,
  source       text collate "C" not null,
  chunk        bigint not null check (chunk >= 0),
  file         text collate "C" not null,
  first_row    bigint not null check (first_row >= 1),
  rows         bigint not null check (rows between 0 and 1048576),
  first_line   bigint not null check (first_line >= 1),
  first_offset bigint not null check (first_offset >= 0),
  bytes        bigint not null check (bytes >= 0),
  blank        bigint not null check (blank >= 0),
  comments     bigint not null check (comments >= 0),
  pack         text collate "C" not null check (pack ~ '^[0-9a-f]{64}$'),
  cursor       text collate "C" not null check (json_typeof(cursor::json) is not null),
  last         bigint not null check (last in (0, 1)),
  fold         bigint check (fold >= 0),
  attempt      bigint not null check (attempt >= 1),
  read_us      bigint not null check (read_us > 0),
  primary key (run_id, source, chunk),
  unique (run_id, source, chunk, rows),
  foreign key (run_id, source) references sources (run_id, source),
  foreign key (run_id, source, fold) references folds (run_id, node, fold)
);
create index chunks_by_row on chunks (run_id, source, first_row);
create index chunks_by_pack on chunks (pack);

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

create trigger birth after insert on chunks referencing new table as added
  for each statement execute function chunks_birth();
create trigger archived before delete on chunks for each row execute function archived('pack');
create trigger archiving before delete on chunks for each statement execute function archiving();
create trigger blank before update on chunks for each row execute function chunks_blank();
create trigger keep before truncate on chunks for each statement execute function refuse();
create trigger purged after insert on chunks referencing new table as added
  for each statement execute function refer('pack');

-- A purger blanks by functions such as this one, and in no other way.
create function move_chunks(run_id text, source text, chunk bigint, from_cursor text, to_cursor text)
returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update chunks c set cursor = to_cursor
  where c.run_id = move_chunks.run_id and c.source = move_chunks.source and c.chunk = move_chunks.chunk and c.cursor = from_cursor;
  get diagnostics moved = row_count;
  return moved;
end $$;

-- Where each record of a chunk is.
create table chunk_rows (
  run_id     text collate "C" not null,
  source     text collate "C" not null,
  chunk      bigint not null,
  slice      bigint not null check (slice >= 0),
  rows       bigint not null check (rows between 0 and 1024),
  offsets    bytea not null check (length(offsets) = 4 * rows),
  lengths    bytea not null check (length(lengths) = 4 * rows),
  lines      bytea check (length(lines) = 4 * rows),
  raw_hashes bytea not null check (length(raw_hashes) = 32 * rows),
  primary key (run_id, source, chunk, slice),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
);
alter table chunk_rows alter offsets set storage external, alter lengths set storage external, alter lines set storage external, alter raw_hashes set storage external;

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

create trigger blank before update on chunk_rows for each row execute function chunk_rows_blank();
create trigger keep before truncate on chunk_rows for each statement execute function refuse();

create function move_chunk_rows(run_id text, source text, chunk bigint, slice bigint, from_raw_hashes bytea, to_raw_hashes bytea)
returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update chunk_rows r set raw_hashes = to_raw_hashes
  where r.run_id = move_chunk_rows.run_id and r.source = move_chunk_rows.source and r.chunk = move_chunk_rows.chunk and r.slice = move_chunk_rows.slice
    and r.raw_hashes = from_raw_hashes;
  get diagnostics moved = row_count;
  return moved;
end $$;

-- ========== Which way each row took ==========

-- A chunk that has gone through the steps, and the ways of its tokens in one lane. It has rowids in SQLite: what points
-- here is looked up in an index without the codes.
create table passages (
  run_id      text collate "C" not null,
  source      text collate "C" not null,
  chunk       bigint not null,
  lane        bigint not null,
  rows        bigint not null,
  code_bytes  bigint not null check (code_bytes in (1, 2)),
  way_codes   bytea not null check (length(way_codes) = code_bytes * rows),
  started_us  bigint not null check (started_us > 0),
  finished_us bigint not null check (finished_us >= started_us),
  attempt     bigint not null check (attempt >= 1),
  worker      text collate "C" not null,
  primary key (run_id, source, chunk, lane),
  foreign key (run_id, source, chunk, rows) references chunks (run_id, source, chunk, rows),
  foreign key (run_id, source, lane) references lanes (run_id, source, lane)
);

-- The ways that tokens of a run took. The key is the start of the SHA-256 of the signature.
create table ways (
  run_id    text collate "C" not null,
  way       text collate "C" not null check (way ~ '^[0-9a-f]{16}$'),
  signature text collate "C" not null,
  outcome   text collate "C" not null,
  path      text collate "C" not null,
  last_node text collate "C" not null,
  sink      text collate "C" not null,
  lane      bigint not null,
  first_seq bigint not null check (first_seq >= 0),
  primary key (run_id, way),
  unique (run_id, way, lane),
  foreign key (run_id, last_node) references nodes (run_id, node),
  foreign key (run_id, lane) references lanes (run_id, lane),
  check (
    (outcome = 'success' and path in ('default_flow', 'gate_routed') and sink <> '' and sink not like '\_\_%' escape '\')
    or (outcome = 'success' and path in ('gate_discarded', 'filter_dropped', 'coalesced') and sink = '')
    or (outcome = 'failure' and path in ('on_error_routed', 'unrouted', 'quarantined_at_source') and (sink = '__quarantine__' or sink <> '' and sink not like '\_\_%' escape '\'))
    or (outcome = 'failure' and path = 'sink_discarded' and sink = '__discard__')
    or (outcome = 'transient' and path in ('fork_parent', 'branch_not_needed') and sink = '')
    or (outcome = '' and path = 'buffered' and sink = '')
  )
);

-- The nodes of a way; seq 0 is the source, or the coalesce that made the token.
create table way_steps (
  run_id text collate "C" not null,
  way    text collate "C" not null,
  seq    bigint not null check (seq >= 0),
  node   text collate "C" not null,
  label  text collate "C" not null,
  lane   bigint not null,
  primary key (run_id, way, seq),
  foreign key (run_id, way) references ways (run_id, way),
  foreign key (run_id, node) references nodes (run_id, node),
  foreign key (run_id, lane) references lanes (run_id, lane)
);

-- How many tokens of a chunk took a way.
create table chunk_ways (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  lane   bigint not null,
  code   bigint not null check (code between 0 and 65535),
  way    text collate "C" not null,
  rows   bigint not null check (rows > 0),
  primary key (run_id, source, chunk, lane, code),
  unique (run_id, source, chunk, lane, way),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane),
  foreign key (run_id, way, lane) references ways (run_id, way, lane)
);

-- What a total of the document comes to, of the tokens of a chunk that took a way.
create table way_totals (
  run_id     text collate "C" not null,
  source     text collate "C" not null,
  chunk      bigint not null,
  lane       bigint not null,
  code       bigint not null,
  total      text collate "C" not null check (total <> ''),
  seq        bigint not null check (seq >= 0),
  amount     text collate "C" not null check (amount ~ '^-?[0-9]+([.][0-9]+)?$'),
  unreadable bigint not null check (unreadable >= 0),
  primary key (run_id, source, chunk, lane, code, total, seq),
  foreign key (run_id, source, chunk, lane, code) references chunk_ways (run_id, source, chunk, lane, code)
);

-- Completion record of one write to one sink, or of a publication.
create table effects (
  run_id      text collate "C" not null,
  sink        text collate "C" not null,
  source      text collate "C" not null,
  chunk       bigint not null,
  kind        text collate "C" not null,
  sha256      text collate "C" check (sha256 ~ '^[0-9a-f]{64}$'),
  rows        bigint not null check (rows >= 0),
  bytes       bigint not null check (bytes >= 0),
  state       text collate "C" not null check (state in ('reserved', 'prepared', 'in_flight', 'finalized', 'blocked')),
  fence       bigint not null check (fence >= 0),
  ordinal     bigint check (ordinal >= 0),
  byte_offset bigint check (byte_offset >= 0),
  receipt     text collate "C" check (receipt is null or json_typeof(receipt::json) is not null),
  changed_us  bigint not null check (changed_us > 0),
  refused     bigint not null,
  beyond      text collate "C" not null check (beyond = '' or kind = 'write' and json_typeof(beyond::json) is not null),
  primary key (run_id, sink, source, chunk),
  foreign key (run_id, sink) references nodes (run_id, node),
  check ((state in ('reserved', 'prepared')) = (fence = 0)),
  check ((state = 'finalized') = (receipt is not null)),
  check (refused between 0 and rows and (refused = 0 or kind = 'write' and state = 'finalized')),
  check ((ordinal is null) = (byte_offset is null)),
  check (
    (kind = 'write' and source <> '' and chunk >= 0 and rows > 0 and sha256 is not null and state <> 'reserved'
      and (ordinal is null) = (fence = 0))
    or (kind = 'publish' and source = '' and chunk = -1 and sha256 is null and ordinal is null)
  )
);
create unique index effects_by_ordinal on effects (run_id, sink, ordinal) where ordinal is not null;

-- What a total of the document comes to, of the rows of a part that the target of a sink refused when it was written.
create table rejected_totals (
  run_id     text collate "C" not null,
  sink       text collate "C" not null,
  source     text collate "C" not null,
  chunk      bigint not null,
  total      text collate "C" not null check (total <> ''),
  amount     text collate "C" not null check (amount ~ '^-?[0-9]+([.][0-9]+)?$'),
  unreadable bigint not null check (unreadable >= 0),
  primary key (run_id, sink, source, chunk, total),
  foreign key (run_id, sink, source, chunk) references effects (run_id, sink, source, chunk)
);

-- Output hashes of a node that has its own hashes: SHA-256 of the row's canonical form as it left the node.
create table hashes (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  lane   bigint not null,
  node   text collate "C" not null,
  slice  bigint not null check (slice >= 0),
  rows   bigint not null check (rows between 1 and 1024),
  slots  bytea check (length(slots) % 2 = 0 and length(slots) <= 2 * 1024),
  hashes bytea not null check (length(hashes) % 32 = 0 and length(hashes) between 32 * rows and 32 * 1024 and (slots is null or length(hashes) = 32 * rows)),
  primary key (run_id, source, chunk, lane, node, slice),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane),
  foreign key (run_id, node) references nodes (run_id, node)
);
alter table hashes alter slots set storage external, alter hashes set storage external;

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

create trigger blank before update on hashes for each row execute function hashes_blank();
create trigger keep before truncate on hashes for each statement execute function refuse();

create function move_hashes(run_id text, source text, chunk bigint, lane bigint, node text, slice bigint, from_hashes bytea, to_hashes bytea)
returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update hashes h set hashes = to_hashes
  where h.run_id = move_hashes.run_id and h.source = move_hashes.source and h.chunk = move_hashes.chunk and h.lane = move_hashes.lane
    and h.node = move_hashes.node and h.slice = move_hashes.slice and h.hashes = from_hashes;
  get diagnostics moved = row_count;
  return moved;
end $$;

-- Why a token was refused. It has at most one error, and a second one if it went to a sink for refused rows, and the
-- target of that sink refused it.
create table errors (
  run_id      text collate "C" not null,
  source      text collate "C" not null,
  row         bigint not null check (row >= 1),
  lane        bigint not null,
  node        text collate "C" not null,
  chunk       bigint not null,
  code        text collate "C" not null check (code <> ''),
  field       text collate "C" not null,
  message     text collate "C" not null,
  error_hash  text collate "C" not null check (length(error_hash) = 64),
  raw         bytea not null check (length(raw) <= 65536 and length(raw) <= raw_bytes),
  raw_is_text bigint not null check (raw_is_text in (0, 1)),
  raw_bytes   bigint not null,
  line        bigint not null check (line >= 1),
  byte_offset bigint not null check (byte_offset >= 0),
  sent_to     text collate "C" not null check (sent_to <> ''),
  at_us       bigint not null check (at_us > 0),
  primary key (run_id, source, row, lane, node)
);

-- This guard stands in place of foreign keys: it looks once for all rows that a statement adds.
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

-- What a target refused is recorded in quarantine while its write ends; nothing is added later.
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

create trigger birth after insert on errors referencing new table as added
  for each statement execute function errors_birth();
create trigger blank before update on errors for each row execute function errors_blank();
create trigger keep before truncate on errors for each statement execute function refuse();
create trigger late after insert on errors referencing new table as added
  for each statement execute function errors_late();

create function move_errors(
  run_id text, source text, "row" bigint, lane bigint, node text,
  from_message text, from_error_hash text, from_raw bytea, to_message text, to_error_hash text, to_raw bytea
) returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update errors e set message = to_message, error_hash = to_error_hash, raw = to_raw
  where e.run_id = move_errors.run_id and e.source = move_errors.source and e.row = move_errors."row" and e.lane = move_errors.lane and e.node = move_errors.node
    and (e.message, e.error_hash, e.raw) is not distinct from (from_message, from_error_hash, from_raw);
  get diagnostics moved = row_count;
  return moved;
end $$;

-- A lookup column for one field of the business key.
create table key_hashes (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  field  text collate "C" not null check (field <> ''),
  hashes bytea not null check (length(hashes) % 4 = 0),
  primary key (run_id, source, chunk, field),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
);
alter table key_hashes alter hashes set storage external;

create function key_hashes_blank() returns trigger language plpgsql set search_path from current as $$
declare
  slots bigint[];
begin
  select array_agg(f.slot) into slots from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk;
  if slots is null or not zeroed(old.hashes, new.hashes, 4, slots)
    or (new.run_id, new.source, new.chunk, new.field) is distinct from (old.run_id, old.source, old.chunk, old.field)
  then
    raise exception 'key_hashes: append-only' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create trigger birth after insert on key_hashes referencing new table as added for each statement execute function passed();
create trigger blank before update on key_hashes for each row execute function key_hashes_blank();
create trigger keep before truncate on key_hashes for each statement execute function refuse();

create function move_key_hashes(run_id text, source text, chunk bigint, field text, from_hashes bytea, to_hashes bytea)
returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update key_hashes k set hashes = to_hashes
  where k.run_id = move_key_hashes.run_id and k.source = move_key_hashes.source and k.chunk = move_key_hashes.chunk and k.field = move_key_hashes.field and k.hashes = from_hashes;
  get diagnostics moved = row_count;
  return moved;
end $$;

-- For each token that a deduplicate dropped, the first token with the same key.
create table repeats (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  lane   bigint not null,
  node   text collate "C" not null,
  slice  bigint not null check (slice >= 0),
  rows   bigint not null check (rows between 1 and 1024),
  firsts bytea not null check (length(firsts) % 8 = 0 and length(firsts) between 8 * rows and 8 * 1024),
  primary key (run_id, source, chunk, lane, node, slice),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane),
  foreign key (run_id, node) references nodes (run_id, node)
);

-- One row per slice of a chunk in which a row reached a sink that declares what can be disclosed: the root of the tree
-- over the fields of each row.
create table field_roots (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  slice  bigint not null check (slice >= 0),
  rows   bigint not null check (rows between 1 and 1024),
  roots  bytea not null check (length(roots) % 32 = 0 and length(roots) between 32 * rows and 32 * 1024),
  primary key (run_id, source, chunk, slice),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
);

-- ========== Barriers: batches and merges ==========

-- One row per chunk and barrier to which it brought something: tokens, or the news that a branch is lost. A resumed run
-- does the folds that are missing.
create table feeds (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  node   text collate "C" not null,
  primary key (run_id, source, chunk, node),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk),
  foreign key (run_id, node) references sources (run_id, source)
);

create trigger birth after insert on feeds referencing new table as added for each statement execute function passed();
create trigger place after insert on feeds referencing new table as added
  for each statement execute function of_barrier();

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

create trigger birth after insert on folds referencing new table as added
  for each statement execute function folds_birth();
create trigger place after insert on folds referencing new table as added
  for each statement execute function of_barrier();
create trigger archived before delete on folds for each row execute function archived('state');
create trigger archiving before delete on folds for each statement execute function archiving();
create trigger purged after insert on folds referencing new table as added
  for each statement execute function refer('state');

-- A batch that fired: its tokens ended together.
create table batches (
  run_id    text collate "C" not null,
  node      text collate "C" not null,
  batch     bigint not null check (batch between 1 and 4294967295),
  fold      bigint not null,
  trigger   text collate "C" not null check (trigger in ('rows', 'when', 'after', 'end', 'memory', 'arrival', 'all', 'quorum', 'first', 'lost', 'timeout')),
  path      text collate "C" not null check (path in ('batch_consumed', 'expand_parent', 'coalesced', 'branch_not_needed')),
  rows      bigint not null check (rows >= 0),
  opened_us bigint not null check (opened_us > 0),
  fired_us  bigint not null check (fired_us >= opened_us),
  of        bigint check (of is null or of between 1 and 4294967295 and of <> batch and path = 'branch_not_needed'),
  primary key (run_id, node, batch),
  foreign key (run_id, node, fold) references folds (run_id, node, fold),
  foreign key (run_id, node, of) references batches (run_id, node, batch) deferrable initially deferred,
  check (rows > 0 or path = 'coalesced')
);

-- To which batches the tokens of a chunk and lane went.
create table members (
  run_id  text collate "C" not null,
  node    text collate "C" not null,
  source  text collate "C" not null,
  chunk   bigint not null,
  lane    bigint not null,
  slice   bigint not null check (slice >= 0),
  fold    bigint not null,
  rows    bigint not null check (rows between 1 and 1024),
  batches bytea not null check (length(batches) % 4 = 0 and length(batches) between 4 * rows and 4 * 1024),
  primary key (run_id, node, source, chunk, lane, slice),
  foreign key (run_id, node, fold) references folds (run_id, node, fold),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane)
);

-- What the rows of a barrier's chunk were made of.
create table parents (
  run_id  text collate "C" not null,
  source  text collate "C" not null,
  chunk   bigint not null,
  slice   bigint not null check (slice >= 0),
  rows    bigint not null check (rows between 1 and 1024),
  batches bytea not null check (length(batches) = 4 * rows),
  tokens  bytea check (length(tokens) = 8 * rows),
  primary key (run_id, source, chunk, slice),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
);

-- How a coalesce decided; merges of the same kind share a row.
create table merge_kinds (
  run_id     text collate "C" not null,
  kind       text collate "C" not null check (kind ~ '^[0-9a-f]{16}$'),
  node       text collate "C" not null,
  policy     text collate "C" not null check (policy in ('require_all', 'quorum', 'best_effort', 'first')),
  merge      text collate "C" not null check (merge in ('union', 'nested', 'select')),
  quorum     bigint check (quorum >= 1),
  timeout_ms bigint check (timeout_ms >= 1),
  expected   text collate "C" not null check (json_typeof(expected::json) = 'array' and json_array_length(expected::json) >= 1),
  arrived    text collate "C" not null check (json_typeof(arrived::json) = 'array'),
  lost       text collate "C" not null check (json_typeof(lost::json) = 'object'),
  not_needed text collate "C" not null check (json_typeof(not_needed::json) = 'array'),
  fired_by   text collate "C" not null check (fired_by in ('all', 'quorum', 'first', 'lost', 'timeout', 'end')),
  collisions text collate "C" not null check (json_typeof(collisions::json) = 'array'),
  origins    text collate "C" not null check (json_typeof(origins::json) = 'object'),
  result     text collate "C" not null check (result in ('merged', 'refused', 'nothing')),
  code       text collate "C" not null,
  primary key (run_id, kind),
  unique (run_id, node, kind),
  foreign key (run_id, node) references nodes (run_id, node),
  check ((policy = 'quorum') = (quorum is not null)),
  check ((result = 'nothing') = (json_array_length(arrived::json) = 0)),
  check ((result = 'refused') = (code <> ''))
);

-- What a coalesce made of the forked rows of a chunk whose branches met in the same passage.
create table merge_codes (
  run_id     text collate "C" not null,
  source     text collate "C" not null,
  chunk      bigint not null,
  lane       bigint not null,
  rows       bigint not null,
  code_bytes bigint not null check (code_bytes in (1, 2)),
  codes      bytea not null check (length(codes) = code_bytes * rows),
  primary key (run_id, source, chunk, lane),
  foreign key (run_id, source, chunk, rows) references chunks (run_id, source, chunk, rows),
  foreign key (run_id, source, lane) references lanes (run_id, source, lane)
);

create trigger birth after insert on merge_codes referencing new table as added for each statement execute function passed();

-- How many merges of a chunk are of a kind.
create table chunk_merges (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  lane   bigint not null,
  code   bigint not null check (code between 0 and 65535),
  kind   text collate "C" not null,
  rows   bigint not null check (rows > 0),
  primary key (run_id, source, chunk, lane, code),
  unique (run_id, source, chunk, lane, kind),
  foreign key (run_id, source, chunk, lane) references merge_codes (run_id, source, chunk, lane),
  foreign key (run_id, kind) references merge_kinds (run_id, kind)
);

-- A merge of a coalesce whose branches came in different passages. A forked token is merged at most once: its source,
-- lane and row are unique here.
create table merges (
  run_id   text collate "C" not null,
  node     text collate "C" not null,
  batch    bigint not null,
  kind     text collate "C" not null,
  source   text collate "C" not null,
  lane     bigint not null,
  row      bigint not null check (row >= 1),
  arrivals text collate "C" not null check (json_typeof(arrivals::json) = 'array'),
  wait_ms  bigint not null check (wait_ms >= 0),
  out_row  bigint check (out_row >= 1),
  primary key (run_id, node, batch),
  unique (run_id, node, source, lane, row),
  foreign key (run_id, node, batch) references batches (run_id, node, batch),
  foreign key (run_id, node, kind) references merge_kinds (run_id, node, kind),
  foreign key (run_id, source, lane) references lanes (run_id, source, lane),
  check ((out_row is null) = (json_array_length(arrivals::json) = 0))
);
create unique index merges_by_out_row on merges (run_id, node, out_row) where out_row is not null;

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

create trigger birth after insert on merges referencing new table as added
  for each statement execute function merges_birth();

-- ========== What was written ==========

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

-- reserved > prepared > in_flight (again with every attempt) > finalized or blocked. A decision of a person leads out
-- of blocked.
create function effects_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.run_id, old.sink, old.source, old.chunk, old.kind, old.sha256, old.beyond)
    is distinct from (new.run_id, new.sink, new.source, new.chunk, new.kind, new.sha256, new.beyond)
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

create trigger birth after insert on effects referencing new table as added
  for each statement execute function effects_birth();
create trigger change before update on effects for each row execute function effects_change();
create trigger stay before truncate on effects for each statement execute function refuse();

create function move_effects(
  run_id text, sink text, source text, chunk bigint,
  from_rows bigint, from_bytes bigint, from_state text, from_fence bigint, from_ordinal bigint, from_byte_offset bigint,
  from_receipt text, from_refused bigint, from_changed_us bigint,
  to_rows bigint, to_bytes bigint, to_state text, to_fence bigint, to_ordinal bigint, to_byte_offset bigint,
  to_receipt text, to_refused bigint, to_changed_us bigint
) returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update effects e
  set rows = to_rows, bytes = to_bytes, state = to_state, fence = to_fence, ordinal = to_ordinal, byte_offset = to_byte_offset,
    receipt = to_receipt, refused = to_refused, changed_us = to_changed_us
  where e.run_id = move_effects.run_id and e.sink = move_effects.sink and e.source = move_effects.source
    and e.chunk = move_effects.chunk
    and (e.rows, e.bytes, e.state, e.fence, e.ordinal, e.byte_offset, e.receipt, e.refused, e.changed_us)
      is not distinct from
      (from_rows, from_bytes, from_state, from_fence, from_ordinal, from_byte_offset, from_receipt, from_refused, from_changed_us);
  get diagnostics moved = row_count;
  return moved;
end $$;

-- Everything that happened to an effect.
create table effect_events (
  run_id text collate "C" not null,
  sink   text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  fence  bigint not null check (fence >= 0),
  event  text collate "C" not null check (event in ('began', 'finalized', 'fenced', 'failed', 'reconciled', 'resolved')),
  worker text collate "C" not null,
  at_us  bigint not null check (at_us > 0),
  detail text collate "C" not null,
  primary key (run_id, sink, source, chunk, fence, event, worker, at_us),
  foreign key (run_id, sink, source, chunk) references effects (run_id, sink, source, chunk),
  check (event <> 'resolved' or detail in ('applied', 'not_applied'))
);

-- What a sink published. If the sink says so, a name (latest) leads to the output of the latest slot; whose that is
-- never goes back.
create table artifacts (
  run_id       text collate "C" not null,
  sink         text collate "C" not null,
  path         text collate "C" not null check (path <> ''),
  bytes        bigint not null check (bytes >= 0),
  rows         bigint not null check (rows >= 0),
  sha256       text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$'),
  published_us bigint not null check (published_us > 0),
  latest       text collate "C" not null,
  stands_for   text collate "C" not null check ((stands_for = '') = (latest = '')),
  schema       text collate "C" not null check (schema = '' or json_typeof(schema::json) is not null),
  primary key (run_id, sink),
  foreign key (run_id, sink) references nodes (run_id, node)
);
create index artifacts_published on artifacts (published_us, run_id, sink);
create index artifacts_latest on artifacts (latest, stands_for, published_us, run_id, sink) where latest <> '';

-- ========== What happened to runs ==========

-- One row per resume.
create table resumptions (
  run_id text collate "C" not null references runs (run_id),
  epoch  bigint not null check (epoch >= 1),
  claim  text collate "C" not null check (claim <> ''),
  was    text collate "C" not null check (was in ('running', 'failed', 'interrupted', 'blocked', 'cancelled')),
  actor  text collate "C" not null,
  why    text collate "C" not null,
  code   text collate "C" not null,
  host   text collate "C" not null,
  at_us  bigint not null check (at_us > 0),
  primary key (run_id, epoch)
);

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

create trigger birth after insert on resumptions referencing new table as added
  for each statement execute function resumptions_birth();

-- One row per workflow execution that worked for a run, with what Temporal knows of its start. seq 0 began the epoch;
-- each of the others continued the one before it as new. No other execution may work for the run in that epoch.
create table executions (
  run_id    text collate "C" not null references runs (run_id),
  epoch     bigint not null check (epoch >= 0),
  seq       bigint not null check (seq >= 0),
  execution text collate "C" not null check (execution <> ''),
  workflow  text collate "C" not null check (workflow <> ''),
  namespace text collate "C" not null,
  identity  text collate "C" not null,
  principal text collate "C" not null,
  parent    text collate "C" not null,
  schedule  text collate "C" not null,
  at_us     bigint not null check (at_us > 0),
  primary key (run_id, epoch, seq)
);

-- The first execution of an epoch comes with the run or with the resumption, the others one after the other.
create function executions_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and a.epoch > 0 and not exists (
        select 1 from resumptions r where r.run_id = a.run_id and r.epoch = a.epoch and r.claim = a.execution)
      or a.seq > 0 and not exists (
        select 1 from executions e where e.run_id = a.run_id and e.epoch = a.epoch and e.seq = a.seq - 1)
  ) then
    raise exception 'executions: it neither begins the epoch nor continues an execution' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on executions referencing new table as added
  for each statement execute function executions_birth();

-- One row per quarantined record that a linked run retries. The key is the record: no record is retried twice.
create table retried (
  parent_run text collate "C" not null references runs (run_id),
  source     text collate "C" not null,
  row        bigint not null check (row >= 1),
  run_id     text collate "C" not null references runs (run_id),
  primary key (parent_run, source, row)
);
create index retried_by_run on retried (run_id);

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

create trigger birth after insert on retried referencing new table as added
  for each statement execute function retried_birth();

-- What people did to a run.
create table actions (
  run_id text collate "C" not null references runs (run_id),
  seq    bigint not null check (seq >= 0),
  verb   text collate "C" not null check (verb <> ''),
  actor  text collate "C" not null,
  why    text collate "C" not null,
  at_us  bigint not null check (at_us > 0),
  primary key (run_id, seq)
);

-- What happened to a run as a whole.
create table run_events (
  run_id text collate "C" not null references runs (run_id),
  seq    bigint not null check (seq >= 0),
  event  text collate "C" not null check (event <> ''),
  detail text collate "C" not null,
  at_us  bigint not null check (at_us > 0),
  primary key (run_id, seq)
);

-- What the document says must be true of a run.
create table policies (
  run_id    text collate "C" not null references runs (run_id),
  policy    text collate "C" not null check (policy <> ''),
  seq       bigint not null check (seq >= 0),
  assertion text collate "C" not null check (assertion <> ''),
  gate      text collate "C" not null check (gate in ('publish', 'warn', 'seal')),
  primary key (run_id, policy),
  unique (run_id, seq)
);

-- What the policies of a run came to.
create table policy_results (
  run_id  text collate "C" not null,
  policy  text collate "C" not null,
  attempt bigint not null check (attempt >= 0),
  epoch   bigint not null check (epoch >= 0),
  result  text collate "C" not null check (result in ('passed', 'failed', 'error', 'waived')),
  detail  text collate "C" not null check (detail <> ''),
  figures text collate "C" not null check (figures::json is not null),
  actor   text collate "C" not null check ((actor <> '') = (result = 'waived')),
  at_us   bigint not null check (at_us > 0),
  primary key (run_id, policy, attempt),
  foreign key (run_id, policy) references policies (run_id, policy)
);

-- A policy that passed or was waived counts; only one that did not pass is evaluated again, or waived.
create function policy_results_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from runs r where r.run_id = a.run_id and r.epoch = a.epoch)
      or a.attempt = 0 and a.result = 'waived'
      or a.attempt > 0 and not exists (
        select 1 from policy_results p
        where p.run_id = a.run_id and p.policy = a.policy and p.attempt = a.attempt - 1 and p.result in ('failed', 'error'))
  ) then
    raise exception 'policy_results: the policy stands, or the result is not the next one' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on policy_results referencing new table as added
  for each statement execute function policy_results_birth();

-- ========== Seals and signatures ==========

-- Keys from which the salts of sealed records are derived; that of the run has no source, and chunk -1. When rows of a
-- run are forgotten, its salts are more than one record, and are replaced.
create table salts (
  run_id text collate "C" not null references runs (run_id),
  source text collate "C" not null,
  chunk  bigint not null check (chunk >= 0 or chunk = -1 and source = ''),
  keys   bytea not null check (length(keys) % 16 = 0 and (chunk >= 0 or length(keys) = 16)),
  primary key (run_id, source, chunk)
);

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

create trigger birth after insert on salts referencing new table as added
  for each statement execute function salts_birth();
create trigger blank before update on salts for each row execute function salts_replace();
create trigger keep before delete or truncate on salts for each statement execute function refuse();

create function move_salts(run_id text, source text, chunk bigint, from_keys bytea, to_keys bytea)
returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update salts s set keys = to_keys
  where s.run_id = move_salts.run_id and s.source = move_salts.source and s.chunk = move_salts.chunk and s.keys = from_keys;
  get diagnostics moved = row_count;
  return moved;
end $$;

-- One root per chunk that has gone through the steps. It binds everything that was recorded of the chunk's rows.
create table chunk_seals (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  root   bytea not null check (length(root) = 32),
  primary key (run_id, source, chunk),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
);

-- What binds every record of a run that ended: one for each time that it ended, and for each record that came
-- afterwards. The last one counts.
create table run_seals (
  run_id text collate "C" not null references runs (run_id),
  seq    bigint not null check (seq >= 0),
  epoch  bigint not null check (epoch >= 0),
  root   bytea not null check (length(root) = 32),
  leaves bigint not null check (leaves > 0),
  late   bigint not null check (late in (0, 1)),
  tables text collate "C" not null check (tables::json is not null),
  marks  bytea not null check (length(marks) = 4 * leaves),
  at_us  bigint not null check (at_us > 0),
  primary key (run_id, seq)
);

create function run_seals_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from runs r where r.run_id = a.run_id and r.epoch = a.epoch and r.status <> 'running')
  ) then
    raise exception 'run_seals: the run has not ended in this epoch' using errcode = 'check_violation';
  end if;
  if exists (
    select 1 from added a
    where a.seq > 0 and not exists (select 1 from run_seals s where s.run_id = a.run_id and s.seq = a.seq - 1)
  ) then
    raise exception 'run_seals: a seal comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create function run_seals_archived() returns trigger language plpgsql set search_path from current as $$
begin
  perform hold_run(a.run_id, false, null, false) from (select distinct run_id from added order by run_id) a;
  if exists (select 1 from added a join archives t on t.run_id = a.run_id) then
    raise exception 'run_seals: append-only: the run is archived' using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on run_seals referencing new table as added
  for each statement execute function run_seals_birth();
create trigger archived after insert on run_seals referencing new table as added
  for each statement execute function run_seals_archived();

-- What people signed about a run that has ended. A seal is signed once by a person in a role, and again if the earlier
-- signature does not count: whose keys count the landscape does not know.
create table sign_offs (
  run_id    text collate "C" not null,
  seq       bigint not null check (seq >= 0),
  seal      bigint not null,
  person    text collate "C" not null check (person <> ''),
  role      text collate "C" not null check (role <> ''),
  statement text collate "C" not null check (statement <> ''),
  signature text collate "C" not null check (signature <> ''),
  approver  text collate "C" not null check (approver <> ''),
  at_us     bigint not null check (at_us > 0),
  primary key (run_id, seq),
  foreign key (run_id, seal) references run_seals (run_id, seq)
);

-- What is signed is the last seal of a run that has ended.
create function sign_offs_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq > 0 and not exists (select 1 from sign_offs s where s.run_id = a.run_id and s.seq = a.seq - 1)
      or not exists (
        select 1 from run_seals s join runs r using (run_id)
        where s.run_id = a.run_id and s.seq = a.seal and s.epoch = r.epoch and r.status <> 'running'
          and not exists (select 1 from run_seals l where l.run_id = s.run_id and l.seq > s.seq))
  ) then
    raise exception 'sign_offs: append-only: not the next one, or not of the last seal of a run that has ended' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on sign_offs referencing new table as added
  for each statement execute function sign_offs_birth();

-- ========== Changes that need several persons ==========

-- How many persons a guarded change needs, its proposer included; the last row of a verb counts.
create table approval_rules (
  verb    text collate "C" not null check (verb <> ''),
  seq     bigint not null check (seq >= 0),
  persons bigint not null check (persons between 1 and 9),
  actor   text collate "C" not null check (actor <> ''),
  why     text collate "C" not null check (why <> ''),
  at_us   bigint not null check (at_us > 0),
  primary key (verb, seq)
);

create function approval_rules_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.seq > 0 and not exists (select 1 from approval_rules r where r.verb = a.verb and r.seq = a.seq - 1)) then
    raise exception 'approval_rules: append-only: not the next one' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on approval_rules referencing new table as added
  for each statement execute function approval_rules_birth();

-- What people proposed to do.
create table approval_requests (
  run_id       text collate "C" not null,
  request_sha256 text collate "C" not null unique check (length(request_sha256) = 64),
  verb         text collate "C" not null check (verb <> ''),
  person       text collate "C" not null check (person <> ''),
  statement    text collate "C" not null check (statement <> ''),
  signature    text collate "C" not null check (signature <> ''),
  approver     text collate "C" not null check (approver <> ''),
  expires_us   bigint not null check (expires_us > at_us),
  at_us        bigint not null check (at_us > 0),
  primary key (run_id, request_sha256)
);

create function approval_requests_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.run_id <> '' and not exists (select 1 from runs r where r.run_id = a.run_id)) then
    raise exception 'approval_requests: its run is not recorded' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on approval_requests referencing new table as added
  for each statement execute function approval_requests_birth();

-- Who else signed a request.
create table approvals (
  run_id       text collate "C" not null,
  request_sha256 text collate "C" not null,
  seq          bigint not null check (seq >= 0),
  kind         text collate "C" not null check (kind in ('approval', 'review')),
  person       text collate "C" not null check (person <> ''),
  statement    text collate "C" not null check (statement <> ''),
  signature    text collate "C" not null check (signature <> ''),
  approver     text collate "C" not null check (approver <> ''),
  at_us        bigint not null check (at_us > 0),
  primary key (run_id, request_sha256, seq),
  unique (run_id, request_sha256, kind, person),
  foreign key (run_id, request_sha256) references approval_requests (run_id, request_sha256)
);

-- The person who proposed a request does not approve it; what was executed is only reviewed.
create function approvals_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    join approval_requests o using (run_id, request_sha256)
    where a.seq > 0 and not exists (
        select 1 from approvals b where b.run_id = a.run_id and b.request_sha256 = a.request_sha256 and b.seq = a.seq - 1)
      or o.person = a.person
      or (a.kind = 'review') <> exists (select 1 from approved_executions x where x.run_id = a.run_id and x.request_sha256 = a.request_sha256)
  ) then
    raise exception 'approvals: append-only: not the next one, of who proposed the order, or an approval of what was executed' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on approvals referencing new table as added
  for each statement execute function approvals_birth();

-- Orders to delete payloads.
create table purges (
  purge_id bigint not null check (purge_id > 0),
  actor    text collate "C" not null check (actor <> ''),
  why      text collate "C" not null check (why <> ''),
  rules    text collate "C" not null check (rules::json is not null),
  at_us    bigint not null check (at_us > 0),
  primary key (purge_id)
);

-- Which requests were executed, in the transaction of the change.
create table approved_executions (
  run_id       text collate "C" not null,
  request_sha256 text collate "C" not null,
  persons      bigint not null check (persons > 0),
  emergency    bigint not null check (emergency in (0, 1)),
  why          text collate "C" not null check ((why <> '') = (emergency = 1)),
  purge_id     bigint references purges (purge_id),
  actor        text collate "C" not null check (actor <> ''),
  at_us        bigint not null check (at_us > 0),
  primary key (run_id, request_sha256),
  foreign key (run_id, request_sha256) references approval_requests (run_id, request_sha256)
);

-- As many persons signed as are counted, and as many as the rule says, except in an emergency.
create function approved_executions_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added x
    join approval_requests o using (run_id, request_sha256)
    where x.persons > 1 + (select count(*) from approvals a where a.run_id = x.run_id and a.request_sha256 = x.request_sha256)
      or x.emergency = 0 and x.persons < (select r.persons from approval_rules r where r.verb = o.verb order by r.seq desc limit 1)
  ) then
    raise exception 'approved_executions: fewer persons signed' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on approved_executions referencing new table as added
  for each statement execute function approved_executions_birth();

-- ========== Retention: holds, purges, forgotten rows, archives ==========

-- What protects payloads from purges: one run, or the runs of a pipeline that began in a time.
create table holds (
  hold_id  bigint not null check (hold_id > 0),
  run_id   text collate "C" not null,
  pipeline text collate "C" not null check ((run_id = '') <> (pipeline = '')),
  from_us  bigint check (from_us is null or from_us >= 0 and pipeline <> ''),
  until_us bigint check (until_us is null or until_us > coalesce(from_us, 0) and pipeline <> ''),
  actor    text collate "C" not null check (actor <> ''),
  why      text collate "C" not null check (why <> ''),
  at_us    bigint not null check (at_us > 0),
  primary key (hold_id)
);

create function holds_birth() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock_shared(payload_lock());
  if exists (
    select 1 from added a
    where a.hold_id > (select count(*) from holds) or a.run_id <> '' and not exists (select 1 from runs r where r.run_id = a.run_id)
  ) then
    raise exception 'holds: append-only: a hold has the next number, and its run is recorded' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on holds referencing new table as added
  for each statement execute function holds_birth();

-- Holds that have ended.
create table hold_ends (
  hold_id bigint not null references holds (hold_id),
  actor   text collate "C" not null check (actor <> ''),
  why     text collate "C" not null check (why <> ''),
  at_us   bigint not null check (at_us > 0),
  primary key (hold_id)
);

create function purges_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.purge_id > (select count(*) from purges)) then
    raise exception 'purges: append-only: an order has the next number' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on purges referencing new table as added
  for each statement execute function purges_birth();

-- The runs that a purge covers.
create table purged_runs (
  purge_id bigint not null references purges (purge_id),
  run_id   text collate "C" not null references runs (run_id),
  class    text collate "C" not null check (class in ('source', 'derived')),
  epoch    bigint not null check (epoch >= 0),
  due_us   bigint not null check (due_us > 0),
  primary key (purge_id, run_id, class)
);

create function purged_runs_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (
      select 1 from runs r join purges p on p.purge_id = a.purge_id
      where r.run_id = a.run_id and r.epoch = a.epoch and r.status <> 'running' and a.due_us >= r.finished_us and a.due_us <= p.at_us)
  ) then
    raise exception 'purged_runs: the run has not ended, or is not due' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on purged_runs referencing new table as added
  for each statement execute function purged_runs_birth();

-- Payloads whose deletion has begun.
create table deletions (
  payload  text collate "C" not null check (payload ~ '^[0-9a-f]{64}$'),
  number   bigint not null check (number > 0),
  purge_id bigint not null references purges (purge_id),
  at_us    bigint not null check (at_us > 0),
  primary key (payload, number)
);

-- Whether a payload is in use is looked up by its digest. A payload is in use as well if a run needs one that it
-- replaced.
create function deletions_birth() returns trigger language plpgsql set search_path from current as $$
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
    select 1 from added a join payload_refs f on f.payload = a.payload join runs r on r.run_id = f.run_id
    where exists (select 1 from held_runs h where h.run_id = r.run_id)
      or not exists (select 1 from purged_runs p where p.purge_id = a.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch)
  ) then
    raise exception 'deletions: payload in use: a run needs it, or is held' using errcode = 'check_violation';
  end if;
  if exists (select 1 from added a join repacked p on p.replacement = a.payload) and exists (
    with recursive was (purge_id, payload) as (
      select a.purge_id, p.payload from added a join repacked p on p.replacement = a.payload
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

create function deletions_waiting() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added d join arrivals a using (payload) where a.payload <> '' and a.state in ('ready', 'taken')) then
    raise exception 'deletions: payload in use: a run is still to read it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on deletions referencing new table as added
  for each statement execute function deletions_birth();
create trigger waiting after insert on deletions referencing new table as added
  for each statement execute function deletions_waiting();

-- Deletions that are done.
create table deleted_payloads (
  payload text collate "C" not null,
  number  bigint not null,
  bytes   bigint not null check (bytes >= 0),
  at_us   bigint not null check (at_us > 0),
  primary key (payload, number),
  foreign key (payload, number) references deletions (payload, number)
);

-- Deleted payloads that were stored again.
create table returned_payloads (
  payload text collate "C" not null,
  number  bigint not null,
  run_id  text collate "C" not null,
  at_us   bigint not null check (at_us > 0),
  primary key (payload, number),
  foreign key (payload, number) references deleted_payloads (payload, number)
);

-- How long what is deleted after a time is kept, as the settings of a process said. The last row that is in force
-- counts.
create table retention_periods (
  seq            bigint not null check (seq >= 0),
  periods_sha256 text collate "C" not null check (length(periods_sha256) = 64),
  periods        text collate "C" not null check (periods::json is not null),
  in_force       bigint not null check (in_force in (0, 1)),
  actor          text collate "C" not null check (actor <> ''),
  why            text collate "C" not null check (why <> ''),
  at_us          bigint not null check (at_us > 0),
  primary key (seq)
);

create function retention_periods_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.seq > 0 and not exists (select 1 from retention_periods p where p.seq = a.seq - 1)) then
    raise exception 'retention_periods: append-only: not the next one' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on retention_periods referencing new table as added
  for each statement execute function retention_periods_birth();

-- What processes deleted because it was due, one turn after the other. A turn that did nothing is recorded once a day.
create table retention_turns (
  turn           bigint not null check (turn > 0),
  periods_sha256 text collate "C" not null,
  actor          text collate "C" not null check (actor <> ''),
  why            text collate "C" not null check (why <> ''),
  purge_id       bigint references purges (purge_id),
  payloads       bigint not null check (payloads >= 0),
  bytes          bigint not null check (bytes >= 0),
  events         bigint not null check (events >= 0),
  staged         bigint not null check (staged >= 0),
  left_due       bigint not null check (left_due >= 0),
  problem        text collate "C" not null,
  at_us          bigint not null check (at_us > 0),
  primary key (turn)
);

create function retention_turns_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.turn > 1 and not exists (select 1 from retention_turns t where t.turn = a.turn - 1)) then
    raise exception 'retention_turns: append-only: a turn has the next number' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on retention_turns referencing new table as added
  for each statement execute function retention_turns_birth();

-- Rows that were forgotten, and the leaves that they had.
create table forgotten (
  run_id   text collate "C" not null,
  source   text collate "C" not null,
  chunk    bigint not null,
  slot     bigint not null check (slot >= 0),
  row      bigint not null check (row >= 1),
  leaf     bytea check (leaf is null or length(leaf) = 32),
  purge_id bigint not null references purges (purge_id),
  primary key (run_id, source, chunk, slot)
);

create function forgotten_birth() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock(payload_lock());
  perform hold_run(a.run_id, false, null, false) from (select distinct run_id from added order by run_id) a;
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

create trigger birth after insert on forgotten referencing new table as added
  for each statement execute function forgotten_birth();

-- Records of forgotten rows that are leaves of a run's seal: errors of sinks' targets, and chunks whose cursor was
-- changed.
create table forgotten_leaves (
  run_id   text collate "C" not null,
  seq      bigint not null,
  leaf     bigint not null check (leaf >= 0),
  hash     bytea not null check (length(hash) = 32),
  purge_id bigint not null references purges (purge_id),
  primary key (run_id, seq, leaf),
  foreign key (run_id, seq) references run_seals (run_id, seq)
);

create function forgotten_leaves_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where not exists (select 1 from forgotten f where f.run_id = a.run_id and f.purge_id = a.purge_id)) then
    raise exception 'forgotten_leaves: the order forgets no row of the run' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on forgotten_leaves referencing new table as added
  for each statement execute function forgotten_leaves_birth();

-- Rows in tables of sinks that an order to forget deletes there, recorded with the order.
create table erasures (
  run_id   text collate "C" not null,
  sink     text collate "C" not null,
  line     bigint not null check (line >= 1),
  purge_id bigint not null references purges (purge_id),
  primary key (run_id, sink, line),
  foreign key (run_id, sink) references nodes (run_id, node)
);

create function erasures_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from forgotten f where f.run_id = a.run_id and f.purge_id = a.purge_id)
      or exists (select 1 from forgettings d where d.purge_id = a.purge_id)
  ) then
    raise exception 'erasures: the order forgets no row of the run, or was carried out' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on erasures referencing new table as added
  for each statement execute function erasures_birth();

-- What became of each. An order does not end as long as one of its rows has no outcome.
create table erased (
  run_id  text collate "C" not null,
  sink    text collate "C" not null,
  line    bigint not null,
  outcome text collate "C" not null check (outcome in ('deleted', 'gone', 'edited', 'replaced', 'unclear', 'left')),
  at_us   bigint not null check (at_us > 0),
  primary key (run_id, sink, line),
  foreign key (run_id, sink, line) references erasures (run_id, sink, line)
);

-- Payloads that were deleted because a record in them was forgotten.
create table repacked (
  payload     text collate "C" not null,
  number      bigint not null,
  replacement text collate "C" not null check (replacement ~ '^[0-9a-f]{64}$' and replacement <> payload),
  primary key (payload, number),
  foreign key (payload, number) references deletions (payload, number)
);
create index repacked_by_replacement on repacked (replacement);

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

create trigger birth after insert on repacked referencing new table as added
  for each statement execute function repacked_birth();

-- Orders to forget that were carried out.
create table forgettings (
  purge_id    bigint not null references purges (purge_id),
  rows        bigint not null check (rows > 0),
  certificate text collate "C" not null check (certificate <> ''),
  at_us       bigint not null check (at_us > 0),
  primary key (purge_id)
);

create function forgettings_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.rows <> (select count(*) from forgotten f where f.purge_id = a.purge_id)) then
    raise exception 'forgettings: the order forgets another number of rows' using errcode = 'check_violation';
  end if;
  if exists (
    select 1 from added a join erasures e using (purge_id)
    where not exists (select 1 from erased d where d.run_id = e.run_id and d.sink = e.sink and d.line = e.line)
  ) then
    raise exception 'forgettings: the order has rows in targets to delete' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on forgettings referencing new table as added
  for each statement execute function forgettings_birth();

-- Runs that are archived: what was recorded of them is in a bundle, and not here any more.
create table archives (
  run_id          text collate "C" not null references runs (run_id),
  location        text collate "C" not null check (location <> ''),
  bytes           bigint not null check (bytes > 0),
  sha256          text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$'),
  manifest_sha256 text collate "C" not null check (manifest_sha256 ~ '^[0-9a-f]{64}$'),
  root            bytea not null check (length(root) = 32),
  actor           text collate "C" not null check (actor <> ''),
  why             text collate "C" not null check (why <> ''),
  at_us           bigint not null check (at_us > 0),
  primary key (run_id)
);

create function archives_birth() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock(payload_lock());
  perform hold_run(a.run_id, false, null, false) from (select distinct run_id from added order by run_id) a;
  if exists (
    select 1 from added a
    where not exists (
        select 1 from runs r join run_seals s on s.run_id = r.run_id and s.epoch = r.epoch
        where r.run_id = a.run_id and (r.status in ('completed', 'completed_with_failures', 'empty') or r.final = 1)
          and s.root = a.root and not exists (select 1 from run_seals l where l.run_id = s.run_id and l.seq > s.seq))
      or exists (select 1 from forgotten f where f.run_id = a.run_id and not exists (select 1 from forgettings g where g.purge_id = f.purge_id))
  ) then
    raise exception 'archives: not a run that has ended and cannot be resumed, with this seal, or rows of it are being forgotten' using errcode = 'check_violation';
  end if;
  if exists (select 1 from added a join held_runs h on h.run_id = a.run_id) then
    raise exception 'payload in use: a run is held' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on archives referencing new table as added
  for each statement execute function archives_birth();

-- The payloads to which the record of an archived run refers, so that purges still know them.
create table archived_payloads (
  run_id  text collate "C" not null references archives (run_id),
  payload text collate "C" not null,
  class   text collate "C" not null check (class in ('source', 'derived', 'kept')),
  primary key (run_id, payload, class)
);
create index archived_payloads_by_payload on archived_payloads (payload);

create function archived_payloads_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from chunks c where a.class <> 'kept' and c.run_id = a.run_id and c.pack = a.payload and (c.fold is null) = (a.class = 'source'))
      and not exists (select 1 from folds f where a.class = 'derived' and f.run_id = a.run_id and f.state = a.payload)
      and not exists (select 1 from lookup_tables t where a.class = 'kept' and t.run_id = a.run_id and t.sha256 = a.payload)
  ) then
    raise exception 'archived_payloads: the run does not refer to it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on archived_payloads referencing new table as added
  for each statement execute function archived_payloads_birth();

-- ========== Outputs and payloads that were looked at again ==========

-- What the outputs of a run were found to be when their targets were read again.
create table attestations (
  run_id      text collate "C" not null references runs (run_id),
  seq         bigint not null check (seq >= 0),
  sink        text collate "C" not null check (sink <> ''),
  path        text collate "C" not null check (path <> ''),
  unit        text collate "C" not null check (unit in ('pieces', 'rows')),
  sample      bigint not null check (sample >= 0),
  looked_at   bigint not null check (looked_at = equal + changed + missing + replaced + unknown),
  equal       bigint not null check (equal >= 0),
  changed     bigint not null check (changed >= 0),
  missing     bigint not null check (missing >= 0),
  replaced    bigint not null check (replaced >= 0),
  unknown     bigint not null check (unknown >= 0),
  result      text collate "C" not null check (result in ('equal', 'changed', 'missing', 'replaced', 'unknown')),
  replaced_by text collate "C" not null,
  findings    text collate "C" not null check (findings::json is not null),
  actor       text collate "C" not null check (actor <> ''),
  at_us       bigint not null check (at_us > 0),
  primary key (run_id, seq, sink)
);

-- Only what a run published can be looked at, and no number is left out.
create function attestations_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added n
    where not exists (select 1 from artifacts a where a.run_id = n.run_id and a.sink = n.sink and a.path = n.path)
      or n.seq > 0 and not exists (select 1 from attestations t where t.run_id = n.run_id and t.seq = n.seq - 1)
  ) then
    raise exception 'attestations: the run published no such output, or the number is not the next one' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on attestations referencing new table as added
  for each statement execute function attestations_birth();

-- A corrupt payload that was replaced by the right bytes. It belongs to no run.
create table heals (
  digest    text collate "C" not null check (digest ~ '^[0-9a-f]{64}$'),
  at_us     bigint not null check (at_us > 0),
  reason    text collate "C" not null,
  set_aside text collate "C" not null,
  primary key (digest, at_us)
);

-- ========== Who asked for runs, and the places that they take ==========

-- One row per request for a run, even if it led to no run. A start is decided once; a start after a refused one is the
-- next seq of its run.
create table starts (
  run_id      text collate "C" not null check (run_id <> ''),
  seq         bigint not null check (seq >= 0),
  pipeline    text collate "C" not null,
  params      text collate "C" not null check (json_typeof(params::json) = 'object'),
  actor       text collate "C" not null,
  trigger     text collate "C" not null,
  why         text collate "C" not null,
  key         text collate "C" not null,
  schedule    text collate "C" not null,
  workflow    text collate "C" not null,
  slot        text collate "C" not null,
  accepted_us bigint not null check (accepted_us > 0),
  state       text collate "C" not null
    check (state in ('accepted', 'waiting', 'begun', 'refused', 'cancelled', 'skipped', 'superseded')),
  refusal     text collate "C" not null check ((refusal <> '') = (state = 'refused')),
  reason      text collate "C" not null check (reason = '' or state not in ('accepted', 'begun')),
  decided_us  bigint check ((decided_us is null) = (state in ('accepted', 'waiting'))),
  environment text collate "C" not null,
  terms       text collate "C" not null check (terms = '' or terms::json is not null),
  input       text collate "C" not null check (input = '' or input::json is not null),
  rows        text collate "C" not null check (rows = '' or json_typeof(rows::json) = 'array'),
  primary key (run_id, seq)
);
create index starts_accepted on starts (accepted_us, run_id, seq);
create index starts_by_state on starts (state, accepted_us, run_id, seq);
create index starts_by_workflow on starts (workflow, accepted_us, run_id, seq);
create index starts_with_rows on starts (run_id, seq) where rows <> '';

create function starts_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.state not in ('accepted', 'refused', 'cancelled') or a.seq > 0 and not exists (
      select 1 from starts s where s.run_id = a.run_id and s.seq = a.seq - 1 and s.decided_us is not null)
  ) then
    raise exception 'starts: a start is open or has failed at first, and comes after one that is decided' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create function starts_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.run_id, old.seq, old.pipeline, old.params, old.actor, old.trigger, old.why, old.key, old.schedule, old.workflow,
      old.accepted_us, old.environment, old.input, old.rows)
    is distinct from
    (new.run_id, new.seq, new.pipeline, new.params, new.actor, new.trigger, new.why, new.key, new.schedule, new.workflow,
      new.accepted_us, new.environment, new.input, new.rows)
  then
    raise exception 'starts: only slot, state, refusal, reason and decided_us change' using errcode = 'integrity_constraint_violation';
  end if;
  if old.decided_us is not null or new.state = 'accepted'
    or new.state = 'begun' and not exists (select 1 from runs r where r.run_id = new.run_id)
  then
    raise exception 'starts: illegal change of state' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create trigger birth after insert on starts referencing new table as added
  for each statement execute function starts_birth();
create trigger change before update on starts for each row execute function starts_change();
create trigger keep before delete or truncate on starts for each statement execute function refuse();

create function move_starts(
  run_id text, seq bigint,
  from_slot text, from_state text, from_refusal text, from_reason text, from_decided_us bigint, from_terms text,
  to_slot text, to_state text, to_refusal text, to_reason text, to_decided_us bigint, to_terms text
) returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update starts s
  set slot = to_slot, state = to_state, refusal = to_refusal, reason = to_reason, decided_us = to_decided_us, terms = to_terms
  where s.run_id = move_starts.run_id and s.seq = move_starts.seq
    and (s.slot, s.state, s.refusal, s.reason, s.decided_us, s.terms)
      is not distinct from (from_slot, from_state, from_refusal, from_reason, from_decided_us, from_terms);
  get diagnostics moved = row_count;
  return moved;
end $$;

-- One row per gate, which every decision about its places changes: of two that are made at the same time, the second is
-- made again. How many places are taken is stored nowhere.
create table gates (
  gate text collate "C" not null check (gate <> ''),
  turn bigint not null check (turn >= 0),
  primary key (gate)
);

create function gates_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.turn <> 0) then
    raise exception 'gates: not the beginning: the first turn is 0' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create function gates_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.gate <> old.gate or new.turn <> old.turn + 1 then
    raise exception 'gates: illegal change: a turn comes after the one before it' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create trigger birth after insert on gates referencing new table as added
  for each statement execute function gates_birth();
create trigger change before update on gates for each row execute function gates_change();
create trigger keep before delete or truncate on gates for each statement execute function refuse();

create function move_gates(gate text, from_turn bigint, to_turn bigint)
returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update gates g set turn = to_turn where g.gate = move_gates.gate and g.turn = from_turn;
  get diagnostics moved = row_count;
  return moved;
end $$;

-- How many places a pool has; the last row counts.
create table limits (
  gate   text collate "C" not null check (gate like 'pool:_%'),
  seq    bigint not null check (seq >= 0),
  places bigint not null check (places >= 0),
  actor  text collate "C" not null,
  why    text collate "C" not null,
  at_us  bigint not null check (at_us > 0),
  primary key (gate, seq)
);

create function limits_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq > 0 and not exists (select 1 from limits l where l.gate = a.gate and l.seq = a.seq - 1)
  ) then
    raise exception 'limits: it comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on limits referencing new table as added
  for each statement execute function limits_birth();

-- ========== The log ==========

-- The entries of the log, which say which runs there were; each is a signed note.
create table log (
  position bigint not null check (position >= 0),
  about    text collate "C" not null check (about <> '' and (about = 'genesis') = (position = 0)),
  entry    text collate "C" not null check (octet_length(entry) between 1 and 1200),
  leaf     bytea not null check (octet_length(leaf) = 32),
  primary key (position)
);
create unique index log_about on log (about);

create function log_birth() returns trigger language plpgsql set search_path from current as $$
begin
  update log_head set size = size + 1 where size = new.position;
  if not found then
    raise exception 'log: an entry comes after the last one' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on log for each row execute function log_birth();

-- How many entries there are, in one row. The transaction that appends an entry changes it.
create table log_head (
  id   bigint not null check (id = 0),
  size bigint not null check (size >= 0),
  primary key (id)
);

insert into log_head values (0, 0);

create function log_head_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.id <> old.id or new.size <> old.size + 1 or not exists (select 1 from log t where t.position = old.size) then
    raise exception 'log_head: append-only: it counts the entries of the log' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create trigger change before update on log_head for each row execute function log_head_change();
create trigger keep before insert or delete or truncate on log_head for each statement execute function refuse();

-- append_log appends an entry, unless the log has one about the same; its caller holds the head until the transaction
-- ends. It is the only way in which a writer changes the log.
create function append_log(about text, entry text, leaf bytea) returns bigint language plpgsql security definer set search_path from current as $$
declare
  place bigint;
begin
  if exists (select 1 from log l where l.about = append_log.about) then
    return null;
  end if;
  select h.size into place from log_head h for update;
  if exists (select 1 from log l where l.about = append_log.about) then -- it came while this one waited
    return null;
  end if;
  insert into log values (place, append_log.about, append_log.entry, append_log.leaf);
  return place;
end $$;

-- The stored part of the tree of the log: hashes of entries and of whole subtrees, so that a proof needs no entry but
-- its own.
create table log_hashes (
  number bigint not null check (number >= 0),
  hash   bytea not null check (octet_length(hash) = 32),
  primary key (number)
);

-- The heads of the log that its notary signed.
create table log_heads (
  size  bigint not null check (size >= 1),
  root  bytea not null check (octet_length(root) = 32),
  note  text collate "C" not null check (note <> ''),
  at_us bigint not null check (at_us > 0),
  primary key (size)
);

create function log_heads_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.size > (select h.size from log_head h)) then
    raise exception 'log_heads: the log has fewer entries' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on log_heads referencing new table as added
  for each statement execute function log_heads_birth();

-- The heads that are at an anchor, a place that the owner of the record need not own.
create table log_anchors (
  anchor  text collate "C" not null check (anchor <> ''),
  size    bigint not null,
  at_us   bigint not null check (at_us > 0),
  receipt text collate "C" not null,
  primary key (anchor, size)
);

create function log_anchors_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where not exists (select 1 from log_heads h where h.size = a.size)) then
    raise exception 'log_anchors: no such head was signed' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on log_anchors referencing new table as added
  for each statement execute function log_anchors_birth();

-- ========== Events and who gets them ==========

-- What happened, as others are told. Each event is recorded in the transaction of what it tells.
create table outbox (
  about       text collate "C" not null check (about <> ''),
  event       text collate "C" not null check (event <> ''),
  kind        text collate "C" not null check (kind <> ''),
  subject     text collate "C" not null check (subject <> ''),
  seq         bigint not null check (seq >= 0),
  run_id      text collate "C" not null,
  pipeline    text collate "C" not null,
  environment text collate "C" not null,
  body        text collate "C" not null check (body::json is not null and octet_length(body) <= 20480),
  at_us       bigint not null check (at_us > 0),
  position    bigint not null check (position >= 0),
  primary key (about)
);
create index outbox_in_order on outbox (position, about);
create unique index outbox_position on outbox (position) where position > 0;

create function outbox_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.position <> 0) then
    raise exception 'outbox: append-only: an event gets its position later' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create function outbox_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.about, old.event, old.kind, old.subject, old.seq, old.run_id, old.pipeline, old.environment, old.body, old.at_us)
    is distinct from (new.about, new.event, new.kind, new.subject, new.seq, new.run_id, new.pipeline, new.environment, new.body, new.at_us)
    or old.position <> 0 or new.position not between 1 and (select h.size from outbox_head h)
  then
    raise exception 'outbox: append-only: only its position is set, once' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function outbox_stay() returns trigger language plpgsql set search_path from current as $$
begin
  if old.position = 0 or old.position > (select h.dropped from outbox_head h) then
    raise exception 'outbox: append-only: events are dropped by the head, in order' using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;

create trigger birth after insert on outbox referencing new table as added
  for each statement execute function outbox_birth();
create trigger change before update on outbox for each row execute function outbox_change();
create trigger keep before truncate on outbox for each statement execute function refuse();
create trigger stay before delete on outbox for each row execute function outbox_stay();

create function move_outbox(about text, from_position bigint, to_position bigint)
returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update outbox o set position = to_position
  where o.about = move_outbox.about and o.position = from_position;
  get diagnostics moved = row_count;
  return moved;
end $$;

-- One row: the last position that was given, and up to which position events were dropped because they were old.
create table outbox_head (
  id      bigint not null check (id = 0),
  size    bigint not null check (size >= 0),
  dropped bigint not null check (dropped between 0 and size),
  primary key (id)
);

insert into outbox_head values (0, 0, 0);

create function outbox_head_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.id <> old.id or new.size < old.size or new.dropped < old.dropped or (new.size, new.dropped) = (old.size, old.dropped) then
    raise exception 'outbox_head: append-only: positions are given and events dropped in order' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function outbox_head_drop() returns trigger language plpgsql set search_path from current as $$
begin
  delete from delivery_attempts where position <= new.dropped;
  delete from deliveries where position <= new.dropped;
  delete from outbox where position between 1 and new.dropped;
  return null;
end $$;

create trigger change before update on outbox_head for each row execute function outbox_head_change();
create trigger dropping after update on outbox_head
  for each row when (new.dropped > old.dropped) execute function outbox_head_drop();
create trigger keep before insert or delete or truncate on outbox_head for each statement execute function refuse();

create function move_outbox_head(id bigint, from_size bigint, from_dropped bigint, to_size bigint, to_dropped bigint)
returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update outbox_head h set size = to_size, dropped = to_dropped
  where h.id = move_outbox_head.id and (h.size, h.dropped) = (from_size, from_dropped);
  get diagnostics moved = row_count;
  return moved;
end $$;

-- Where events are delivered; the last row of each counts.
create table endpoints (
  endpoint    text collate "C" not null check (endpoint <> ''),
  seq         bigint not null check (seq >= 0),
  action      text collate "C" not null check (action in ('set', 'enable', 'disable', 'remove')),
  url         text collate "C" not null check (url <> ''),
  format      text collate "C" not null check (format in ('standard', 'openlineage')),
  ordering    text collate "C" not null check (ordering in ('strict', 'any')),
  kinds       text collate "C" not null check (kinds::json is not null),
  pipelines   text collate "C" not null check (pipelines::json is not null),
  environment text collate "C" not null,
  secrets     text collate "C" not null check (secrets::json is not null),
  disabled    bigint not null check (disabled in (0, 1)),
  actor       text collate "C" not null,
  why         text collate "C" not null,
  at_us       bigint not null check (at_us > 0),
  primary key (endpoint, seq)
);

create function endpoints_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and a.action <> 'set'
      or a.seq > 0 and not exists (select 1 from endpoints e where e.endpoint = a.endpoint and e.seq = a.seq - 1)
  ) then
    raise exception 'endpoints: append-only: a row comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on endpoints referencing new table as added
  for each statement execute function endpoints_birth();

-- How far the deliveries to an endpoint are, and which process delivers.
create table endpoint_states (
  endpoint   text collate "C" not null,
  cursor     bigint not null check (cursor >= 0),
  holder     text collate "C" not null,
  until_us   bigint not null check (until_us >= 0),
  failing_us bigint not null check (failing_us >= 0),
  primary key (endpoint)
);

create function endpoint_states_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.endpoint <> old.endpoint or new.cursor < old.cursor
    or (new.cursor, new.holder, new.until_us, new.failing_us) = (old.cursor, old.holder, old.until_us, old.failing_us)
  then
    raise exception 'endpoint_states: append-only: only how far it is changes' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create trigger change before update on endpoint_states for each row execute function endpoint_states_change();
create trigger keep before delete or truncate on endpoint_states for each statement execute function refuse();

create function move_endpoint_states(
  endpoint text, from_cursor bigint, from_holder text, from_until_us bigint, from_failing_us bigint, to_cursor bigint, to_holder text, to_until_us bigint, to_failing_us bigint
) returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update endpoint_states s
  set cursor = to_cursor, holder = to_holder, until_us = to_until_us, failing_us = to_failing_us
  where s.endpoint = move_endpoint_states.endpoint
    and (s.cursor, s.holder, s.until_us, s.failing_us)
      is not distinct from (from_cursor, from_holder, from_until_us, from_failing_us);
  get diagnostics moved = row_count;
  return moved;
end $$;

-- Which endpoint is to get which event.
create table deliveries (
  endpoint text collate "C" not null,
  position bigint not null check (position > 0),
  state    text collate "C" not null check (state in ('due', 'ok', 'dead')),
  attempts bigint not null check (attempts >= 0),
  tries    bigint not null check (tries between 0 and attempts),
  next_us  bigint not null check (next_us > 0),
  status   bigint not null check (status between 0 and 999),
  error    text collate "C" not null,
  primary key (endpoint, position)
);
create index deliveries_by_state on deliveries (endpoint, state, position);

create function deliveries_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (new.endpoint, new.position) is distinct from (old.endpoint, old.position) or new.attempts < old.attempts
    or (new.state, new.attempts, new.tries, new.next_us, new.status, new.error) is not distinct from (old.state, old.attempts, old.tries, old.next_us, old.status, old.error)
  then
    raise exception 'deliveries: append-only: only what became of it changes' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function deliveries_stay() returns trigger language plpgsql set search_path from current as $$
begin
  if old.position > (select h.dropped from outbox_head h) then
    raise exception 'deliveries: append-only: it is dropped with its event' using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;

create trigger change before update on deliveries for each row execute function deliveries_change();
create trigger keep before truncate on deliveries for each statement execute function refuse();
create trigger stay before delete on deliveries for each row execute function deliveries_stay();

create function move_deliveries(
  endpoint text, "position" bigint, from_state text, from_attempts bigint, from_tries bigint, from_next_us bigint, from_status bigint, from_error text, to_state text, to_attempts bigint, to_tries bigint, to_next_us bigint, to_status bigint, to_error text
) returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update deliveries s
  set state = to_state, attempts = to_attempts, tries = to_tries, next_us = to_next_us, status = to_status, error = to_error
  where s.endpoint = move_deliveries.endpoint and s.position = move_deliveries.position
    and (s.state, s.attempts, s.tries, s.next_us, s.status, s.error)
      is not distinct from (from_state, from_attempts, from_tries, from_next_us, from_status, from_error);
  get diagnostics moved = row_count;
  return moved;
end $$;

-- Every attempt at a delivery.
create table delivery_attempts (
  endpoint text collate "C" not null,
  position bigint not null,
  attempt  bigint not null check (attempt > 0),
  at_us    bigint not null check (at_us > 0),
  ms       bigint not null check (ms >= 0),
  status   bigint not null check (status between 0 and 999),
  error    text collate "C" not null,
  answer   text collate "C" not null,
  primary key (endpoint, position, attempt)
);

create function delivery_attempts_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.attempt > 1 and not exists (
    select 1 from delivery_attempts t where t.endpoint = a.endpoint and t.position = a.position and t.attempt = a.attempt - 1))
  then
    raise exception 'delivery_attempts: append-only: an attempt comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create function delivery_attempts_stay() returns trigger language plpgsql set search_path from current as $$
begin
  if old.position > (select h.dropped from outbox_head h) then
    raise exception 'delivery_attempts: append-only: it is dropped with its event' using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;

create trigger birth after insert on delivery_attempts referencing new table as added
  for each statement execute function delivery_attempts_birth();
create trigger stay before delete on delivery_attempts for each row execute function delivery_attempts_stay();

-- ========== Access to the API ==========

-- Who may use the HTTP API; the last row of each token counts.
create table access_tokens (
  token      text collate "C" not null check (token <> ''),
  seq        bigint not null check (seq >= 0),
  action     text collate "C" not null check (action in ('grant', 'revoke')),
  name       text collate "C" not null check (name <> ''),
  sha256     text collate "C" not null check (length(sha256) = 64),
  roles      text collate "C" not null check (roles::json is not null),
  pipelines  text collate "C" not null check (pipelines::json is not null),
  expires_us bigint not null check (expires_us >= 0),
  actor      text collate "C" not null,
  why        text collate "C" not null,
  at_us      bigint not null check (at_us > 0),
  primary key (token, seq)
);

create function access_tokens_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where (a.seq = 0) <> (a.action = 'grant')
      or a.seq > 0 and not exists (select 1 from access_tokens t where t.token = a.token and t.seq = a.seq - 1 and t.sha256 = a.sha256 and t.action <> 'revoke')
  ) then
    raise exception 'access_tokens: append-only: a token is granted, and then revoked' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on access_tokens referencing new table as added
  for each statement execute function access_tokens_birth();

-- Who was shown values of rows through the HTTP API: recorded before the first byte is sent.
create table disclosures (
  disclosure   text collate "C" not null check (disclosure <> ''),
  run_id       text collate "C" not null,
  actor        text collate "C" not null,
  access_token text collate "C" not null,
  what         text collate "C" not null check (what <> ''),
  subject      text collate "C" not null,
  at_us        bigint not null check (at_us > 0),
  primary key (disclosure)
);

-- ========== Deployed versions and environments ==========

-- What a deployed version consists of: a document and the files with which it is compiled, all stored as payloads.
create table bundles (
  bundle_sha256   text collate "C" not null check (length(bundle_sha256) = 64),
  document_sha256 text collate "C" not null check (length(document_sha256) = 64),
  manifest        text collate "C" not null check (manifest::json is not null),
  files           bigint not null check (files > 0),
  bytes           bigint not null check (bytes >= 0),
  primary key (bundle_sha256)
);

-- The versions of a deployed pipeline.
create table pipeline_versions (
  pipeline      text collate "C" not null check (pipeline <> ''),
  version       bigint not null check (version >= 1),
  bundle_sha256 text collate "C" not null references bundles (bundle_sha256),
  actor         text collate "C" not null,
  message       text collate "C" not null,
  code          text collate "C" not null,
  host          text collate "C" not null,
  folder        text collate "C" not null,
  git_commit    text collate "C" not null,
  git_dirty     bigint not null check (git_dirty in (0, 1) and (git_dirty = 0 or git_commit <> '')),
  created_us    bigint not null check (created_us > 0),
  primary key (pipeline, version),
  unique (pipeline, bundle_sha256)
);

create function pipeline_versions_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.version > 1 and not exists (
      select 1 from pipeline_versions v where v.pipeline = a.pipeline and v.version = a.version - 1)
  ) then
    raise exception 'pipeline_versions: a version has a bundle, and comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on pipeline_versions referencing new table as added
  for each statement execute function pipeline_versions_birth();

-- Which version of a pipeline is current in an environment; the last row counts.
create table deployments (
  environment   text collate "C" not null check (environment <> ''),
  pipeline      text collate "C" not null,
  seq           bigint not null check (seq >= 0),
  action        text collate "C" not null check (action in ('deploy', 'promote', 'rollback', 'retire', 'restore')),
  version       bigint not null,
  other_version bigint not null check (other_version >= 0),
  actor         text collate "C" not null,
  why           text collate "C" not null,
  at_us         bigint not null check (at_us > 0),
  primary key (environment, pipeline, seq),
  foreign key (pipeline, version) references pipeline_versions (pipeline, version)
);

create function deployments_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and (a.action not in ('deploy', 'promote') or a.other_version <> 0)
      or a.seq > 0 and not exists (
        select 1 from deployments d
        where d.environment = a.environment and d.pipeline = a.pipeline and d.seq = a.seq - 1 and d.version = a.other_version)
  ) then
    raise exception 'deployments: it is of a version that is there, and comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on deployments referencing new table as added
  for each statement execute function deployments_birth();

-- The values that an environment has for references in documents; the last row counts.
create table environments (
  environment text collate "C" not null check (environment <> ''),
  seq         bigint not null check (seq >= 1),
  vars        text collate "C" not null check (vars::json is not null),
  actor       text collate "C" not null,
  why         text collate "C" not null,
  at_us       bigint not null check (at_us > 0),
  primary key (environment, seq)
);

create function environments_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq > 1 and not exists (select 1 from environments e where e.environment = a.environment and e.seq = a.seq - 1)
  ) then
    raise exception 'environments: values come after those before them' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on environments referencing new table as added
  for each statement execute function environments_birth();

-- ========== Schedules ==========

-- The schedules of deployed pipelines; the last row of each counts.
create table schedules (
  schedule    text collate "C" not null,
  seq         bigint not null check (seq >= 0),
  environment text collate "C" not null check (environment <> ''),
  pipeline    text collate "C" not null check (pipeline <> ''),
  name        text collate "C" not null check (name <> ''),
  action      text collate "C" not null check (action in ('set', 'remove', 'pause', 'resume', 'create', 'delete')),
  spec        text collate "C" not null check (spec::json is not null),
  version     bigint not null check (version >= 1),
  since_us    bigint not null check (since_us > 0),
  paused      bigint not null check (paused in (0, 1)),
  until_us    bigint check (until_us is null or paused = 1),
  actor       text collate "C" not null,
  why         text collate "C" not null,
  at_us       bigint not null check (at_us > 0),
  origin      text collate "C" not null check (origin in ('document', 'command')),
  primary key (schedule, seq),
  foreign key (pipeline, version) references pipeline_versions (pipeline, version),
  check (schedule = environment || '/' || pipeline || '/' || name),
  check (action not in ('create', 'delete') or origin = 'command')
);

create function schedules_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and a.action not in ('set', 'create')
      or a.seq > 0 and not exists (select 1 from schedules s where s.schedule = a.schedule and s.seq = a.seq - 1)
  ) then
    raise exception 'schedules: it is of a version that is there, and comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on schedules referencing new table as added
  for each statement execute function schedules_birth();

-- What people asked for: runs for slots, whether or not the schedule fired for them.
create table slot_requests (
  request     text collate "C" not null check (request <> ''),
  schedule    text collate "C" not null,
  action      text collate "C" not null check (action in ('run', 'backfill', 'retry', 'skip', 'make_up')),
  first       text collate "C" not null check (first <> ''),
  last        text collate "C" not null check (last <> ''),
  at_once     bigint not null check (at_once >= 1),
  version     bigint not null check (version >= 0),
  actor       text collate "C" not null,
  why         text collate "C" not null,
  accepted_us bigint not null check (accepted_us > 0),
  primary key (request)
);

create function slot_requests_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where not exists (select 1 from schedules s where s.schedule = a.schedule)) then
    raise exception 'slot_requests: there is no such schedule' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on slot_requests referencing new table as added
  for each statement execute function slot_requests_birth();

-- The slots of schedules, once each, with their state.
create table slots (
  schedule    text collate "C" not null,
  slot        text collate "C" not null check (slot <> ''),
  from_us     bigint not null,
  to_us       bigint not null check (to_us > from_us),
  due_us      bigint not null,
  deadline_us bigint check (deadline_us is null or deadline_us >= due_us),
  fired       bigint not null check (fired in (0, 1)),
  changes     bigint not null check (changes >= 0),
  state       text collate "C" not null check (state in ('due', 'running', 'done', 'failed', 'skipped', 'missed')),
  run_id      text collate "C" not null check (run_id <> '' or state not in ('running', 'done', 'failed')),
  attempts    bigint not null check (attempts >= 0 and (attempts > 0) = (run_id <> '')),
  seen        bigint not null check (seen >= 0),
  reason      text collate "C" not null check (reason <> '' or state not in ('failed', 'skipped', 'missed')),
  request     text collate "C" not null,
  ready_us    bigint not null,
  late_us     bigint check (late_us is null or deadline_us is not null),
  changed_us  bigint not null check (changed_us > 0),
  primary key (schedule, slot)
);
create index slots_due on slots (schedule, due_us, slot);
create index slots_by_state on slots (state, schedule, due_us, slot);
create index slots_of_run on slots (run_id, schedule, slot);

create function slots_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.changes <> 0 or a.state not in ('due', 'skipped', 'missed') or a.run_id <> ''
      or not exists (select 1 from schedules s where s.schedule = a.schedule)
  ) then
    raise exception 'slots: a slot of a schedule is due, skipped or missed at first' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create function slots_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.schedule, old.slot, old.from_us, old.to_us, old.due_us, old.deadline_us, old.fired)
    is distinct from (new.schedule, new.slot, new.from_us, new.to_us, new.due_us, new.deadline_us, new.fired)
  then
    raise exception 'slots: only what became of a slot changes' using errcode = 'integrity_constraint_violation';
  end if;
  if new.changes <> old.changes + 1 or new.attempts < old.attempts or new.state in ('done', 'failed') and old.state not in ('running', 'failed', 'done')
    or new.state = 'running' and old.state not in ('due', 'running', 'failed')
    or old.state = 'done' and new.state <> 'done' and (new.state <> 'due' or new.request in ('', old.request))
  then
    raise exception 'slots: illegal change of state' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create trigger birth after insert on slots referencing new table as added
  for each statement execute function slots_birth();
create trigger change before update on slots for each row execute function slots_change();
create trigger keep before delete or truncate on slots for each statement execute function refuse();

create function move_slots(
  schedule text, slot text,
  from_changes bigint, from_state text, from_run_id text, from_attempts bigint, from_seen bigint, from_reason text, from_request text, from_ready_us bigint, from_late_us bigint, from_changed_us bigint,
  to_changes bigint, to_state text, to_run_id text, to_attempts bigint, to_seen bigint, to_reason text, to_request text, to_ready_us bigint, to_late_us bigint, to_changed_us bigint
) returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update slots s
  set changes = to_changes, state = to_state, run_id = to_run_id, attempts = to_attempts, seen = to_seen, reason = to_reason, request = to_request, ready_us = to_ready_us, late_us = to_late_us, changed_us = to_changed_us
  where s.schedule = move_slots.schedule and s.slot = move_slots.slot
    and (s.changes, s.state, s.run_id, s.attempts, s.seen, s.reason, s.request, s.ready_us, s.late_us, s.changed_us)
      is not distinct from (from_changes, from_state, from_run_id, from_attempts, from_seen, from_reason, from_request, from_ready_us, from_late_us, from_changed_us);
  get diagnostics moved = row_count;
  return moved;
end $$;

-- Every change of every slot.
create table slot_events (
  schedule text collate "C" not null,
  slot     text collate "C" not null,
  seq      bigint not null check (seq >= 0),
  event    text collate "C" not null check (event in (state, 'late', 'recovered')),
  state    text collate "C" not null,
  run_id   text collate "C" not null,
  attempt  bigint not null,
  reason   text collate "C" not null,
  request  text collate "C" not null,
  at_us    bigint not null check (at_us > 0),
  primary key (schedule, slot, seq)
);

create function slot_events_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq > 0 and not exists (
      select 1 from slot_events e where e.schedule = a.schedule and e.slot = a.slot and e.seq = a.seq - 1)
  ) then
    raise exception 'slot_events: an event comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on slot_events referencing new table as added
  for each statement execute function slot_events_birth();

-- ========== Triggers ==========

-- What the triggers of deployed pipelines are; the last row of each counts.
create table triggers (
  trigger     text collate "C" not null,
  seq         bigint not null check (seq >= 0),
  environment text collate "C" not null check (environment <> ''),
  pipeline    text collate "C" not null check (pipeline <> ''),
  name        text collate "C" not null check (name <> ''),
  action      text collate "C" not null check (action in ('set', 'remove', 'pause', 'resume')),
  spec        text collate "C" not null check (spec::json is not null),
  version     bigint not null check (version >= 1),
  paused      bigint not null check (paused in (0, 1)),
  actor       text collate "C" not null,
  why         text collate "C" not null,
  at_us       bigint not null check (at_us > 0),
  primary key (trigger, seq),
  foreign key (pipeline, version) references pipeline_versions (pipeline, version),
  check (trigger = environment || '/' || pipeline || '/' || name)
);

create function triggers_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and a.action <> 'set'
      or a.seq > 0 and not exists (select 1 from triggers t where t.trigger = a.trigger and t.seq = a.seq - 1)
  ) then
    raise exception 'triggers: it is of a version that is there, and comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on triggers referencing new table as added
  for each statement execute function triggers_birth();

-- How far each trigger has been looked after.
create table watches (
  trigger    text collate "C" not null,
  turn       bigint not null check (turn >= 0),
  looked_us  bigint not null check (looked_us >= 0),
  unready    bigint not null check (unready >= 0),
  error      text collate "C" not null,
  changed_us bigint not null check (changed_us >= 0),
  position   bigint not null check (position >= 0),
  primary key (trigger)
);

create function watches_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.turn <> 0 or a.looked_us <> 0 or a.position <> 0 or a.trigger <> '' and not exists (select 1 from triggers t where t.trigger = a.trigger)
  ) then
    raise exception 'watches: not the beginning of the watch of a trigger' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create function watches_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.trigger <> old.trigger or new.turn <> old.turn + 1 or new.position < old.position then
    raise exception 'watches: illegal change: a turn comes after the one before it, and no position before it' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create trigger birth after insert on watches referencing new table as added
  for each statement execute function watches_birth();
create trigger change before update on watches for each row execute function watches_change();
create trigger keep before delete or truncate on watches for each statement execute function refuse();

create function move_watches(
  trigger text,
  from_turn bigint, from_looked_us bigint, from_unready bigint, from_error text, from_position bigint, from_changed_us bigint,
  to_turn bigint, to_looked_us bigint, to_unready bigint, to_error text, to_position bigint, to_changed_us bigint
) returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update watches w
  set turn = to_turn, looked_us = to_looked_us, unready = to_unready, error = to_error, position = to_position, changed_us = to_changed_us
  where w.trigger = move_watches.trigger
    and (w.turn, w.looked_us, w.unready, w.error, w.position, w.changed_us) = (from_turn, from_looked_us, from_unready, from_error, from_position, from_changed_us);
  get diagnostics moved = row_count;
  return moved;
end $$;

-- What arrived at triggers, each revision once: files, outputs of other pipelines, deliveries, and rows of tables. Only
-- what became of it changes.
create table arrivals (
  trigger    text collate "C" not null,
  item       text collate "C" not null check (item <> ''),
  revision   bigint not null check (revision >= 0),
  place      text collate "C" not null check (place::json is not null),
  arrived_us bigint not null check (arrived_us > 0),
  changes    bigint not null check (changes >= 0),
  state      text collate "C" not null check (state in ('ready', 'taken', 'done', 'ignored', 'gone')),
  run_id     text collate "C" not null check ((run_id <> '') = (state in ('taken', 'done'))),
  reason     text collate "C" not null check (reason <> '' or state not in ('ignored', 'gone')),
  changed_us bigint not null check (changed_us > 0),
  payload    text collate "C" not null check (payload = '' or payload ~ '^[0-9a-f]{64}$'),
  primary key (trigger, item, revision)
);
create index arrivals_by_state on arrivals (state, trigger, arrived_us, item, revision);
create index arrivals_by_payload on arrivals (payload) where payload <> '';
create index arrivals_by_time on arrivals (trigger, arrived_us, item, revision);

create function arrivals_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added n
    where n.changes <> 0 or n.state not in ('ready', 'ignored') or not exists (select 1 from triggers t where t.trigger = n.trigger)
      or n.revision > 0 and not exists (select 1 from arrivals a where a.trigger = n.trigger and a.item = n.item and a.revision = n.revision - 1)
  ) then
    raise exception 'arrivals: append-only: an arrival at a trigger is ready or ignored at first, and comes after the revision before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create function arrivals_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.trigger, old.item, old.revision, old.place, old.arrived_us, old.payload)
    is distinct from (new.trigger, new.item, new.revision, new.place, new.arrived_us, new.payload)
  then
    raise exception 'arrivals: only what became of an arrival changes' using errcode = 'integrity_constraint_violation';
  end if;
  if new.changes <> old.changes + 1
    or not (old.state = 'ready' and new.state in ('taken', 'gone', 'ignored') or old.state = 'taken' and new.state in ('done', 'ready', 'gone'))
    or new.state = 'taken' and not exists (
      select 1 from arrival_runs l where l.run_id = new.run_id and l.trigger = new.trigger and l.item = new.item and l.revision = new.revision)
    or new.state = 'done' and new.run_id <> old.run_id
    or new.state = 'done' and not exists (
      select 1 from runs r where r.run_id = old.run_id and r.status in ('completed', 'completed_with_failures', 'empty'))
    or old.state = 'taken' and new.state <> 'done' and exists (select 1 from runs r where r.run_id = old.run_id and r.final = 0)
    or new.state = 'ignored' and not exists (
      select 1 from arrival_orders o where o.trigger = new.trigger and o.item = new.item and o.revision = new.revision and o.action = 'ignore')
  then
    raise exception 'arrivals: illegal change of state' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create trigger birth after insert on arrivals referencing new table as added
  for each statement execute function arrivals_birth();
create trigger change before update on arrivals for each row execute function arrivals_change();
create trigger keep before delete or truncate on arrivals for each statement execute function refuse();
create trigger purged after insert on arrivals referencing new table as added
  for each statement execute function refer('payload');

create function move_arrivals(
  trigger text, item text, revision bigint,
  from_changes bigint, from_state text, from_run_id text, from_reason text, from_changed_us bigint,
  to_changes bigint, to_state text, to_run_id text, to_reason text, to_changed_us bigint
) returns bigint language plpgsql security definer set search_path from current as $$
declare
  moved bigint;
begin
  update arrivals a
  set changes = to_changes, state = to_state, run_id = to_run_id, reason = to_reason, changed_us = to_changed_us
  where a.trigger = move_arrivals.trigger and a.item = move_arrivals.item and a.revision = move_arrivals.revision
    and (a.changes, a.state, a.run_id, a.reason, a.changed_us) = (from_changes, from_state, from_run_id, from_reason, from_changed_us);
  get diagnostics moved = row_count;
  return moved;
end $$;

-- What people decided about arrivals: that one gets no run, or arrives again.
create table arrival_orders (
  trigger  text collate "C" not null,
  item     text collate "C" not null,
  revision bigint not null,
  action   text collate "C" not null check (action in ('ignore', 'again')),
  actor    text collate "C" not null,
  why      text collate "C" not null,
  at_us    bigint not null check (at_us > 0),
  primary key (trigger, item, revision, action)
);

create function arrival_orders_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added n
    where not exists (
      select 1 from arrivals a
      where a.trigger = n.trigger and a.item = n.item and a.revision = n.revision and a.state = 'ready'
        and (n.action = 'ignore' or a.revision > 0 and a.changes = 0))
  ) then
    raise exception 'arrival_orders: append-only: not an arrival that waits' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on arrival_orders referencing new table as added
  for each statement execute function arrival_orders_birth();

-- Which arrivals are on the list of which run, also if they were returned later.
create table arrival_runs (
  run_id   text collate "C" not null check (run_id <> ''),
  place    bigint not null check (place >= 0),
  trigger  text collate "C" not null,
  item     text collate "C" not null,
  revision bigint not null,
  at_us    bigint not null check (at_us > 0),
  primary key (run_id, place),
  unique (trigger, item, revision, run_id)
);
create index arrival_runs_by_item on arrival_runs (item, run_id, place);

create function arrival_runs_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added n
    where not exists (select 1 from starts s where s.run_id = n.run_id) or exists (select 1 from runs r where r.run_id = n.run_id)
      or not exists (select 1 from arrivals a where a.trigger = n.trigger and a.item = n.item and a.revision = n.revision and a.state = 'ready')
  ) then
    raise exception 'arrival_runs: append-only: not an arrival that waits, or a run that somebody asked for and that has not begun' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create trigger birth after insert on arrival_runs referencing new table as added
  for each statement execute function arrival_runs_birth();

-- ========== The schema, and what its views count with ==========

-- Which migrations made the schema, and the SHA-256 of each: of its text without lines of comments. What a program
-- makes would have the same. The id of the first is that of the landscape.
create table schema_versions (
  version bigint not null check (version > 0),
  sha256  text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$'),
  id      text collate "C" not null default left(md5(gen_random_uuid()::text), 16) check (length(id) = 16),
  primary key (version)
);

-- What the views count with: 0 to 1023.
create table numbers (n bigint primary key);

insert into numbers select generate_series(0, 1023);

create trigger fixed before insert or update or delete or truncate on numbers
  for each statement execute function fix();

-- What the views read big-endian numbers with: the value of each byte.
create table bytes (byte bytea primary key, n bigint not null);

insert into bytes select set_byte('\x00', 0, n), n from generate_series(0, 255) n;

create trigger fixed before insert or update or delete or truncate on bytes for each statement execute function fix();

-- ========== Guards of every table ==========

do $$
declare
  name text;
begin
  -- Rows that never change.
  foreach name in array array[
    'nodes', 'artifacts', 'retried', 'run_seals', 'sign_offs', 'approval_rules', 'approval_requests', 'approvals',
    'approved_executions', 'holds', 'hold_ends', 'purges', 'purged_runs', 'deletions', 'deleted_payloads',
    'returned_payloads', 'retention_periods', 'retention_turns', 'forgotten', 'forgotten_leaves', 'erasures',
    'erased', 'repacked', 'forgettings', 'archives', 'archived_payloads', 'attestations', 'heals', 'limits', 'log',
    'log_hashes', 'log_heads', 'log_anchors', 'endpoints', 'access_tokens', 'disclosures', 'bundles',
    'pipeline_versions', 'deployments', 'environments', 'schedules', 'slot_requests', 'slot_events', 'triggers',
    'arrival_orders', 'arrival_runs', 'schema_versions'
  ] loop
    execute format('create trigger keep before update or delete or truncate on %I for each statement execute function refuse()', name);
  end loop;
  -- Rows of a run that never change until they are archived, and attempts at deliveries until their event is dropped.
  foreach name in array array[
    'edges', 'sources', 'lanes', 'lookup_tables', 'source_ends', 'passages', 'ways', 'way_steps', 'chunk_ways',
    'way_totals', 'rejected_totals', 'repeats', 'field_roots', 'feeds', 'folds', 'batches', 'members',
    'parents', 'merge_kinds', 'merge_codes', 'chunk_merges', 'merges', 'effect_events', 'resumptions', 'executions',
    'actions', 'run_events', 'policies', 'policy_results', 'chunk_seals', 'delivery_attempts'
  ] loop
    execute format('create trigger keep before update or truncate on %I for each statement execute function refuse()', name);
  end loop;
  -- What an archive takes out of the landscape, if its guards need no argument.
  foreach name in array array[
    'edges', 'sources', 'lanes', 'source_ends', 'chunk_rows', 'passages', 'ways', 'way_steps', 'chunk_ways',
    'way_totals', 'rejected_totals', 'hashes', 'errors', 'key_hashes', 'repeats', 'field_roots', 'feeds', 'batches',
    'members', 'parents', 'merge_kinds', 'merge_codes', 'chunk_merges', 'merges', 'effects', 'effect_events',
    'resumptions', 'executions', 'actions', 'run_events', 'policies', 'policy_results', 'chunk_seals'
  ] loop
    execute format('create trigger archiving before delete on %I for each statement execute function archiving()', name);
    execute format('create trigger archived before delete on %I for each row execute function archived()', name);
  end loop;
end $$;

-- A purger removes by this function, and in no other way.
create function remove_run(run_id text) returns void language plpgsql security definer set search_path from current as $$
begin
  if exists (select 1 from archives a where a.run_id = remove_run.run_id and a.xmin <> pg_current_xact_id()::xid) then
    return; -- it was removed when it was archived
  end if;
  delete from chunk_seals t where t.run_id = remove_run.run_id;
  delete from policy_results t where t.run_id = remove_run.run_id;
  delete from policies t where t.run_id = remove_run.run_id;
  delete from run_events t where t.run_id = remove_run.run_id;
  delete from actions t where t.run_id = remove_run.run_id;
  delete from rejected_totals t where t.run_id = remove_run.run_id;
  delete from effect_events t where t.run_id = remove_run.run_id;
  delete from effects t where t.run_id = remove_run.run_id;
  delete from executions t where t.run_id = remove_run.run_id;
  delete from resumptions t where t.run_id = remove_run.run_id;
  delete from parents t where t.run_id = remove_run.run_id;
  delete from merges t where t.run_id = remove_run.run_id;
  delete from members t where t.run_id = remove_run.run_id;
  delete from batches t where t.run_id = remove_run.run_id;
  delete from chunk_merges t where t.run_id = remove_run.run_id;
  delete from merge_codes t where t.run_id = remove_run.run_id;
  delete from merge_kinds t where t.run_id = remove_run.run_id;
  delete from field_roots t where t.run_id = remove_run.run_id;
  delete from feeds t where t.run_id = remove_run.run_id;
  delete from repeats t where t.run_id = remove_run.run_id;
  delete from key_hashes t where t.run_id = remove_run.run_id;
  delete from errors t where t.run_id = remove_run.run_id;
  delete from hashes t where t.run_id = remove_run.run_id;
  delete from way_totals t where t.run_id = remove_run.run_id;
  delete from chunk_ways t where t.run_id = remove_run.run_id;
  delete from way_steps t where t.run_id = remove_run.run_id;
  delete from ways t where t.run_id = remove_run.run_id;
  delete from passages t where t.run_id = remove_run.run_id;
  delete from chunk_rows t where t.run_id = remove_run.run_id;
  delete from chunks t where t.run_id = remove_run.run_id;
  delete from folds t where t.run_id = remove_run.run_id;
  delete from source_ends t where t.run_id = remove_run.run_id;
  delete from lookup_tables t where t.run_id = remove_run.run_id;
  delete from lanes t where t.run_id = remove_run.run_id;
  delete from sources t where t.run_id = remove_run.run_id;
  delete from edges t where t.run_id = remove_run.run_id;
end $$;

-- ========== Views ==========

-- What is packed is cut up by slices of 1,024 rows: "offset 0" keeps a slice apart, so that it is read from its page once and
-- not once for each of its rows.
--
-- The planner cannot know how many rows are packed. So nothing that is unpacked is joined to what it could be looked up in for
-- each row, in an order that the planner chooses: ways and kinds of merges are collected in a list for each chunk, records that
-- few rows have are looked up under a condition ("limit 1" keeps that so), and what is left is a left join that stays one
-- ("coalesce" in conditions and columns), with the unpacked rows on its left.

-- u16 and u32 are the number i of 2 or 4 bytes each, NULL behind the end.
create function u16(packed bytea, i bigint) returns bigint language sql immutable parallel safe as $$
  select case when octet_length(packed) >= 2 * i + 2 then
    (get_byte(packed, (2 * i)::int) << 8 | get_byte(packed, (2 * i)::int + 1))::bigint
  end
$$;

create function u32(packed bytea, i bigint) returns bigint language sql immutable parallel safe as $$
  select case when octet_length(packed) >= 4 * i + 4 then
    (get_byte(packed, (4 * i)::int)::bigint << 24) | (get_byte(packed, (4 * i)::int + 1) << 16)
      | (get_byte(packed, (4 * i)::int + 2) << 8) | get_byte(packed, (4 * i)::int + 3)
  end
$$;

-- code_at is the number i of width bytes each. Bodies of functions for views are bound to what they call when they are
-- made, as views are: a body that is a text would look for u16 in the caller's search path.
create function code_at(packed bytea, width bigint, i bigint) returns bigint language sql immutable parallel safe
return case when width = 1 and octet_length(packed) > i then get_byte(packed, i::int)::bigint
  when width = 2 then u16(packed, i) end;

-- hash_at is the hash of row i of a slice: with slots there are hashes only of the rows that have one.
create function hash_at(hashes bytea, slots bytea, i bigint) returns text language sql immutable parallel safe
return encode(substr(hashes, 32 * (case when slots is null then i else nullif(u16(slots, i), 0) - 1 end)::int + 1, 32), 'hex');

-- What SQLite calls by these names: so that a question is the same in both.
create function hex(raw bytea) returns text language sql immutable parallel safe as $$ select upper(encode(raw, 'hex')) $$;

create function datetime(seconds bigint, modifier text) returns text language sql stable parallel safe as $$
  select case when modifier = 'unixepoch' then to_char(to_timestamp(seconds) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') end
$$;

-- What the views of tokens are made of: 1,024 rows of a chunk in one lane, and the ways that the lane's rows of this
-- chunk went. The way of row i is at the same place in ways as its code is in way_codes.
create view slices as
select c.run_id, c.source, c.chunk, g.slice, l.lane, l.name as lane_name, case when l.name = '' then '' else '/' || l.name end as suffix, l.branch,
  case when f.name = '' then '' else '/' || f.name end as fork_suffix,
  c.first_row + 1024 * g.slice as first_row, least(1024, c.rows - 1024 * g.slice) as rows,
  d.width, d.codes, w.codes as way_codes, w.ways, w.finalized, w.refused, m.nodes as barriers, m.batches
from chunks c
join lanes l on l.run_id = c.run_id and l.source = c.source
left join lanes f on f.run_id = l.run_id and f.lane = l.parent
left join passages p on p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk and p.lane = l.lane
cross join lateral (
  select array_agg(w.code) as codes, array_agg(k) as ways,
    array_agg(e.state is not distinct from 'finalized') as finalized, array_agg(coalesce(e.refused, 0) > 0) as refused
  from chunk_ways w
  join ways k on k.run_id = w.run_id and k.way = w.way and k.lane = w.lane
  left join effects e on e.run_id = w.run_id and e.sink = k.sink and e.source = w.source and e.chunk = w.chunk
  where w.run_id = c.run_id and w.source = c.source and w.chunk = c.chunk and w.lane = l.lane
) w
cross join lateral generate_series(0::bigint, (c.rows + 1023) / 1024 - 1) g (slice)
cross join lateral (
  select p.code_bytes as width, substr(p.way_codes, (1024 * p.code_bytes * g.slice)::int + 1, 1024 * p.code_bytes::int) as codes
  offset 0
) d
cross join lateral (
  select array_agg(m.node) as nodes, array_agg(m.batches) as batches
  from members m
  where m.run_id = c.run_id and m.source = c.source and m.chunk = c.chunk and m.lane = l.lane and m.slice = g.slice
) m
where l.name = '' or p.chunk is not null;

-- One row per record of a source.
create view rows as
select s.run_id, s.source, s.first_row + i.n as row, s.source || ':' || (s.first_row + i.n) as token_id, s.chunk, c.file,
  c.first_line + case when r.lines is null then 1024 * s.slice + i.n else u32(r.lines, i.n) end as line,
  c.first_offset + u32(r.offsets, i.n) as byte_offset, u32(r.lengths, i.n) as byte_length,
  encode(substr(r.raw_hashes, 32 * i.n::int + 1, 32), 'hex') as raw_hash,
  c.pack, 1024 * s.slice + i.n as pack_index,
  t.completed,
  case
    when t.completed = 0 then null
    when z.node is not null then 'failure'
    else coalesce(nullif((a.k).outcome, ''), case when b.path = 'coalesced' then 'success' else 'transient' end)
  end as outcome,
  case when t.completed = 0 then null when z.node is not null then 'on_error_routed' else coalesce(b.path, (a.k).path) end as path,
  case when z.node is null then nullif((a.k).sink, '') else '__quarantine__' end as sink
from slices s
join nodes n on n.run_id = s.run_id and n.node = s.source and n.kind = 'source'
join chunks c on c.run_id = s.run_id and c.source = s.source and c.chunk = s.chunk
join lateral (
  select substr(q.offsets, 1) as offsets, substr(q.lengths, 1) as lengths, substr(q.lines, 1) as lines, substr(q.raw_hashes, 1) as raw_hashes
  from chunk_rows q
  where q.run_id = s.run_id and q.source = s.source and q.chunk = s.chunk and q.slice = s.slice
  offset 0
) r on true
cross join lateral generate_series(0::bigint, s.rows - 1) i (n)
cross join lateral (select array_position(s.way_codes, code_at(s.codes, s.width, i.n)) as place offset 0) p
cross join lateral (select p.place, s.ways[p.place] as k offset 0) a
left join lateral (
  select b.path
  from batches b
  where (a.k).path = 'buffered' and b.run_id = s.run_id and b.node = (a.k).last_node
    and b.batch = u32(s.batches[array_position(s.barriers, (a.k).last_node)], i.n)
  limit 1
) b on true
left join lateral (
  select z.node
  from errors z
  where s.refused[a.place] and z.run_id = s.run_id and z.source = s.source and z.row = s.first_row + i.n and z.lane = s.lane and z.node = (a.k).sink
  limit 1
) z on true
cross join lateral (
  select case
    when (a.k).way is null then 0
    when (a.k).path = 'buffered' then (b.path is not null)::int
    when (a.k).sink in ('', '__quarantine__', '__discard__') then 1
    else s.finalized[a.place]::int
  end::bigint as completed
) t
where s.lane_name = '';

-- One row per token.
create view tokens as
select s.run_id, s.source, s.first_row + i.n as row, s.source || ':' || (s.first_row + i.n) || s.suffix as token_id,
  s.chunk, 1024 * s.slice + i.n as pack_index, (a.k).way, (a.k).sink as bound_for,
  case
    when (a.k).way is null then 0
    when (a.k).path = 'buffered' then exists (
      select 1 from batches b where b.run_id = s.run_id and b.node = (a.k).last_node and b.batch = t.batch)::int
    when (a.k).sink in ('', '__quarantine__', '__discard__') then 1
    else s.finalized[a.place]::int
  end::bigint as completed,
  s.lane, s.lane_name,
  case when s.branch <> '' then s.source || ':' || (s.first_row + i.n) || s.fork_suffix end as fork_group_id,
  case when (a.k).path = 'buffered' then (a.k).last_node end as barrier, t.batch, (a.k).last_node || ':' || t.batch as batch_id,
  z.node as refused_by
from slices s
cross join lateral generate_series(0::bigint, s.rows - 1) i (n)
cross join lateral (select array_position(s.way_codes, code_at(s.codes, s.width, i.n)) as place offset 0) p
cross join lateral (select p.place, s.ways[p.place] as k offset 0) a
cross join lateral (
  select case when (a.k).path = 'buffered' then u32(s.batches[array_position(s.barriers, (a.k).last_node)], i.n) end as batch
  offset 0
) t
left join lateral (
  select z.node
  from errors z
  where s.refused[a.place] and z.run_id = s.run_id and z.source = s.source and z.row = s.first_row + i.n and z.lane = s.lane and z.node = (a.k).sink
  limit 1
) z on true
where s.lane_name = '' or (a.k).way is not null;

-- Which lanes' tokens a coalesce takes in their own passage.
create view lane_joins as
select g.run_id, g.source, g.lane, b.branch, m.node, m.lane as merged_lane, m.parent as fork_lane
from lanes m
join lanes b on b.run_id = m.run_id and b.source = m.source and b.parent = m.parent and b.node = m.fork
join lanes g on g.run_id = m.run_id and g.source = m.source
  and (g.lane = b.lane or substr(g.name, 1, length(b.name) + 1) = b.name || '/')
where m.branch = '' and m.fork <> '' and not exists (
  select 1 from lanes n
  join lanes i on i.run_id = n.run_id and i.source = n.source and i.parent = n.parent and i.node = n.fork
  where n.run_id = m.run_id and n.source = m.source and n.node = m.node and n.branch = ''
    and substr(i.name, 1, length(b.name) + 1) = b.name || '/'
    and (g.lane = i.lane or substr(g.name, 1, length(i.name) + 1) = i.name || '/'));

-- How each token ended.
create view token_outcomes as
select t.run_id, t.token_id, t.source, t.row, t.chunk, t.completed,
  case
    when t.completed = 0 then null
    when t.refused_by is not null then 'failure'
    when t.barrier is null then k.outcome
    when b.path = 'coalesced' then 'success'
    else 'transient'
  end as outcome,
  case
    when t.refused_by is not null then 'on_error_routed'
    when t.barrier is not null then coalesce(b.path, 'buffered')
    when t.completed = 1 then k.path
  end as path,
  case when t.refused_by is null then nullif(k.sink, '') else '__quarantine__' end as sink, coalesce(t.refused_by, k.last_node) as last_node,
  x.error_hash, t.lane,
  case when k.path = 'fork_parent' then t.token_id end as fork_group_id,
  case
    when b.path = 'coalesced' then (
      select g.node || ':' || g.out_row from merges g where g.run_id = b.run_id and g.node = b.node and g.batch = b.batch)
    when k.path = 'coalesced' then t.source || ':' || t.row || '/' || m.name
  end as join_group_id,
  case when b.path = 'expand_parent' then t.token_id end as expand_group_id,
  case when coalesce(b.path, 'batch_consumed') = 'batch_consumed' then t.batch_id end as batch_id
from tokens t
left join ways k on k.run_id = t.run_id and k.way = t.way
left join lane_joins g on g.run_id = t.run_id and g.source = t.source and g.lane = t.lane and g.node = k.last_node and k.path = 'coalesced'
left join lanes m on m.run_id = g.run_id and m.lane = g.merged_lane
left join lateral (
  select b.run_id, b.node, b.batch, b.path from batches b where t.batch is not null and b.run_id = t.run_id and b.node = t.barrier and b.batch = t.batch limit 1
) b on true
left join lateral (
  select x.error_hash
  from errors x
  where (k.outcome = 'failure' or t.refused_by is not null) and x.run_id = t.run_id and x.source = t.source and x.row = t.row and x.lane = t.lane
    and x.node = coalesce(t.refused_by, k.last_node)
  limit 1
) x on true;

-- One row per way and node that it comes to, and where the hashes of what goes into the node and comes out of it are.
create view way_places as
select s.run_id, s.way, s.seq, s.node, s.label, n.kind, came.hashes as in_hashes, came.place as in_place, went.hashes as out_hashes, went.place as out_place
from ways k
join way_steps s on s.run_id = k.run_id and s.way = k.way and s.seq >= k.first_seq
join nodes n on n.run_id = s.run_id and n.node = s.node
left join lateral (
  select o.hashes, y.lane || '/' || y.node as place
  from way_steps y
  join nodes o on o.run_id = y.run_id and o.node = y.node and o.hashes <> 'input'
  where y.run_id = s.run_id and y.way = s.way and y.seq < s.seq and not (k.outcome = 'failure' and y.node = k.last_node)
  order by y.seq desc limit 1
) came on true
left join lateral (
  select o.hashes, y.lane || '/' || y.node as place
  from way_steps y
  join nodes o on o.run_id = y.run_id and o.node = y.node and o.hashes <> 'input'
  where y.run_id = s.run_id and y.way = s.way and y.seq <= s.seq and not (k.outcome = 'failure' and y.node = k.last_node)
  order by y.seq desc limit 1
) went on true;

-- One row per token and node that it came to. Where the hashes of a step are is looked for once for each way of a
-- slice, and not for each token.
create view node_states as
select s.run_id, s.source || ':' || (s.first_row + i.n) || s.suffix as token_id, s.source, s.first_row + i.n as row, s.chunk, coalesce(y.seq, 0) as seq,
  coalesce(y.node, '') as node, coalesce(y.kind, '') as kind, coalesce(y.label, '') as label,
  case
    when y.node = z.node or (a.k).outcome = 'failure' and y.node = (a.k).last_node then 'failed'
    when y.kind = 'sink' then case when (a.k).sink not in ('', '__quarantine__', '__discard__') and s.finalized[a.place] then 'completed' else 'open' end
    when (a.k).path = 'buffered' and y.node = (a.k).last_node and b.batch is null then 'held'
    else 'completed'
  end as status,
  case
    when y.seq > 0 then case y.in_hashes when 'record' then encode(substr(r.raw_hashes, 32 * i.n::int + 1, 32), 'hex')
      else hash_at(h.hashes[array_position(h.places, y.in_place)], h.slots[array_position(h.places, y.in_place)], i.n) end
    when y.kind = 'source' then encode(substr(r.raw_hashes, 32 * i.n::int + 1, 32), 'hex')
  end as input_hash,
  case when not (y.kind = 'sink' or y.node = (a.k).last_node and ((a.k).outcome = 'failure' or (a.k).path in ('buffered', 'coalesced', 'branch_not_needed'))) then
    case y.out_hashes when 'record' then encode(substr(r.raw_hashes, 32 * i.n::int + 1, 32), 'hex')
      else hash_at(h.hashes[array_position(h.places, y.out_place)], h.slots[array_position(h.places, y.out_place)], i.n) end
  end as output_hash,
  s.lane
from slices s
cross join lateral (
  select array_agg(h.lane || '/' || h.node) as places, array_agg(h.hashes) as hashes, array_agg(h.slots) as slots
  from hashes h
  where h.run_id = s.run_id and h.source = s.source and h.chunk = s.chunk and h.slice = s.slice
) h
left join lateral (
  select substr(q.raw_hashes, 1) as raw_hashes
  from chunk_rows q
  where q.run_id = s.run_id and q.source = s.source and q.chunk = s.chunk and q.slice = s.slice
  offset 0
) r on true
cross join lateral generate_series(0::bigint, s.rows - 1) i (n)
cross join lateral (select array_position(s.way_codes, code_at(s.codes, s.width, i.n)) as place offset 0) p
cross join lateral (select p.place, s.ways[p.place] as k offset 0) a
left join lateral (
  select b.batch
  from batches b
  where (a.k).path = 'buffered' and b.run_id = s.run_id and b.node = (a.k).last_node
    and b.batch = u32(s.batches[array_position(s.barriers, (a.k).last_node)], i.n)
  limit 1
) b on true
left join lateral (
  select z.node
  from errors z
  where s.refused[a.place] and z.run_id = s.run_id and z.source = s.source and z.row = s.first_row + i.n and z.lane = s.lane and z.node = (a.k).sink
  limit 1
) z on true
left join way_places y on y.run_id = s.run_id and y.way = (a.k).way
where coalesce(y.node, '') <> '';

-- One row per way and edge of the graph that it takes. At a sink, where it ends, to_node is null: only what the sink's
-- target refused goes on from there.
create view way_edges as
select s.run_id, s.way, s.seq, s.node, coalesce(e.label, s.label) as label,
  case
    when e.label is not null then e.to_node
    when b.node is not null then b.node
    when s.node = k.last_node and k.path not in ('filter_dropped', 'fork_parent', 'buffered', 'coalesced', 'branch_not_needed')
      then case when k.sink = '__quarantine__' then 'quarantine' else 'discard' end
  end as to_node,
  case
    when e.label is not null then 'branch'
    when k.outcome = 'failure' and s.node = k.last_node then 'error'
    when n.operation = 'gate' then 'route'
    else 'flow'
  end as kind
from ways k
join way_steps s on s.run_id = k.run_id and s.way = k.way and s.seq >= k.first_seq
join nodes n on n.run_id = s.run_id and n.node = s.node
left join way_steps b on b.run_id = s.run_id and b.way = s.way and b.seq = s.seq + 1
left join edges e on e.run_id = s.run_id and e.from_node = s.node and e.kind = 'route' and k.path = 'fork_parent' and s.node = k.last_node;

-- One row per edge that a token took.
create view routing_events as
select t.run_id, t.token_id, t.source, t.row, coalesce(w.seq, 0) as seq, coalesce(w.node, '') as node, coalesce(w.label, '') as label,
  coalesce(w.to_node, 'quarantine') as to_node,
  case when w.node = t.refused_by then 'error' else w.kind end as kind, t.lane
from tokens t
left join way_edges w on w.run_id = t.run_id and w.way = t.way
where coalesce(w.to_node, case when w.node = t.refused_by then w.node end, '') <> '';

-- One row per token that a barrier took.
create view batch_members as
select run_id, node, batch, row_number() over (partition by run_id, node, batch order by fold, row, lane) - 1 as ordinal,
  token_id, source, row, lane, chunk, fold
from (
  select m.run_id, m.node, m.source, c.first_row + 1024 * m.slice + i.n as row, m.lane, m.chunk, m.fold,
    m.source || ':' || (c.first_row + 1024 * m.slice + i.n) || case when l.name = '' then '' else '/' || l.name end as token_id,
    u32(d.batches, i.n) as batch
  from members m
  join chunks c on c.run_id = m.run_id and c.source = m.source and c.chunk = m.chunk
  join lanes l on l.run_id = m.run_id and l.lane = m.lane
  cross join lateral (select substr(m.batches, 1) as batches offset 0) d
  cross join lateral generate_series(0::bigint, octet_length(d.batches)::bigint / 4 - 1) i (n)
) x
where batch > 0;

-- One row per row that came out of a barrier.
create view batch_rows as
select p.run_id, p.source as node, c.first_row + 1024 * p.slice + i.n as row,
  p.source || ':' || (c.first_row + 1024 * p.slice + i.n) as token_id,
  u32(d.batches, i.n) as batch,
  l.source || ':' || (u16(d.tokens, 4 * i.n + 1) << 32 | u32(d.tokens, 2 * i.n + 1)) || case when l.name = '' then '' else '/' || l.name end
    as parent_token_id,
  p.chunk, c.fold
from parents p
join chunks c on c.run_id = p.run_id and c.source = p.source and c.chunk = p.chunk
cross join lateral (select substr(p.batches, 1) as batches, substr(p.tokens, 1) as tokens offset 0) d
cross join lateral generate_series(0::bigint, p.rows - 1) i (n)
left join lanes l on l.run_id = p.run_id and l.lane = u16(d.tokens, 4 * i.n);

-- One row per token and token that it came from.
create view token_parents as
select t.run_id, t.token_id, 0::bigint as ordinal, t.fork_group_id as parent_token_id, 'fork' as relation, t.source, t.row, t.lane
from tokens t
where t.fork_group_id is not null
union all
select s.run_id, s.source || ':' || (s.first_row + i.n) || '/' || l.name, a.ordinal, s.source || ':' || (s.first_row + i.n) || s.suffix, 'coalesce',
  s.source, s.first_row + i.n, l.lane
from slices s
cross join lateral (
  select g.branch, g.node, l.lane, l.name
  from lane_joins g
  join lanes l on l.run_id = g.run_id and l.lane = g.merged_lane
  where g.run_id = s.run_id and g.source = s.source and g.lane = s.lane
  offset 0
) l
join merge_codes j on j.run_id = s.run_id and j.source = s.source and j.chunk = s.chunk and j.lane = l.lane
cross join lateral (
  select array_agg(w.code) as codes, array_agg((
    select b.place - 1 from json_array_elements_text(k.arrived::json) with ordinality b (branch, place) where b.branch = l.branch)) as ordinals
  from chunk_merges w
  join merge_kinds k on k.run_id = w.run_id and k.kind = w.kind
  where w.run_id = j.run_id and w.source = j.source and w.chunk = j.chunk and w.lane = j.lane
) w
cross join lateral (
  select j.code_bytes as width, substr(j.codes, (1024 * j.code_bytes * s.slice)::int + 1, 1024 * j.code_bytes::int) as codes
  offset 0
) d
cross join lateral generate_series(0::bigint, s.rows - 1) i (n)
cross join lateral (
  select s.ways[array_position(s.way_codes, code_at(s.codes, s.width, i.n))] as k, w.ordinals[array_position(w.codes, code_at(d.codes, d.width, i.n))] as ordinal
  offset 0
) a
where (a.k).path = 'coalesced' and (a.k).last_node = l.node and a.ordinal is not null
union all
select g.run_id, g.node || ':' || g.out_row, a.place - 1, a.arrival ->> 'token', 'coalesce', g.node, g.out_row, l.lane
from merges g
join lanes l on l.run_id = g.run_id and l.source = g.node and l.name = ''
cross join lateral json_array_elements(g.arrivals::json) with ordinality a (arrival, place)
union all
select r.run_id, r.token_id, 0, r.parent_token_id, case when n.operation = 'expand' then 'expand' else 'continue' end, r.node, r.row, l.lane
from batch_rows r
left join lanes l on l.run_id = r.run_id and l.source = r.node and l.name = ''
left join nodes n on n.run_id = r.run_id and n.node = r.node
where r.parent_token_id is not null
union all
select b.run_id, r.token_id, m.place - 1, m.token_id, 'batch', b.node, r.row, l.lane
from (
  select x.run_id, x.node, x.batch, array_agg(x.token_id order by x.place) filter (where x.place >= 0) as members,
    array_agg(x.token_id order by x.row) filter (where x.place < 0) as made, array_agg(x.row order by x.row) filter (where x.place < 0) as rows
  from (
    select run_id, node, batch, token_id, ordinal as place, row from batch_members
    union all
    select run_id, node, batch, token_id, -1, row from batch_rows where parent_token_id is null
  ) x
  group by x.run_id, x.node, x.batch
) b
left join lanes l on l.run_id = b.run_id and l.source = b.node and l.name = ''
left join nodes n on n.run_id = b.run_id and n.node = b.node
cross join lateral unnest(b.made, b.rows) r (token_id, row)
cross join lateral unnest(b.members) with ordinality m (token_id, place)
where coalesce(n.operation, '') <> 'coalesce';

-- One row per forked token and coalesce that decided about its branches.
create view coalesce_events as
select c.run_id, (m.k).node, c.source || ':' || (c.first_row + 1024 * g.slice + i.n) || case when f.name = '' then '' else '/' || f.name end as fork_group_id,
  case when (m.k).result <> 'nothing' then c.source || ':' || (c.first_row + 1024 * g.slice + i.n) || '/' || l.name end as merged_token_id,
  (m.k).policy, (m.k).merge as merge_strategy, (m.k).quorum, (m.k).timeout_ms, (m.k).expected as branches_expected, (m.k).arrived as branches_arrived,
  (m.k).lost as branches_lost, (m.k).not_needed as branches_not_needed,
  (
    select '[' || coalesce(string_agg('{"branch":' || to_json(a.branch) || ',"token_id":' || coalesce(to_json(
      c.source || ':' || (c.first_row + 1024 * g.slice + i.n) || '/' || (
      select u.name
      from unnest(v.branches, v.lanes, v.names, v.widths, v.codes) u (branch, lane, name, width, codes)
      join chunk_ways z on z.run_id = c.run_id and z.source = c.source and z.chunk = c.chunk and z.lane = u.lane
        and z.code = code_at(u.codes, u.width, i.n)
      join ways x on x.run_id = z.run_id and x.way = z.way and x.path = 'coalesced' and x.last_node = (m.k).node
      where u.branch = a.branch
      limit 1))::text, 'null') || ',"offset_ms":0}', ',' order by a.place), '') || ']'
    from json_array_elements_text((m.k).arrived::json) with ordinality a (branch, place)
  ) as arrival_order,
  0::bigint as wait_ms, (m.k).fired_by, (m.k).collisions, (m.k).origins as field_origins, (m.k).result, (m.k).code,
  case when (m.k).result = 'merged' then hash_at(o.hashes[array_position(o.nodes, (m.k).node)], o.slots[array_position(o.nodes, (m.k).node)], i.n) end
    as merged_hash,
  null as batch_id, c.source, c.first_row + 1024 * g.slice + i.n as row, l.parent as lane
from merge_codes j
join chunks c on c.run_id = j.run_id and c.source = j.source and c.chunk = j.chunk
join lanes l on l.run_id = j.run_id and l.lane = j.lane
join lanes f on f.run_id = l.run_id and f.lane = l.parent
cross join lateral (
  select array_agg(w.code) as codes, array_agg(k) as kinds
  from chunk_merges w
  join merge_kinds k on k.run_id = w.run_id and k.kind = w.kind
  where w.run_id = j.run_id and w.source = j.source and w.chunk = j.chunk and w.lane = j.lane
) w
cross join lateral generate_series(0::bigint, (c.rows + 1023) / 1024 - 1) g (slice)
cross join lateral (
  select j.code_bytes as width, substr(j.codes, (1024 * j.code_bytes * g.slice)::int + 1, 1024 * j.code_bytes::int) as codes
  offset 0
) d
cross join lateral (
  select array_agg(n.branch) as branches, array_agg(q.lane) as lanes, array_agg(y.name) as names, array_agg(q.code_bytes) as widths,
    array_agg(substr(q.way_codes, (1024 * q.code_bytes * g.slice)::int + 1, 1024 * q.code_bytes::int)) as codes
  from lane_joins n
  join lanes y on y.run_id = n.run_id and y.lane = n.lane
  join passages q on q.run_id = n.run_id and q.source = n.source and q.chunk = c.chunk and q.lane = n.lane
  where n.run_id = c.run_id and n.source = c.source and n.merged_lane = j.lane
) v
cross join lateral (
  select array_agg(h.node) as nodes, array_agg(h.hashes) as hashes, array_agg(h.slots) as slots
  from hashes h
  where h.run_id = c.run_id and h.source = c.source and h.chunk = c.chunk and h.lane = j.lane and h.slice = g.slice
) o
cross join lateral generate_series(0::bigint, least(1023, c.rows - 1024 * g.slice - 1)) i (n)
cross join lateral (select w.kinds[array_position(w.codes, code_at(d.codes, d.width, i.n))] as k offset 0) m
where m.k is distinct from null
union all
select g.run_id, g.node, g.source || ':' || g.row || case when f.name = '' then '' else '/' || f.name end, g.node || ':' || g.out_row,
  k.policy, k.merge, k.quorum, k.timeout_ms, k.expected, k.arrived, k.lost, k.not_needed,
  (
    select '[' || coalesce(string_agg('{"branch":' || coalesce((a.arrival -> 'branch')::text, 'null') || ',"token_id":' || coalesce((a.arrival -> 'token')::text, 'null')
      || ',"offset_ms":' || coalesce((a.arrival -> 'offset_ms')::text, 'null') || '}', ',' order by a.place), '') || ']'
    from json_array_elements(g.arrivals::json) with ordinality a (arrival, place)
  ),
  g.wait_ms, k.fired_by, k.collisions, k.origins, k.result, k.code,
  case when k.result = 'merged' then (
    select encode(substr(r.raw_hashes, 32 * ((g.out_row - c.first_row) % 1024)::int + 1, 32), 'hex')
    from chunks c
    join chunk_rows r on r.run_id = c.run_id and r.source = c.source and r.chunk = c.chunk and r.slice = (g.out_row - c.first_row) / 1024
    where c.run_id = g.run_id and c.source = g.node and g.out_row >= c.first_row and g.out_row < c.first_row + c.rows
  ) end,
  g.node || ':' || g.batch, g.source, g.row, g.lane
from merges g
join lanes f on f.run_id = g.run_id and f.lane = g.lane
join merge_kinds k on k.run_id = g.run_id and k.kind = g.kind;

-- One row per batch that fired.
create view batch_totals as
select b.run_id, b.node, b.batch, b.trigger, b.path, b.rows, b.opened_us, b.fired_us, coalesce(r.out_rows, 0) as out_rows, b.fold, b.of
from batches b
left join (select run_id, node, batch, count(*) as out_rows from batch_rows group by run_id, node, batch) r
  on r.run_id = b.run_id and r.node = b.node and r.batch = b.batch;

-- One row per refused token that no sink got.
create view quarantined_rows as
select x.run_id, x.source || ':' || x.row || case when l.name = '' then '' else '/' || l.name end as token_id, x.source, x.row, x.chunk,
  c.file, x.line, x.byte_offset, x.node, x.code, x.field, x.message, x.error_hash,
  case when x.raw_is_text = 1 then convert_from(x.raw, 'UTF8') end as raw_text, x.raw, x.raw_bytes, x.at_us, x.lane
from errors x
join chunks c on c.run_id = x.run_id and c.source = x.source and c.chunk = x.chunk
join lanes l on l.run_id = x.run_id and l.lane = x.lane
where x.sent_to = '__quarantine__';

-- One row per row that a sink's target confirmed.
create view sink_rows as
select run_id, sink, line_number, token_id, source, row, chunk, ordinal, lane
from (
  select e.run_id, e.sink, e.ordinal, e.state, t.token_id, t.source, t.row, t.chunk, t.lane,
    row_number() over (partition by e.run_id, e.sink order by e.ordinal, t.row, t.lane) as line_number
  from effects e
  join tokens t on t.run_id = e.run_id and t.source = e.source and t.chunk = e.chunk and t.bound_for = e.sink
  where e.kind = 'write' and e.ordinal is not null and t.refused_by is null
) x
where state = 'finalized';

-- One row per sink of a run.
create view sink_totals as
select n.run_id, n.node as sink, n.guarantee,
  coalesce(sum(e.rows) filter (where e.kind = 'write'), 0)::bigint as planned_rows,
  coalesce(sum(e.rows - e.refused) filter (where e.kind = 'write' and e.state = 'finalized'), 0)::bigint as finalized_rows,
  coalesce(sum(e.bytes) filter (where e.kind = 'write' and e.state = 'finalized'), 0)::bigint as finalized_bytes,
  coalesce(sum(e.refused), 0)::bigint as refused_rows,
  a.path as artifact_path, a.bytes as artifact_bytes, a.sha256 as artifact_sha256, a.published_us
from nodes n
left join effects e on e.run_id = n.run_id and e.sink = n.node
left join artifacts a on a.run_id = n.run_id and a.sink = n.node
where n.kind = 'sink'
group by n.run_id, n.node, n.guarantee, a.path, a.bytes, a.sha256, a.published_us;

-- One row per chunk of which a sink gets rows: what a resumption has to do there.
create view sink_chunks as
select run_id, sink, source, chunk, rows, bytes,
  case when state = 'finalized' then 'completed' when state = 'prepared' then 'missing' else 'unknown' end as state,
  fence as attempts, ordinal, refused
from effects
where kind = 'write';

-- One row per run that continues another one.
create view run_links as
select run_id, parent_run, link, (select count(*) from retried t where t.run_id = r.run_id) as retried_rows
from runs r
where link <> '';

-- One row per run, and the start that it came from.
create view run_starts as
select r.run_id, s.seq, r.pipeline, r.actor, r.trigger, s.why, s.key, s.schedule, s.slot, s.workflow, s.params, s.accepted_us, r.started_us, r.status,
  r.environment
from runs r
join starts s on s.run_id = r.run_id and s.state = 'begun';

-- One row per pipeline and environment: its current version.
create view current_versions as
select d.environment, d.pipeline, d.version, d.action, d.actor, d.why, d.at_us, v.bundle_sha256, b.document_sha256, v.message, v.git_commit, v.git_dirty
from deployments d
join pipeline_versions v on v.pipeline = d.pipeline and v.version = d.version
join bundles b on b.bundle_sha256 = v.bundle_sha256
where not exists (
  select 1 from deployments n where n.environment = d.environment and n.pipeline = d.pipeline and n.seq > d.seq);

-- One row per slot: what became of it, and of its last run, also if somebody resumed that since the schedule looked.
create view slot_outcomes as
select s.schedule, s.slot, s.from_us, s.to_us, s.due_us, s.fired,
  case
    when r.status in ('completed', 'completed_with_failures', 'empty') then 'done'
    when r.status = 'running' then 'running'
    else s.state
  end as state,
  s.run_id, r.status, s.attempts, s.reason, q.actor, q.why, s.deadline_us, s.late_us, s.changed_us
from slots s
left join runs r on r.run_id = s.run_id
left join slot_requests q on q.request = s.request;

-- One row per start of which no run came, or none yet, and why.
create view why_not as
select run_id, seq, pipeline, state, refusal, reason, actor, trigger, why, key, schedule, slot, workflow, params, accepted_us, decided_us, environment
from starts
where state <> 'begun';

create view latest_outputs as
select latest, run_id, sink, path, stands_for, published_us
from (
  select a.*, row_number() over (partition by latest order by stands_for desc, published_us desc, run_id desc, sink desc) as age
  from artifacts a
  where latest <> ''
) ranked
where age = 1;

create view held_runs as
select r.run_id, h.hold_id, h.actor, h.why, h.at_us
from holds h
join runs r on r.run_id = h.run_id or r.pipeline = h.pipeline and r.started_us >= coalesce(h.from_us, 0) and (h.until_us is null or r.started_us < h.until_us)
where not exists (select 1 from hold_ends e where e.hold_id = h.hold_id);

-- Which payloads a run may need, and of which class they are: what was read, what can be computed of that again, or
-- what is kept for ever.
create view payload_refs as
select c.pack as payload, c.run_id, case when c.fold is null then 'source' else 'derived' end as class from chunks c
union all select f.state, f.run_id, 'derived' from folds f where f.state is not null
union all select t.sha256, t.run_id, 'kept' from lookup_tables t
union all select a.payload, a.run_id, a.class collate "default" from archived_payloads a
union all select a.payload, a.run_id, 'source' from arrivals a where a.payload <> '' and a.state = 'done'
union all select (g.value ->> 'payload') collate "C", s.run_id, 'source' from starts s
  join runs r on r.run_id = s.run_id and (r.status in ('completed', 'completed_with_failures', 'empty') or r.final = 1)
  cross join lateral json_array_elements(case when s.rows = '' then '[]' else s.rows end::json) g where s.rows <> '' and s.state = 'begun';

-- Payloads that were purged and are not stored again.
create view purged_payloads as
select d.payload, d.number, d.purge_id, p.actor, p.why, e.bytes, d.at_us as begun_us, e.at_us as deleted_us
from deletions d
join purges p using (purge_id)
left join deleted_payloads e using (payload, number)
where not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number);

-- One row per chunk and node: where its tokens went.
create view chunk_node_counts as
select run_id, source, chunk, node, seq, kind, in_rows, out_rows, dropped_rows, diverted_rows, created_rows,
  ended_rows + fired_rows as consumed_rows, taken_rows - fired_rows as held_rows
from (
  select t.*, case when t.hashes <> 'record' then 0 else (
    select coalesce(sum(case
      when exists (select 1 from folds f where f.run_id = m.run_id and f.node = m.node and f.kind = 'end') then m.rows
      else (
        select count(*)
        from (select substr(m.batches, 1) as batches offset 0) d
        cross join lateral generate_series(0::bigint, octet_length(d.batches)::bigint / 4 - 1) i (n)
        join batches b on b.run_id = m.run_id and b.node = m.node and b.batch = u32(d.batches, i.n))
    end), 0)::bigint
    from members m
    where m.run_id = t.run_id and m.node = t.node and m.source = t.source and m.chunk = t.chunk
  ) end as fired_rows
  from (
    select w.run_id, w.source, w.chunk, s.node, n.seq, n.kind, n.hashes,
      sum(case when s.seq < k.first_seq or s.seq = 0 and n.kind = 'step' then 0 else w.rows end)::bigint as in_rows,
      sum(case
        when n.kind = 'sink' and s.node <> k.last_node then case when e.state = 'finalized' then w.rows else 0 end
        when s.seq >= k.first_seq and s.node = k.last_node and k.path not in ('default_flow', 'gate_routed') then 0
        else w.rows
      end)::bigint - coalesce(max(e.refused), 0) as out_rows,
      sum(case when s.seq >= k.first_seq and s.node = k.last_node and k.path in ('filter_dropped', 'gate_discarded') then w.rows else 0 end)::bigint
        as dropped_rows,
      sum(case when s.seq >= k.first_seq and s.node = k.last_node and k.outcome = 'failure' then w.rows else 0 end)::bigint + coalesce(max(e.refused), 0) as diverted_rows,
      sum(case when s.seq < k.first_seq or s.seq = 0 and n.kind = 'step' then w.rows else 0 end)::bigint as created_rows,
      sum(case when s.seq >= k.first_seq and s.node = k.last_node and k.path in ('fork_parent', 'coalesced', 'branch_not_needed') then w.rows else 0 end)::bigint
        as ended_rows,
      sum(case when s.seq >= k.first_seq and s.node = k.last_node and k.path = 'buffered' then w.rows else 0 end)::bigint as taken_rows
    from chunk_ways w
    join ways k on k.run_id = w.run_id and k.way = w.way and k.lane = w.lane
    join way_steps s on s.run_id = w.run_id and s.way = w.way and s.seq >= k.first_seq - 1
    join nodes n on n.run_id = s.run_id and n.node = s.node
    left join effects e on e.run_id = w.run_id and e.sink = s.node and e.source = w.source and e.chunk = w.chunk
    group by w.run_id, w.source, w.chunk, s.node, n.seq, n.kind, n.hashes
  ) t
) x;

-- One row per node of a run that a token came to.
create view node_counts as
select run_id, node, seq, kind, sum(in_rows)::bigint as in_rows, sum(out_rows)::bigint as out_rows,
  sum(dropped_rows)::bigint as dropped_rows, sum(diverted_rows)::bigint as diverted_rows,
  sum(created_rows)::bigint as created_rows, sum(consumed_rows)::bigint as consumed_rows, sum(held_rows)::bigint as held_rows
from chunk_node_counts
group by run_id, node, seq, kind;

-- One row per total and node of a run that a token came to.
create view node_totals as
select run_id, node, seq, kind, total,
  coalesce(sum((case when step = 0 then now else was end)::numeric) filter (where not (step < first_seq or step = 0 and kind = 'step')), 0)::text as in_amount,
  coalesce(sum(now::numeric) filter (where step < first_seq or step = 0 and kind = 'step'), 0)::text as created_amount,
  coalesce(sum(now::numeric - was::numeric) filter (where step >= first_seq and step > 0 and marked = step), 0)::text as revalued_amount,
  (coalesce(sum(now::numeric) filter (where not (step >= first_seq and node = last_node and path not in ('default_flow', 'gate_routed')) and (kind <> 'sink' or node = last_node or state = 'finalized')), 0)
    - coalesce((select sum(l.amount::numeric) from rejected_totals l where l.run_id = x.run_id and l.sink = x.node and l.total = x.total), 0))::text as out_amount,
  coalesce(sum(now::numeric) filter (where step >= first_seq and node = last_node and path in ('filter_dropped', 'gate_discarded')), 0)::text as dropped_amount,
  (coalesce(sum(now::numeric) filter (where step >= first_seq and node = last_node and outcome = 'failure'), 0)
    + coalesce((select sum(l.amount::numeric) from rejected_totals l where l.run_id = x.run_id and l.sink = x.node and l.total = x.total), 0))::text as diverted_amount,
  coalesce(sum(now::numeric) filter (where step >= first_seq and node = last_node and path in ('fork_parent', 'coalesced', 'branch_not_needed', 'buffered')), 0)::text as consumed_amount,
  sum(unreadable)::bigint as unreadable
from (
  select w.run_id, w.source, w.chunk, s.node, n.seq, n.kind, t.total, s.seq as step, k.first_seq, k.last_node, k.path, k.outcome,
    e.state, coalesce(b.amount, '0') as was, coalesce(a.amount, '0') as now, coalesce(a.unreadable, 0) as unreadable,
    coalesce(a.seq, -1) as marked
  from chunk_ways w
  join (select distinct run_id, source, chunk, lane, code, total from way_totals) t
    on t.run_id = w.run_id and t.source = w.source and t.chunk = w.chunk and t.lane = w.lane and t.code = w.code
  join ways k on k.run_id = w.run_id and k.way = w.way
  join way_steps s on s.run_id = w.run_id and s.way = w.way and s.seq >= k.first_seq - 1
  join nodes n on n.run_id = s.run_id and n.node = s.node
  left join effects e on e.run_id = w.run_id and e.sink = s.node and e.source = w.source and e.chunk = w.chunk
  left join way_totals b on b.run_id = t.run_id and b.source = t.source and b.chunk = t.chunk and b.lane = t.lane and b.code = t.code
    and b.total = t.total and b.seq = (
      select max(m.seq) from way_totals m
      where m.run_id = t.run_id and m.source = t.source and m.chunk = t.chunk and m.lane = t.lane and m.code = t.code and m.total = t.total
        and m.seq < s.seq)
  left join way_totals a on a.run_id = t.run_id and a.source = t.source and a.chunk = t.chunk and a.lane = t.lane and a.code = t.code
    and a.total = t.total and a.seq = (
      select max(m.seq) from way_totals m
      where m.run_id = t.run_id and m.source = t.source and m.chunk = t.chunk and m.lane = t.lane and m.code = t.code and m.total = t.total
        and m.seq <= s.seq)
) x
group by run_id, node, seq, kind, total;

-- One row per run. rows_read and rows_passed are records of sources, the others tokens.
create view run_summary as
select run_id, pipeline, status, reason, started_us, finished_us, (
    select coalesce(sum(c.rows), 0)::bigint from chunks c
    join nodes n on n.run_id = c.run_id and n.node = c.source and n.kind = 'source'
    where c.run_id = r.run_id
  ) as rows_read,
  rows_passed, rows_succeeded + merged - refused + refused_twice as rows_succeeded, rows_failed + refused - refused_twice as rows_failed,
  rows_quarantined + refused as rows_quarantined, rows_filtered, rows_discarded,
  tokens, tokens_transient + settled - merged as tokens_transient, tokens_held - settled as tokens_held
from (
  select r.run_id, r.pipeline, r.status, r.reason, r.started_us, r.finished_us,
    coalesce(sum(w.rows) filter (where l.name = '' and n.kind = 'source'), 0)::bigint as rows_passed,
    coalesce(sum(w.rows) filter (where k.outcome = 'success'), 0)::bigint as rows_succeeded,
    coalesce(sum(w.rows) filter (where k.outcome = 'failure'), 0)::bigint as rows_failed,
    coalesce(sum(w.rows) filter (where k.sink = '__quarantine__'), 0)::bigint as rows_quarantined,
    coalesce(sum(w.rows) filter (where k.path = 'filter_dropped'), 0)::bigint as rows_filtered,
    coalesce(sum(w.rows) filter (where k.path in ('gate_discarded', 'sink_discarded')), 0)::bigint as rows_discarded,
    coalesce(sum(w.rows), 0)::bigint as tokens,
    coalesce(sum(w.rows) filter (where k.outcome = 'transient'), 0)::bigint as tokens_transient,
    coalesce(sum(w.rows) filter (where k.path = 'buffered'), 0)::bigint as tokens_held,
    (select coalesce(sum(b.rows), 0)::bigint from batches b where b.run_id = r.run_id) as settled,
    (select coalesce(sum(b.rows), 0)::bigint from batches b where b.run_id = r.run_id and b.path = 'coalesced') as merged,
    (select coalesce(sum(e.refused), 0)::bigint from effects e where e.run_id = r.run_id) as refused,
    (
      select coalesce(sum(e.refused), 0)::bigint from effects e
      where e.run_id = r.run_id and e.refused > 0 and e.sink in (select f.sink from ways f where f.run_id = e.run_id and f.outcome = 'failure')
    ) as refused_twice
  from runs r
  left join chunk_ways w on w.run_id = r.run_id
  left join ways k on k.run_id = w.run_id and k.way = w.way and k.lane = w.lane
  left join lanes l on l.run_id = w.run_id and l.lane = w.lane
  left join nodes n on n.run_id = w.run_id and n.node = w.source
  group by r.run_id
) r;

-- What moves, holds and removes records, and appends to the log, is for the roles that `landscape grant` names.
revoke execute on function move_runs, move_effects, hold_run, move_starts, move_gates, move_slots, append_log,
  move_chunks, move_chunk_rows, move_hashes, move_key_hashes, move_errors, move_salts, move_outbox, move_outbox_head,
  move_endpoint_states, move_deliveries, remove_run, move_arrivals, move_watches from public;
