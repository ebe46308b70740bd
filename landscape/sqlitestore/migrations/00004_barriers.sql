-- +goose Up
-- +goose StatementBegin
-- Kinds of tokens: the record itself, the copies that forks send down branches, and what coalesces make of them.
create table lanes (
  run_id text not null,
  lane   integer not null check (lane >= 0),
  source text not null,
  name   text not null,
  parent integer check (parent >= 0 and parent < lane),
  node   text not null,
  branch text not null,
  fork   text not null,
  primary key (run_id, lane),
  unique (run_id, source, lane),
  unique (run_id, source, name),
  foreign key (run_id, source) references sources (run_id, source),
  foreign key (run_id, source, parent) references lanes (run_id, source, lane),
  check ((parent is null) = (name = '')),
  check ((parent is null) = (node = '')),
  check ((parent is null) = (fork = '')),
  check ((branch <> '') = (parent is not null and node = fork))
) strict, without rowid;

create table tables (
  run_id text not null,
  node   text not null,
  path   text not null check (path <> ''),
  sha256 text not null check (length(sha256) = 64 and sha256 not glob '*[^0-9a-f]*'),
  bytes  integer not null check (bytes >= 0),
  rows   integer not null check (rows >= 0),
  primary key (run_id, node),
  foreign key (run_id, node) references nodes (run_id, node)
) strict, without rowid;

create table folds (
  run_id         text not null,
  node           text not null,
  fold           integer not null check (fold >= 0),
  kind           text not null check (kind in ('chunk', 'tick', 'end')),
  source         text not null,
  chunk          integer not null,
  at_us          integer not null check (at_us > 0),
  state          text check (length(state) = 64 and state not glob '*[^0-9a-f]*'),
  opened_batches integer not null check (opened_batches >= 0),
  open_batches   integer not null check (open_batches between 0 and opened_batches),
  held_rows      integer not null check (held_rows >= 0),
  out_rows       integer not null check (out_rows >= 0),
  primary key (run_id, node, fold),
  foreign key (run_id, node) references sources (run_id, source),
  check (iif(kind = 'chunk', source <> '' and chunk >= 0, source = '' and chunk = -1)),
  check (kind <> 'end' or open_batches = 0 and held_rows = 0)
) strict, without rowid;
create unique index folds_by_chunk on folds (run_id, node, source, chunk) where kind = 'chunk';
create unique index folds_by_end on folds (run_id, node) where kind = 'end';

create table batches (
  run_id    text not null,
  node      text not null,
  batch     integer not null check (batch between 1 and 4294967295),
  fold      integer not null,
  trigger   text not null check (trigger in ('rows', 'when', 'after', 'end', 'memory', 'arrival', 'all', 'quorum', 'first', 'lost', 'timeout')),
  path      text not null check (path in ('batch_consumed', 'expand_parent', 'coalesced', 'branch_not_needed')),
  rows      integer not null check (rows >= 0),
  opened_us integer not null check (opened_us > 0),
  fired_us  integer not null check (fired_us >= opened_us),
  of        integer check (of is null or of between 1 and 4294967295 and of <> batch and path = 'branch_not_needed'),
  primary key (run_id, node, batch),
  foreign key (run_id, node, fold) references folds (run_id, node, fold),
  foreign key (run_id, node, of) references batches (run_id, node, batch) deferrable initially deferred,
  check (rows > 0 or path = 'coalesced')
) strict, without rowid;

create table members (
  run_id  text not null,
  node    text not null,
  source  text not null,
  chunk   integer not null,
  lane    integer not null,
  slice   integer not null check (slice >= 0),
  fold    integer not null,
  rows    integer not null check (rows between 1 and 1024),
  batches blob not null check (length(batches) % 4 = 0 and length(batches) between 4 * rows and 4 * 1024),
  primary key (run_id, node, source, chunk, lane, slice),
  foreign key (run_id, node, fold) references folds (run_id, node, fold),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane)
) strict;

create table merge_kinds (
  run_id     text not null,
  kind       text not null check (length(kind) = 16 and kind not glob '*[^0-9a-f]*'),
  node       text not null,
  policy     text not null check (policy in ('require_all', 'quorum', 'best_effort', 'first')),
  merge      text not null check (merge in ('union', 'nested', 'select')),
  quorum     integer check (quorum >= 1),
  timeout_ms integer check (timeout_ms >= 1),
  expected   text not null check (json_type(expected) = 'array' and json_array_length(expected) >= 1),
  arrived    text not null check (json_type(arrived) = 'array'),
  lost       text not null check (json_type(lost) = 'object'),
  not_needed text not null check (json_type(not_needed) = 'array'),
  fired_by   text not null check (fired_by in ('all', 'quorum', 'first', 'lost', 'timeout', 'end')),
  collisions text not null check (json_type(collisions) = 'array'),
  origins    text not null check (json_type(origins) = 'object'),
  result     text not null check (result in ('merged', 'refused', 'nothing')),
  code       text not null,
  primary key (run_id, kind),
  unique (run_id, node, kind),
  foreign key (run_id, node) references nodes (run_id, node),
  check ((policy = 'quorum') = (quorum is not null)),
  check ((result = 'nothing') = (json_array_length(arrived) = 0)),
  check ((result = 'refused') = (code <> ''))
) strict, without rowid;

create table joins (
  run_id     text not null,
  source     text not null,
  chunk      integer not null,
  lane       integer not null,
  rows       integer not null,
  code_bytes integer not null check (code_bytes in (1, 2)),
  codes      blob not null check (length(codes) = code_bytes * rows),
  primary key (run_id, source, chunk, lane),
  foreign key (run_id, source, chunk, rows) references chunks (run_id, source, chunk, rows),
  foreign key (run_id, source, lane) references lanes (run_id, source, lane)
) strict;

create table chunk_joins (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  lane   integer not null,
  code   integer not null check (code between 0 and 65535),
  kind   text not null,
  rows   integer not null check (rows > 0),
  primary key (run_id, source, chunk, lane, code),
  unique (run_id, source, chunk, lane, kind),
  foreign key (run_id, source, chunk, lane) references joins (run_id, source, chunk, lane),
  foreign key (run_id, kind) references merge_kinds (run_id, kind)
) strict, without rowid;

-- A fork parent's branches are merged at most once: its source, lane and row are unique here.
create table merges (
  run_id   text not null,
  node     text not null,
  batch    integer not null,
  kind     text not null,
  source   text not null,
  lane     integer not null,
  row      integer not null check (row >= 1),
  arrivals text not null check (json_type(arrivals) = 'array'),
  wait_ms  integer not null check (wait_ms >= 0),
  out_row  integer check (out_row >= 1),
  primary key (run_id, node, batch),
  unique (run_id, node, source, lane, row),
  foreign key (run_id, node, batch) references batches (run_id, node, batch),
  foreign key (run_id, node, kind) references merge_kinds (run_id, node, kind),
  foreign key (run_id, source, lane) references lanes (run_id, source, lane),
  check ((out_row is null) = (json_array_length(arrivals) = 0))
) strict, without rowid;
create unique index merges_by_out_row on merges (run_id, node, out_row) where out_row is not null;

create table parents (
  run_id  text not null,
  source  text not null,
  chunk   integer not null,
  slice   integer not null check (slice >= 0),
  rows    integer not null check (rows between 1 and 1024),
  batches blob not null check (length(batches) = 4 * rows),
  tokens  blob check (length(tokens) = 8 * rows),
  primary key (run_id, source, chunk, slice),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
) strict;
-- +goose StatementEnd
