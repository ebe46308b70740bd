-- +goose Up
-- +goose StatementBegin
-- What SQLite's schema is after its version 12: the same tables, columns, keys and checks, in Postgres' words. Numbers and truth values are
-- bigint. Texts are ordered by their bytes, whatever the database's collation is. The search path is the landscape's schema alone.

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
  params          text collate "C" not null check (json_typeof(params::json) is not null),
  refs            text collate "C" not null check (json_typeof(refs::json) is not null),
  check ((status = 'running') = (finished_us is null)),
  check (final = 0 or status = 'cancelled'),
  check ((link = '') = (parent_run = ''))
);

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

create table sources (
  run_id text collate "C" not null,
  source text collate "C" not null,
  info   text collate "C" not null check (json_typeof(info::json) is not null),
  primary key (run_id, source),
  foreign key (run_id, source) references nodes (run_id, node)
);

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

create table tables (
  run_id text collate "C" not null,
  node   text collate "C" not null,
  path   text collate "C" not null check (path <> ''),
  sha256 text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$'),
  bytes  bigint not null check (bytes >= 0),
  rows   bigint not null check (rows >= 0),
  primary key (run_id, node),
  foreign key (run_id, node) references nodes (run_id, node)
);

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
  turn           bigint check (turn >= 0),
  deadline_us    bigint check (deadline_us > 0),
  primary key (run_id, node, fold),
  foreign key (run_id, node) references sources (run_id, source),
  check (case when kind = 'chunk' then source <> '' and chunk >= 0 else source = '' and chunk = -1 end),
  check (kind <> 'end' or open_batches = 0 and held_rows = 0)
);

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

create table keys (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  field  text collate "C" not null check (field <> ''),
  hashes bytea not null check (length(hashes) % 4 = 0),
  primary key (run_id, source, chunk, field),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
);

-- What claims and errors point to is looked for once for all that a statement adds: a guard does it. A foreign key looks for each.
create table claims (
  run_id   text collate "C" not null,
  node     text collate "C" not null,
  field    text collate "C" not null check (field <> ''),
  key_hash bytea not null check (length(key_hash) = 16),
  source   text collate "C" not null,
  lane     bigint not null,
  row      bigint not null check (row >= 1),
  primary key (run_id, node, field, key_hash)
);

create table feeds (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  node   text collate "C" not null,
  primary key (run_id, source, chunk, node),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk),
  foreign key (run_id, node) references sources (run_id, source)
);

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

create table joins (
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

create table chunk_joins (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  lane   bigint not null,
  code   bigint not null check (code between 0 and 65535),
  kind   text collate "C" not null,
  rows   bigint not null check (rows > 0),
  primary key (run_id, source, chunk, lane, code),
  unique (run_id, source, chunk, lane, kind),
  foreign key (run_id, source, chunk, lane) references joins (run_id, source, chunk, lane),
  foreign key (run_id, kind) references merge_kinds (run_id, kind)
);

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

create table retried (
  parent_run text collate "C" not null references runs (run_id),
  source     text collate "C" not null,
  row        bigint not null check (row >= 1),
  run_id     text collate "C" not null references runs (run_id),
  primary key (parent_run, source, row)
);

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

create table artifacts (
  run_id       text collate "C" not null,
  sink         text collate "C" not null,
  path         text collate "C" not null check (path <> ''),
  bytes        bigint not null check (bytes >= 0),
  rows         bigint not null check (rows >= 0),
  sha256       text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$'),
  published_us bigint not null check (published_us > 0),
  primary key (run_id, sink),
  foreign key (run_id, sink) references nodes (run_id, node)
);

create table actions (
  run_id text collate "C" not null references runs (run_id),
  seq    bigint not null check (seq >= 0),
  verb   text collate "C" not null check (verb <> ''),
  actor  text collate "C" not null,
  why    text collate "C" not null,
  at_us  bigint not null check (at_us > 0),
  primary key (run_id, seq)
);

create table run_events (
  run_id text collate "C" not null references runs (run_id),
  seq    bigint not null check (seq >= 0),
  event  text collate "C" not null check (event <> ''),
  detail text collate "C" not null,
  at_us  bigint not null check (at_us > 0),
  primary key (run_id, seq)
);

create table heals (
  digest    text collate "C" not null check (digest ~ '^[0-9a-f]{64}$'),
  at_us     bigint not null check (at_us > 0),
  reason    text collate "C" not null,
  set_aside text collate "C" not null,
  primary key (digest, at_us)
);

create unique index effects_by_ordinal on effects (run_id, sink, ordinal) where ordinal is not null;
create unique index folds_by_chunk on folds (run_id, node, source, chunk) where kind = 'chunk';
create unique index folds_by_end on folds (run_id, node) where kind = 'end';
create unique index merges_by_out_row on merges (run_id, node, out_row) where out_row is not null;
create index retried_by_run on retried (run_id);

-- Hashes and positions do not get smaller by compression, and the views read pieces of them.
alter table chunk_rows alter offsets set storage external, alter lengths set storage external, alter lines set storage external,
  alter raw_hashes set storage external;
alter table hashes alter slots set storage external, alter hashes set storage external;
alter table keys alter hashes set storage external;

-- What the views count with in SQLite, where questions may use them as well: 0 to 1023, and the value of each byte.
create table numbers (n bigint primary key);
insert into numbers select generate_series(0, 1023);
create table bytes (byte bytea primary key, n bigint not null);
insert into bytes select set_byte('\x00', 0, n), n from generate_series(0, 255) n;
-- +goose StatementEnd
