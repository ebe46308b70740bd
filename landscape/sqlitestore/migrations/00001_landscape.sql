-- +goose Up
-- +goose StatementBegin
pragma application_id = 0x5761796d;

create table runs (
  run_id          text primary key check (run_id <> ''),
  pipeline        text not null check (pipeline <> ''),
  document        text not null,
  document_sha256 text not null check (length(document_sha256) = 64 and document_sha256 not glob '*[^0-9a-f]*'),
  plan            text not null check (json_valid(plan)),
  plan_sha256     text not null check (length(plan_sha256) = 64 and plan_sha256 not glob '*[^0-9a-f]*'),
  params          text not null check (json_valid(params)),
  refs            text not null check (json_valid(refs)),
  code            text not null,
  actor           text not null,
  trigger         text not null,
  host            text not null,
  base_dir        text not null,
  started_us      integer not null check (started_us > 0),
  status          text not null check (status in ('running', 'completed', 'completed_with_failures', 'empty', 'failed', 'interrupted', 'cancelled')),
  finished_us     integer,
  reason          text not null,
  check ((status = 'running') = (finished_us is null))
) strict, without rowid;

create table nodes (
  run_id      text not null references runs (run_id),
  node        text not null check (node <> '' and node not like '\_\_%' escape '\'),
  seq         integer not null check (seq >= 0),
  kind        text not null check (kind in ('source', 'step', 'sink')),
  operation   text not null check (operation <> ''),
  config      text not null check (json_valid(config)),
  determinism text not null check (determinism in ('deterministic', 'seeded', 'reads_io', 'writes_io', 'external_call', 'non_deterministic')),
  guarantee   text not null check (guarantee in ('', 'transactional', 'idempotent', 'reconcilable', 'at_least_once')),
  hashes      text not null check (hashes in ('own', 'input')),
  primary key (run_id, node),
  unique (run_id, seq),
  check ((kind = 'sink') = (guarantee <> '')),
  check (kind = 'step' or (kind = 'source') = (hashes = 'own'))
) strict, without rowid;

create table edges (
  run_id    text not null,
  from_node text not null,
  kind      text not null check (kind in ('flow', 'route', 'error')),
  label     text not null,
  to_node   text not null check (to_node <> ''),
  primary key (run_id, from_node, kind, label),
  foreign key (run_id, from_node) references nodes (run_id, node),
  check (kind = 'route' or label = '')
) strict, without rowid;

create table sources (
  run_id text not null,
  source text not null,
  info   text not null check (json_valid(info)),
  primary key (run_id, source),
  foreign key (run_id, source) references nodes (run_id, node)
) strict, without rowid;

create table source_ends (
  run_id   text not null,
  source   text not null,
  chunks   integer not null check (chunks >= 0),
  rows     integer not null check (rows >= 0),
  blank    integer not null check (blank >= 0),
  comments integer not null check (comments >= 0),
  bytes    integer not null check (bytes >= 0),
  digests  text not null check (json_valid(digests)),
  ended_us integer not null check (ended_us > 0),
  primary key (run_id, source),
  foreign key (run_id, source) references sources (run_id, source)
) strict, without rowid;

create table chunks (
  run_id       text not null,
  source       text not null,
  chunk        integer not null check (chunk >= 0),
  file         text not null,
  first_row    integer not null check (first_row >= 1),
  rows         integer not null check (rows between 0 and 1048576),
  first_line   integer not null check (first_line >= 1),
  first_offset integer not null check (first_offset >= 0),
  bytes        integer not null check (bytes >= 0),
  blank        integer not null check (blank >= 0),
  comments     integer not null check (comments >= 0),
  pack         text not null check (length(pack) = 64 and pack not glob '*[^0-9a-f]*'),
  cursor       text not null check (json_valid(cursor)),
  last         integer not null check (last in (0, 1)),
  attempt      integer not null check (attempt >= 1),
  read_us      integer not null check (read_us > 0),
  primary key (run_id, source, chunk),
  unique (run_id, source, chunk, rows),
  foreign key (run_id, source) references sources (run_id, source)
) strict, without rowid;

create table chunk_rows (
  run_id     text not null,
  source     text not null,
  chunk      integer not null,
  slice      integer not null check (slice >= 0),
  rows       integer not null check (rows between 0 and 1024),
  offsets    blob not null check (length(offsets) = 4 * rows),
  lengths    blob not null check (length(lengths) = 4 * rows),
  lines      blob check (length(lines) = 4 * rows),
  raw_hashes blob not null check (length(raw_hashes) = 32 * rows),
  primary key (run_id, source, chunk, slice),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
) strict;

create table passages (
  run_id      text not null,
  source      text not null,
  chunk       integer not null,
  rows        integer not null,
  code_bytes  integer not null check (code_bytes in (1, 2)),
  way_codes   blob not null check (length(way_codes) = code_bytes * rows),
  started_us  integer not null check (started_us > 0),
  finished_us integer not null check (finished_us >= started_us),
  attempt     integer not null check (attempt >= 1),
  worker      text not null,
  primary key (run_id, source, chunk),
  foreign key (run_id, source, chunk, rows) references chunks (run_id, source, chunk, rows)
) strict;

create table ways (
  run_id    text not null references runs (run_id),
  way       text not null check (length(way) = 16 and way not glob '*[^0-9a-f]*'),
  signature text not null,
  outcome   text not null,
  path      text not null,
  last_node text not null,
  sink      text not null,
  primary key (run_id, way),
  foreign key (run_id, last_node) references nodes (run_id, node),
  check (
    (outcome = 'success' and path in ('default_flow', 'gate_routed') and sink <> '' and sink not like '\_\_%' escape '\')
    or (outcome = 'success' and path in ('gate_discarded', 'filter_dropped') and sink = '')
    or (outcome = 'failure' and path in ('on_error_routed', 'unrouted', 'quarantined_at_source') and (sink = '__quarantine__' or sink <> '' and sink not like '\_\_%' escape '\'))
    or (outcome = 'failure' and path = 'sink_discarded' and sink = '__discard__')
  )
) strict, without rowid;

create table way_steps (
  run_id text not null,
  way    text not null,
  seq    integer not null check (seq >= 0),
  node   text not null,
  label  text not null,
  primary key (run_id, way, seq),
  foreign key (run_id, way) references ways (run_id, way),
  foreign key (run_id, node) references nodes (run_id, node)
) strict, without rowid;

create table chunk_ways (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  code   integer not null check (code between 0 and 65535),
  way    text not null,
  rows   integer not null check (rows > 0),
  primary key (run_id, source, chunk, code),
  unique (run_id, source, chunk, way),
  foreign key (run_id, source, chunk) references passages (run_id, source, chunk),
  foreign key (run_id, way) references ways (run_id, way)
) strict, without rowid;

create table hashes (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  node   text not null,
  slice  integer not null check (slice >= 0),
  rows   integer not null check (rows between 1 and 1024),
  slots  blob check (length(slots) % 2 = 0 and length(slots) <= 2 * 1024),
  hashes blob not null check (length(hashes) % 32 = 0 and length(hashes) between 32 * rows and 32 * 1024 and (slots is null or length(hashes) = 32 * rows)),
  primary key (run_id, source, chunk, node, slice),
  foreign key (run_id, source, chunk) references passages (run_id, source, chunk),
  foreign key (run_id, node) references nodes (run_id, node)
) strict;

create table errors (
  run_id      text not null,
  source      text not null,
  row         integer not null check (row >= 1),
  node        text not null,
  chunk       integer not null,
  code        text not null check (code <> ''),
  field       text not null,
  message     text not null,
  error_hash  text not null check (length(error_hash) = 64),
  raw         blob not null check (length(raw) <= 65536 and length(raw) <= raw_bytes),
  raw_is_text integer not null check (raw_is_text in (0, 1)),
  raw_bytes   integer not null,
  line        integer not null check (line >= 1),
  byte_offset integer not null check (byte_offset >= 0),
  sent_to     text not null check (sent_to <> ''),
  at_us       integer not null check (at_us > 0),
  primary key (run_id, source, row, node),
  foreign key (run_id, source, chunk) references passages (run_id, source, chunk),
  foreign key (run_id, node) references nodes (run_id, node)
) strict, without rowid;

create table keys (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  field  text not null check (field <> ''),
  hashes blob not null check (length(hashes) % 4 = 0),
  primary key (run_id, source, chunk, field),
  foreign key (run_id, source, chunk) references passages (run_id, source, chunk)
) strict;

create table claims (
  run_id   text not null,
  source   text not null,
  field    text not null check (field <> ''),
  key_hash blob not null check (length(key_hash) = 16),
  row      integer not null check (row >= 1),
  primary key (run_id, source, field, key_hash),
  foreign key (run_id, source) references sources (run_id, source)
) strict, without rowid;

create table effects (
  run_id      text not null,
  sink        text not null,
  source      text not null,
  chunk       integer not null,
  kind        text not null,
  sha256      text check (length(sha256) = 64 and sha256 not glob '*[^0-9a-f]*'),
  rows        integer not null check (rows >= 0),
  bytes       integer not null check (bytes >= 0),
  state       text not null check (state in ('reserved', 'prepared', 'in_flight', 'finalized', 'blocked')),
  fence       integer not null check (fence >= 0),
  ordinal     integer check (ordinal >= 0),
  byte_offset integer check (byte_offset >= 0),
  receipt     text check (receipt is null or json_valid(receipt)),
  changed_us  integer not null check (changed_us > 0),
  primary key (run_id, sink, source, chunk),
  foreign key (run_id, sink) references nodes (run_id, node),
  check ((state in ('reserved', 'prepared')) = (fence = 0)),
  check ((state = 'finalized') = (receipt is not null)),
  check ((ordinal is null) = (byte_offset is null)),
  check (
    (kind = 'write' and source <> '' and chunk >= 0 and rows > 0 and sha256 is not null and state <> 'reserved'
      and (ordinal is null) = (fence = 0))
    or (kind = 'publish' and source = '' and chunk = -1 and sha256 is null and ordinal is null)
  )
) strict, without rowid;
create unique index effects_by_ordinal on effects (run_id, sink, ordinal) where ordinal is not null;

create table effect_events (
  run_id text not null,
  sink   text not null,
  source text not null,
  chunk  integer not null,
  fence  integer not null check (fence >= 0),
  event  text not null check (event in ('began', 'finalized', 'fenced', 'failed', 'reconciled')),
  worker text not null,
  at_us  integer not null check (at_us > 0),
  detail text not null,
  primary key (run_id, sink, source, chunk, fence, event, worker, at_us),
  foreign key (run_id, sink, source, chunk) references effects (run_id, sink, source, chunk)
) strict, without rowid;

create table artifacts (
  run_id       text not null,
  sink         text not null,
  path         text not null check (path <> ''),
  bytes        integer not null check (bytes >= 0),
  rows         integer not null check (rows >= 0),
  sha256       text not null check (length(sha256) = 64 and sha256 not glob '*[^0-9a-f]*'),
  published_us integer not null check (published_us > 0),
  primary key (run_id, sink),
  foreign key (run_id, sink) references nodes (run_id, node)
) strict, without rowid;

create table actions (
  run_id text not null references runs (run_id),
  seq    integer not null check (seq >= 0),
  verb   text not null check (verb <> ''),
  actor  text not null,
  why    text not null,
  at_us  integer not null check (at_us > 0),
  primary key (run_id, seq)
) strict, without rowid;

create table run_events (
  run_id text not null references runs (run_id),
  seq    integer not null check (seq >= 0),
  event  text not null check (event <> ''),
  detail text not null,
  at_us  integer not null check (at_us > 0),
  primary key (run_id, seq)
) strict, without rowid;

create table heals (
  digest    text not null check (length(digest) = 64 and digest not glob '*[^0-9a-f]*'),
  at_us     integer not null check (at_us > 0),
  reason    text not null,
  set_aside text not null,
  primary key (digest, at_us)
) strict, without rowid;

-- What the views count with: 0 to 1023, and the value of each byte.
create table numbers (n integer primary key) strict;
with recursive series (n) as (select 0 union all select n + 1 from series where n < 1023)
insert into numbers select n from series;

create table bytes (byte blob primary key, n integer not null) strict, without rowid;
insert into bytes select substr(x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff', n + 1, 1), n from numbers where n < 256;
-- +goose StatementEnd
