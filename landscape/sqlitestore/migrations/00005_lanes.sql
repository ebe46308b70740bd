-- +goose Up
-- +goose StatementBegin
-- Foreign keys are off while this runs, and looked at when it is done. What was recorded before there were lanes is in lane 0,
-- the only one of its run.

-- What looks at tables that are made anew. 00006 and 00007 make it again.
drop view run_summary;
drop view node_counts;
drop view chunk_node_counts;
drop view sink_totals;
drop view sink_rows;
drop view quarantined_rows;
drop view routing_events;
drop view node_states;
drop view rows;
drop view token_outcomes;
drop view tokens;
drop trigger effects_birth;

insert into lanes select run_id, 0, source, '', null, '', '', '' from sources;

create table nodes_next (
  run_id      text not null references runs (run_id),
  node        text not null check (node <> '' and node not like '\_\_%' escape '\'),
  seq         integer not null check (seq >= 0),
  kind        text not null check (kind in ('source', 'step', 'sink')),
  operation   text not null check (operation <> ''),
  config      text not null check (json_valid(config)),
  determinism text not null check (determinism in ('deterministic', 'seeded', 'reads_io', 'writes_io', 'external_call', 'non_deterministic')),
  guarantee   text not null check (guarantee in ('', 'transactional', 'idempotent', 'reconcilable', 'at_least_once')),
  hashes      text not null check (hashes in ('own', 'input', 'record')),
  primary key (run_id, node),
  unique (run_id, seq),
  check ((kind = 'sink') = (guarantee <> '')),
  check (kind = 'step' or hashes = iif(kind = 'source', 'own', 'input'))
) strict, without rowid;
insert into nodes_next select run_id, node, seq, kind, operation, config, determinism, guarantee, hashes from nodes;
drop table nodes;
alter table nodes_next rename to nodes;

create table chunks_next (
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
  fold         integer check (fold >= 0),
  attempt      integer not null check (attempt >= 1),
  read_us      integer not null check (read_us > 0),
  primary key (run_id, source, chunk),
  unique (run_id, source, chunk, rows),
  foreign key (run_id, source) references sources (run_id, source),
  foreign key (run_id, source, fold) references folds (run_id, node, fold)
) strict, without rowid;
insert into chunks_next
select run_id, source, chunk, file, first_row, rows, first_line, first_offset, bytes, blank, comments, pack, cursor, last, null, attempt, read_us
from chunks;
drop table chunks;
alter table chunks_next rename to chunks;

-- With rowids: what points here is looked up in an index without the codes.
create table passages_next (
  run_id      text not null,
  source      text not null,
  chunk       integer not null,
  lane        integer not null,
  rows        integer not null,
  code_bytes  integer not null check (code_bytes in (1, 2)),
  way_codes   blob not null check (length(way_codes) = code_bytes * rows),
  started_us  integer not null check (started_us > 0),
  finished_us integer not null check (finished_us >= started_us),
  attempt     integer not null check (attempt >= 1),
  worker      text not null,
  primary key (run_id, source, chunk, lane),
  foreign key (run_id, source, chunk, rows) references chunks (run_id, source, chunk, rows),
  foreign key (run_id, source, lane) references lanes (run_id, source, lane)
) strict;
insert into passages_next
select run_id, source, chunk, 0, rows, code_bytes, way_codes, started_us, finished_us, attempt, worker from passages;
drop table passages;
alter table passages_next rename to passages;

create table ways_next (
  run_id    text not null,
  way       text not null check (length(way) = 16 and way not glob '*[^0-9a-f]*'),
  signature text not null,
  outcome   text not null,
  path      text not null,
  last_node text not null,
  sink      text not null,
  lane      integer not null,
  first_seq integer not null check (first_seq >= 0),
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
) strict, without rowid;
insert into ways_next select run_id, way, signature, outcome, path, last_node, sink, 0, 0 from ways;
drop table ways;
alter table ways_next rename to ways;

create table way_steps_next (
  run_id text not null,
  way    text not null,
  seq    integer not null check (seq >= 0),
  node   text not null,
  label  text not null,
  lane   integer not null,
  primary key (run_id, way, seq),
  foreign key (run_id, way) references ways (run_id, way),
  foreign key (run_id, node) references nodes (run_id, node),
  foreign key (run_id, lane) references lanes (run_id, lane)
) strict, without rowid;
insert into way_steps_next select run_id, way, seq, node, label, 0 from way_steps;
drop table way_steps;
alter table way_steps_next rename to way_steps;

create table chunk_ways_next (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  lane   integer not null,
  code   integer not null check (code between 0 and 65535),
  way    text not null,
  rows   integer not null check (rows > 0),
  primary key (run_id, source, chunk, lane, code),
  unique (run_id, source, chunk, lane, way),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane),
  foreign key (run_id, way, lane) references ways (run_id, way, lane)
) strict, without rowid;
insert into chunk_ways_next select run_id, source, chunk, 0, code, way, rows from chunk_ways;
drop table chunk_ways;
alter table chunk_ways_next rename to chunk_ways;

create table hashes_next (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  lane   integer not null,
  node   text not null,
  slice  integer not null check (slice >= 0),
  rows   integer not null check (rows between 1 and 1024),
  slots  blob check (length(slots) % 2 = 0 and length(slots) <= 2 * 1024),
  hashes blob not null check (length(hashes) % 32 = 0 and length(hashes) between 32 * rows and 32 * 1024 and (slots is null or length(hashes) = 32 * rows)),
  primary key (run_id, source, chunk, lane, node, slice),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane),
  foreign key (run_id, node) references nodes (run_id, node)
) strict;
insert into hashes_next select run_id, source, chunk, 0, node, slice, rows, slots, hashes from hashes order by rowid;
drop table hashes;
alter table hashes_next rename to hashes;

create table errors_next (
  run_id      text not null,
  source      text not null,
  row         integer not null check (row >= 1),
  lane        integer not null,
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
  primary key (run_id, source, row, lane, node),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane),
  foreign key (run_id, node) references nodes (run_id, node)
) strict, without rowid;
insert into errors_next
select run_id, source, row, 0, node, chunk, code, field, message, error_hash, raw, raw_is_text, raw_bytes, line, byte_offset, sent_to, at_us
from errors;
drop table errors;
alter table errors_next rename to errors;

create table keys_next (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  field  text not null check (field <> ''),
  hashes blob not null check (length(hashes) % 4 = 0),
  primary key (run_id, source, chunk, field),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
) strict;
insert into keys_next select run_id, source, chunk, field, hashes from keys order by rowid;
drop table keys;
alter table keys_next rename to keys;

create table claims_next (
  run_id   text not null,
  node     text not null,
  field    text not null check (field <> ''),
  key_hash blob not null check (length(key_hash) = 16),
  source   text not null,
  lane     integer not null,
  row      integer not null check (row >= 1),
  primary key (run_id, node, field, key_hash),
  foreign key (run_id, node) references nodes (run_id, node),
  foreign key (run_id, source, lane) references lanes (run_id, source, lane)
) strict, without rowid;
insert into claims_next select run_id, source, field, key_hash, source, 0, row from claims;
drop table claims;
alter table claims_next rename to claims;

create table orphans (count integer constraint "records point to others that are not there: see pragma foreign_key_check" check (count = 0));
insert into orphans select count(*) from pragma_foreign_key_check;
drop table orphans;
-- +goose StatementEnd
