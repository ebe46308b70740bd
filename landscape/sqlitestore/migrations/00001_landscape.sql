-- The landscape in SQLite. docs/landscape.md explains the tables and views, and what is in each column.
--
-- What is recorded stays: a trigger refuses each update (keep) and each deletion (stay). `insert or replace` fires no trigger
-- on delete in a shell with default settings, so an insert is refused before it can replace anything, whether by the key, by
-- another unique value or by rowid (once). SQLite asks the newest trigger of a table first: the one that says most is last.
pragma application_id = 0x5761796d;

-- ========== Runs and their graphs ==========

-- One row per run. What changes, and what lists show, comes first: it is read without the pages of the long texts.
create table runs (
  run_id          text primary key check (run_id <> ''),
  epoch           integer not null check (epoch >= 0),
  pipeline        text not null check (pipeline <> ''),
  status          text not null check (status in ('running', 'completed', 'completed_with_failures', 'empty', 'failed', 'interrupted', 'blocked', 'cancelled')),
  final           integer not null check (final in (0, 1)),
  started_us      integer not null check (started_us > 0),
  finished_us     integer,
  reason          text not null,
  link            text not null check (link in ('', 'fork', 'retry')),
  parent_run      text not null check (parent_run <> run_id),
  code            text not null,
  actor           text not null,
  trigger         text not null,
  host            text not null,
  base_dir        text not null,
  document_file   text not null,
  document_sha256 text not null check (length(document_sha256) = 64 and document_sha256 not glob '*[^0-9a-f]*'),
  plan_sha256     text not null check (length(plan_sha256) = 64 and plan_sha256 not glob '*[^0-9a-f]*'),
  document        text not null,
  plan            text not null check (json_valid(plan)),
  params          text not null check (json_type(params) = 'object'),
  refs            text not null check (json_valid(refs)),
  version         integer not null check (version >= 0),
  environment     text not null,
  environment_seq integer not null check (environment_seq >= 0),
  check ((status = 'running') = (finished_us is null)),
  check (final = 0 or status = 'cancelled'),
  check ((link = '') = (parent_run = ''))
) strict, without rowid;
create index runs_started on runs (started_us, run_id);
create index runs_by_status on runs (status, run_id);
create index runs_by_parent on runs (parent_run, run_id);

create trigger runs_stay before delete on runs begin select raise(abort, 'runs: append-only'); end;
create trigger runs_once before insert on runs when exists (select 1 from runs t where t.run_id = new.run_id)
begin select raise(abort, 'runs: append-only: it is there already'); end;

-- A run begins as running, in epoch 0, of a run that is recorded or of none.
create trigger runs_birth before insert on runs
when new.status <> 'running' or new.epoch <> 0
  or new.parent_run <> '' and not exists (select 1 from runs p where p.run_id = new.parent_run)
begin select raise(abort, 'runs: a run begins as running, in epoch 0, of no run or of one that is there'); end;

-- A run ends out of running. It is resumed in the next epoch, which is recorded before, even if it seems to run: unless
-- it is done, or was cancelled for good. A run that is not done can be cancelled, and a cancelled one can be made
-- final.
create trigger runs_status before update on runs
when old.final = 1 or not (
  new.epoch = old.epoch + 1 and new.status = 'running' and new.final = 0
    and old.status in ('running', 'failed', 'interrupted', 'blocked', 'cancelled')
    and exists (select 1 from resumptions r where r.run_id = new.run_id and r.epoch = new.epoch)
  or new.epoch = old.epoch and (
    old.status = 'running' and new.status <> 'running'
    or old.status in ('failed', 'interrupted', 'blocked') and new.status = 'cancelled'
    or old.status = 'cancelled' and new.status = 'cancelled' and new.final = 1 and new.finished_us is old.finished_us
  )
)
begin select raise(abort, 'runs: illegal change of status'); end;
create trigger runs_keep before update of
  run_id, pipeline, started_us, link, parent_run, code, actor, trigger, host, base_dir, document_file, document_sha256, plan_sha256,
  document, plan, params, refs, version, environment, environment_seq on runs
begin select raise(abort, 'runs: only status, final, epoch, finished_us and reason change'); end;
create trigger runs_version before insert on runs
when new.version > 0 and not exists (
  select 1 from pipeline_versions v join bundles b using (bundle_sha256)
  where v.pipeline = new.pipeline and v.version = new.version and b.document_sha256 = new.document_sha256)
begin select raise(abort, 'runs: a run of a version has the document of that version'); end;
create trigger runs_values before insert on runs
when new.environment_seq > 0 and not exists (
  select 1 from environments e where e.environment = new.environment and e.seq = new.environment_seq)
begin select raise(abort, 'runs: a run has values that its environment had'); end;

-- A run does not begin any more once its arrivals were taken back.
create trigger runs_arrivals before insert on runs
when exists (
  select 1 from arrival_runs l join arrivals a using (trigger, item, revision) where l.run_id = new.run_id and a.run_id <> new.run_id)
begin select raise(abort, 'runs: not the beginning: its arrivals were taken back'); end;

-- The nodes of a run's graph.
create table nodes (
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

create trigger nodes_keep before update on nodes begin select raise(abort, 'nodes: append-only'); end;
create trigger nodes_once before insert on nodes when exists (select 1 from nodes t where t.run_id = new.run_id and t.node = new.node)
  or exists (select 1 from nodes t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'nodes: append-only: it is there already'); end;
create trigger nodes_stay before delete on nodes begin select raise(abort, 'nodes: append-only'); end;

-- Where tokens may go.
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

create trigger edges_keep before update on edges begin select raise(abort, 'edges: append-only'); end;
create trigger edges_once before insert on edges when exists (select 1 from edges t where t.run_id = new.run_id and t.from_node = new.from_node and t.kind = new.kind and t.label = new.label)
begin select raise(abort, 'edges: append-only: it is there already'); end;
create trigger edges_stay before delete on edges when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'edges: append-only'); end;

-- What a source held when the run began, as JSON.
create table sources (
  run_id text not null,
  source text not null,
  info   text not null check (json_valid(info)),
  primary key (run_id, source),
  foreign key (run_id, source) references nodes (run_id, node)
) strict, without rowid;

create trigger sources_keep before update on sources begin select raise(abort, 'sources: append-only'); end;
create trigger sources_once before insert on sources when exists (select 1 from sources t where t.run_id = new.run_id and t.source = new.source)
begin select raise(abort, 'sources: append-only: it is there already'); end;
create trigger sources_stay before delete on sources when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'sources: append-only'); end;

-- The kinds of tokens, numbered over the whole graph: the record itself, the copies that forks send down branches, and
-- what coalesces make of them.
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

create trigger lanes_keep before update on lanes begin select raise(abort, 'lanes: append-only'); end;
create trigger lanes_once before insert on lanes when exists (select 1 from lanes t where t.run_id = new.run_id and t.lane = new.lane)
  or exists (select 1 from lanes t where t.run_id = new.run_id and t.source = new.source and t.name = new.name)
begin select raise(abort, 'lanes: append-only: it is there already'); end;
create trigger lanes_stay before delete on lanes when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'lanes: append-only'); end;

-- What a lookup read.
create table lookup_tables (
  run_id text not null,
  node   text not null,
  path   text not null check (path <> ''),
  sha256 text not null check (length(sha256) = 64 and sha256 not glob '*[^0-9a-f]*'),
  bytes  integer not null check (bytes >= 0),
  rows   integer not null check (rows >= 0),
  primary key (run_id, node),
  foreign key (run_id, node) references nodes (run_id, node)
) strict, without rowid;
create index lookup_tables_by_sha256 on lookup_tables (sha256);

create trigger lookup_tables_keep before update on lookup_tables begin select raise(abort, 'lookup_tables: append-only'); end;
create trigger lookup_tables_once before insert on lookup_tables when exists (select 1 from lookup_tables t where t.run_id = new.run_id and t.node = new.node)
begin select raise(abort, 'lookup_tables: append-only: it is there already'); end;
create trigger lookup_tables_purged before insert on lookup_tables
when exists (select 1 from deletions d where d.payload = new.sha256 and not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number))
begin select raise(abort, 'payload purged: store it again'); end;
create trigger lookup_tables_stay before delete on lookup_tables when not exists (select 1 from archives a where a.run_id = old.run_id)
  or not exists (select 1 from archived_payloads p where p.run_id = old.run_id and p.payload = old.sha256)
begin select raise(abort, 'lookup_tables: append-only'); end;

-- ========== What was read ==========

-- A source that was read to its end, or a barrier after its last fold.
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

create trigger source_ends_keep before update on source_ends begin select raise(abort, 'source_ends: append-only'); end;
create trigger source_ends_once before insert on source_ends when exists (select 1 from source_ends t where t.run_id = new.run_id and t.source = new.source)
begin select raise(abort, 'source_ends: append-only: it is there already'); end;
create trigger source_ends_stay before delete on source_ends when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'source_ends: append-only'); end;

-- A chunk that was read, and whose payload is stored.
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
  fold         integer check (fold >= 0),
  attempt      integer not null check (attempt >= 1),
  read_us      integer not null check (read_us > 0),
  primary key (run_id, source, chunk),
  unique (run_id, source, chunk, rows),
  foreign key (run_id, source) references sources (run_id, source),
  foreign key (run_id, source, fold) references folds (run_id, node, fold)
) strict, without rowid;
create index chunks_by_row on chunks (run_id, source, first_row);
create index chunks_by_pack on chunks (pack);

create trigger chunks_once before insert on chunks when exists (select 1 from chunks t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'chunks: append-only: it is there already'); end;

-- The rows of a source's chunk come from no fold, those of a barrier's chunk from one.
create trigger chunks_birth before insert on chunks
when (new.fold is null) <> exists (select 1 from nodes n where n.run_id = new.run_id and n.node = new.source and n.kind = 'source')
begin select raise(abort, 'chunks: a barrier''s chunk has a fold, a source''s has none'); end;
create trigger chunks_purged before insert on chunks
when exists (select 1 from deletions d where d.payload = new.pack and not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number))
begin select raise(abort, 'payload purged: store it again'); end;
create trigger chunks_keep before update on chunks
when not exists (select 1 from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk <= old.chunk)
  or new.cursor <> json_remove(old.cursor, '$.digest')
  or new.run_id <> old.run_id or new.source <> old.source or new.chunk <> old.chunk or new.file <> old.file or new.first_row <> old.first_row
  or new.rows <> old.rows or new.first_line <> old.first_line or new.first_offset <> old.first_offset or new.bytes <> old.bytes or new.blank <> old.blank
  or new.comments <> old.comments or new.pack <> old.pack or new.last <> old.last or new.fold is not old.fold or new.attempt <> old.attempt
  or new.read_us <> old.read_us
begin select raise(abort, 'chunks: append-only'); end;
create trigger chunks_stay before delete on chunks when not exists (select 1 from archives a where a.run_id = old.run_id)
  or not exists (select 1 from archived_payloads p where p.run_id = old.run_id and p.payload = old.pack)
begin select raise(abort, 'chunks: append-only'); end;

-- Where each record of a chunk is.
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

create trigger chunk_rows_once before insert on chunk_rows when exists (select 1 from chunk_rows t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.slice = new.slice)
  or exists (select 1 from chunk_rows t where t.rowid = new.rowid)
begin select raise(abort, 'chunk_rows: append-only: it is there already'); end;
create trigger chunk_rows_keep before update on chunk_rows
when not exists (select 1 from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.slot / 1024 = old.slice)
  or new.run_id <> old.run_id or new.source <> old.source or new.chunk <> old.chunk or new.slice <> old.slice or new.rows <> old.rows
  or new.offsets <> old.offsets or new.lengths <> old.lengths or new.lines is not old.lines or length(new.raw_hashes) <> length(old.raw_hashes)
  or exists (
    select 1 from numbers n
    where n.n < old.rows and substr(new.raw_hashes, 32 * n.n + 1, 32) <> substr(old.raw_hashes, 32 * n.n + 1, 32)
      and (substr(new.raw_hashes, 32 * n.n + 1, 32) <> zeroblob(32) or not exists (
        select 1 from forgotten f
        where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.slot = 1024 * old.slice + n.n)))
begin select raise(abort, 'chunk_rows: append-only'); end;
create trigger chunk_rows_stay before delete on chunk_rows when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'chunk_rows: append-only'); end;

-- ========== Which way each row took ==========

-- A chunk that has gone through the steps, and the ways of its tokens in one lane. It has rowids in SQLite: what points
-- here is looked up in an index without the codes.
create table passages (
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

create trigger passages_keep before update on passages begin select raise(abort, 'passages: append-only'); end;
create trigger passages_once before insert on passages when exists (select 1 from passages t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane)
  or exists (select 1 from passages t where t.rowid = new.rowid)
begin select raise(abort, 'passages: append-only: it is there already'); end;
create trigger passages_stay before delete on passages when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'passages: append-only'); end;

-- The ways that tokens of a run took. The key is the start of the SHA-256 of the signature.
create table ways (
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

create trigger ways_keep before update on ways begin select raise(abort, 'ways: append-only'); end;
create trigger ways_once before insert on ways when exists (select 1 from ways t where t.run_id = new.run_id and t.way = new.way)
begin select raise(abort, 'ways: append-only: it is there already'); end;
create trigger ways_stay before delete on ways when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'ways: append-only'); end;

-- The nodes of a way; seq 0 is the source, or the coalesce that made the token.
create table way_steps (
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

create trigger way_steps_keep before update on way_steps begin select raise(abort, 'way_steps: append-only'); end;
create trigger way_steps_once before insert on way_steps when exists (select 1 from way_steps t where t.run_id = new.run_id and t.way = new.way and t.seq = new.seq)
begin select raise(abort, 'way_steps: append-only: it is there already'); end;
create trigger way_steps_stay before delete on way_steps when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'way_steps: append-only'); end;

-- How many tokens of a chunk took a way.
create table chunk_ways (
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

create trigger chunk_ways_keep before update on chunk_ways begin select raise(abort, 'chunk_ways: append-only'); end;
create trigger chunk_ways_once before insert on chunk_ways when exists (select 1 from chunk_ways t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.code = new.code)
  or exists (select 1 from chunk_ways t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.way = new.way)
begin select raise(abort, 'chunk_ways: append-only: it is there already'); end;
create trigger chunk_ways_stay before delete on chunk_ways when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'chunk_ways: append-only'); end;

-- What a total of the document comes to, of the tokens of a chunk that took a way.
create table way_totals (
  run_id     text not null,
  source     text not null,
  chunk      integer not null,
  lane       integer not null,
  code       integer not null,
  total      text not null check (total <> ''),
  seq        integer not null check (seq >= 0),
  amount     text not null check (amount glob '*[0-9]' and amount not glob '*[^-.0-9]*'),
  unreadable integer not null check (unreadable >= 0),
  primary key (run_id, source, chunk, lane, code, total, seq),
  foreign key (run_id, source, chunk, lane, code) references chunk_ways (run_id, source, chunk, lane, code)
) strict, without rowid;

create trigger way_totals_keep before update on way_totals begin select raise(abort, 'way_totals: append-only'); end;
create trigger way_totals_once before insert on way_totals when exists (
  select 1 from way_totals t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane
    and t.code = new.code and t.total = new.total and t.seq = new.seq)
begin select raise(abort, 'way_totals: append-only: it is there already'); end;
create trigger way_totals_stay before delete on way_totals when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'way_totals: append-only'); end;

-- What a total of the document comes to, of the rows of a part that the target of a sink refused when it was written.
create table rejected_totals (
  run_id     text not null,
  sink       text not null,
  source     text not null,
  chunk      integer not null,
  total      text not null check (total <> ''),
  amount     text not null check (amount glob '*[0-9]' and amount not glob '*[^-.0-9]*'),
  unreadable integer not null check (unreadable >= 0),
  primary key (run_id, sink, source, chunk, total),
  foreign key (run_id, sink, source, chunk) references effects (run_id, sink, source, chunk)
) strict, without rowid;

create trigger rejected_totals_keep before update on rejected_totals begin select raise(abort, 'rejected_totals: append-only'); end;
create trigger rejected_totals_once before insert on rejected_totals when exists (
  select 1 from rejected_totals t where t.run_id = new.run_id and t.sink = new.sink and t.source = new.source and t.chunk = new.chunk and t.total = new.total)
begin select raise(abort, 'rejected_totals: append-only: it is there already'); end;
create trigger rejected_totals_stay before delete on rejected_totals when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'rejected_totals: append-only'); end;

-- Output hashes of a node that has its own hashes: SHA-256 of the row's canonical form as it left the node.
create table hashes (
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

create trigger hashes_once before insert on hashes when exists (select 1 from hashes t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.node = new.node and t.slice = new.slice)
  or exists (select 1 from hashes t where t.rowid = new.rowid)
begin select raise(abort, 'hashes: append-only: it is there already'); end;
create trigger hashes_keep before update on hashes
when not exists (select 1 from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.slot / 1024 = old.slice)
  or new.run_id <> old.run_id or new.source <> old.source or new.chunk <> old.chunk or new.lane <> old.lane or new.node <> old.node
  or new.slice <> old.slice or new.rows <> old.rows or new.slots is not old.slots or length(new.hashes) <> length(old.hashes)
  or exists (
    select 1 from numbers n
    where n.n < length(old.hashes) / 32 and substr(new.hashes, 32 * n.n + 1, 32) <> substr(old.hashes, 32 * n.n + 1, 32)
      and (substr(new.hashes, 32 * n.n + 1, 32) <> zeroblob(32) or not exists (
        select 1 from forgotten f
        where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.slot / 1024 = old.slice
          and case when old.slots is null then f.slot % 1024 = n.n
            else hex(substr(old.slots, 2 * (f.slot % 1024) + 1, 2)) = printf('%04X', n.n + 1) end)))
begin select raise(abort, 'hashes: append-only'); end;
create trigger hashes_stay before delete on hashes when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'hashes: append-only'); end;

-- Why a token was refused. It has at most one error, and a second one if it went to a sink for refused rows, and the
-- target of that sink refused it.
create table errors (
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

create trigger errors_once before insert on errors when exists (select 1 from errors t where t.run_id = new.run_id and t.source = new.source and t.row = new.row and t.lane = new.lane and t.node = new.node)
begin select raise(abort, 'errors: append-only: it is there already'); end;

-- What a target refused is recorded in quarantine while its write ends; nothing is added later.
create trigger errors_late before insert on errors
when exists (
  select 1 from effects e
  where e.run_id = new.run_id and e.sink = new.node and e.source = new.source and e.chunk = new.chunk
    and (e.state not in ('in_flight', 'blocked') or new.sent_to <> '__quarantine__'))
begin select raise(abort, 'errors: the sink''s target did not refuse it'); end;
create trigger errors_keep before update on errors
when not exists (select 1 from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.row = old.row)
  or new.message <> '' or length(new.raw) > 0 or new.error_hash <> printf('%064d', 0)
  or new.run_id <> old.run_id or new.source <> old.source or new.row <> old.row or new.lane <> old.lane or new.node <> old.node
  or new.chunk <> old.chunk or new.code <> old.code or new.field <> old.field or new.raw_is_text <> old.raw_is_text or new.raw_bytes <> old.raw_bytes
  or new.line <> old.line or new.byte_offset <> old.byte_offset or new.sent_to <> old.sent_to or new.at_us <> old.at_us
begin select raise(abort, 'errors: append-only'); end;
create trigger errors_stay before delete on errors when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'errors: append-only'); end;

-- A lookup column for one field of the business key.
create table key_hashes (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  field  text not null check (field <> ''),
  hashes blob not null check (length(hashes) % 4 = 0),
  primary key (run_id, source, chunk, field),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
) strict;

create trigger key_hashes_once before insert on key_hashes when exists (select 1 from key_hashes t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.field = new.field)
  or exists (select 1 from key_hashes t where t.rowid = new.rowid)
begin select raise(abort, 'key_hashes: append-only: it is there already'); end;

-- Recorded only of chunks that went through the steps.
create trigger key_hashes_birth before insert on key_hashes
when not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
begin select raise(abort, 'key_hashes: the chunk did not go through the steps'); end;
create trigger key_hashes_keep before update on key_hashes
when not exists (select 1 from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk)
  or new.run_id <> old.run_id or new.source <> old.source or new.chunk <> old.chunk or new.field <> old.field or length(new.hashes) <> length(old.hashes)
  or exists (
    select 1 from numbers m cross join numbers n
    where 1024 * m.n < length(old.hashes) / 4 and 1024 * m.n + n.n < length(old.hashes) / 4
      and substr(new.hashes, 4 * (1024 * m.n + n.n) + 1, 4) <> substr(old.hashes, 4 * (1024 * m.n + n.n) + 1, 4)
      and (substr(new.hashes, 4 * (1024 * m.n + n.n) + 1, 4) <> zeroblob(4) or not exists (
        select 1 from forgotten f
        where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.slot = 1024 * m.n + n.n)))
begin select raise(abort, 'key_hashes: append-only'); end;
create trigger key_hashes_stay before delete on key_hashes when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'key_hashes: append-only'); end;

-- For each token that a deduplicate dropped, the first token with the same key.
create table repeats (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  lane   integer not null,
  node   text not null,
  slice  integer not null check (slice >= 0),
  rows   integer not null check (rows between 1 and 1024),
  firsts blob not null check (length(firsts) % 8 = 0 and length(firsts) between 8 * rows and 8 * 1024),
  primary key (run_id, source, chunk, lane, node, slice),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane),
  foreign key (run_id, node) references nodes (run_id, node)
) strict;

create trigger repeats_keep before update on repeats begin select raise(abort, 'repeats: append-only'); end;
create trigger repeats_once before insert on repeats when exists (select 1 from repeats t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.node = new.node and t.slice = new.slice)
  or exists (select 1 from repeats t where t.rowid = new.rowid)
begin select raise(abort, 'repeats: append-only: it is there already'); end;
create trigger repeats_stay before delete on repeats when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'repeats: append-only'); end;

-- One row per slice of a chunk in which a row reached a sink that declares what can be disclosed: the root of the tree
-- over the fields of each row.
create table field_roots (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  slice  integer not null check (slice >= 0),
  rows   integer not null check (rows between 1 and 1024),
  roots  blob not null check (length(roots) % 32 = 0 and length(roots) between 32 * rows and 32 * 1024),
  primary key (run_id, source, chunk, slice),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
) strict;

create trigger field_roots_keep before update on field_roots begin select raise(abort, 'field_roots: append-only'); end;
create trigger field_roots_stay before delete on field_roots when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'field_roots: append-only'); end;
create trigger field_roots_once before insert on field_roots when exists (select 1 from field_roots t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.slice = new.slice)
  or exists (select 1 from field_roots t where t.rowid = new.rowid)
begin select raise(abort, 'field_roots: append-only: it is there already'); end;

-- ========== Barriers: batches and merges ==========

-- One row per chunk and barrier to which it brought something: tokens, or the news that a branch is lost. A resumed run
-- does the folds that are missing.
create table feeds (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  node   text not null,
  primary key (run_id, source, chunk, node),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk),
  foreign key (run_id, node) references sources (run_id, source)
) strict, without rowid;

create trigger feeds_keep before update on feeds begin select raise(abort, 'feeds: append-only'); end;
create trigger feeds_once before insert on feeds when exists (select 1 from feeds t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.node = new.node)
begin select raise(abort, 'feeds: append-only: it is there already'); end;
create trigger feeds_birth before insert on feeds
when not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
  or not exists (select 1 from nodes n where n.run_id = new.run_id and n.node = new.node and n.kind = 'step')
begin select raise(abort, 'feeds: the chunk did not go through the steps, or it is not a barrier'); end;
create trigger feeds_stay before delete on feeds when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'feeds: append-only'); end;

-- One step of a barrier.
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
  turn           integer not null check (turn >= 0),
  deadline_us    integer check (deadline_us > 0),
  primary key (run_id, node, fold),
  foreign key (run_id, node) references sources (run_id, source),
  check (iif(kind = 'chunk', source <> '' and chunk >= 0, source = '' and chunk = -1)),
  check (kind <> 'end' or open_batches = 0 and held_rows = 0)
) strict, without rowid;
create unique index folds_by_chunk on folds (run_id, node, source, chunk) where kind = 'chunk';
create unique index folds_by_end on folds (run_id, node) where kind = 'end';
create index folds_by_state on folds (state) where state is not null;

create trigger folds_keep before update on folds begin select raise(abort, 'folds: append-only'); end;
create trigger folds_once before insert on folds when exists (select 1 from folds t where t.run_id = new.run_id and t.node = new.node and t.fold = new.fold)
  or new.kind = 'chunk' and exists (select 1 from folds t where t.run_id = new.run_id and t.node = new.node and t.source = new.source and t.chunk = new.chunk and t.kind = 'chunk')
  or new.kind = 'end' and exists (select 1 from folds t where t.run_id = new.run_id and t.node = new.node and t.kind = 'end')
begin select raise(abort, 'folds: append-only: it is there already'); end;
create trigger folds_birth before insert on folds
when new.kind = 'chunk'
  and not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
begin select raise(abort, 'folds: the chunk did not go through the steps'); end;
create trigger folds_place before insert on folds
when not exists (select 1 from nodes n where n.run_id = new.run_id and n.node = new.node and n.kind = 'step')
begin select raise(abort, 'folds: not of a barrier'); end;
create trigger folds_purged before insert on folds
when new.state is not null and exists (select 1 from deletions d where d.payload = new.state and not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number))
begin select raise(abort, 'payload purged: store it again'); end;
create trigger folds_stay before delete on folds when not exists (select 1 from archives a where a.run_id = old.run_id)
  or old.state is not null and not exists (select 1 from archived_payloads p where p.run_id = old.run_id and p.payload = old.state)
begin select raise(abort, 'folds: append-only'); end;

-- A batch that fired: its tokens ended together.
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

create trigger batches_keep before update on batches begin select raise(abort, 'batches: append-only'); end;
create trigger batches_once before insert on batches when exists (select 1 from batches t where t.run_id = new.run_id and t.node = new.node and t.batch = new.batch)
begin select raise(abort, 'batches: append-only: it is there already'); end;
create trigger batches_stay before delete on batches when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'batches: append-only'); end;

-- To which batches the tokens of a chunk and lane went.
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

create trigger members_keep before update on members begin select raise(abort, 'members: append-only'); end;
create trigger members_once before insert on members when exists (select 1 from members t where t.run_id = new.run_id and t.node = new.node and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.slice = new.slice)
  or exists (select 1 from members t where t.rowid = new.rowid)
begin select raise(abort, 'members: append-only: it is there already'); end;
create trigger members_stay before delete on members when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'members: append-only'); end;

-- What the rows of a barrier's chunk were made of.
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

create trigger parents_keep before update on parents begin select raise(abort, 'parents: append-only'); end;
create trigger parents_once before insert on parents when exists (select 1 from parents t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.slice = new.slice)
  or exists (select 1 from parents t where t.rowid = new.rowid)
begin select raise(abort, 'parents: append-only: it is there already'); end;
create trigger parents_stay before delete on parents when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'parents: append-only'); end;

-- How a coalesce decided; merges of the same kind share a row.
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

create trigger merge_kinds_keep before update on merge_kinds begin select raise(abort, 'merge_kinds: append-only'); end;
create trigger merge_kinds_once before insert on merge_kinds when exists (select 1 from merge_kinds t where t.run_id = new.run_id and t.kind = new.kind)
begin select raise(abort, 'merge_kinds: append-only: it is there already'); end;
create trigger merge_kinds_stay before delete on merge_kinds when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'merge_kinds: append-only'); end;

-- What a coalesce made of the forked rows of a chunk whose branches met in the same passage.
create table merge_codes (
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

create trigger merge_codes_keep before update on merge_codes begin select raise(abort, 'merge_codes: append-only'); end;
create trigger merge_codes_once before insert on merge_codes when exists (select 1 from merge_codes t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane)
  or exists (select 1 from merge_codes t where t.rowid = new.rowid)
begin select raise(abort, 'merge_codes: append-only: it is there already'); end;
create trigger merge_codes_birth before insert on merge_codes
when not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
begin select raise(abort, 'merge_codes: the chunk did not go through the steps'); end;
create trigger merge_codes_stay before delete on merge_codes when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'merge_codes: append-only'); end;

-- How many merges of a chunk are of a kind.
create table chunk_merges (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  lane   integer not null,
  code   integer not null check (code between 0 and 65535),
  kind   text not null,
  rows   integer not null check (rows > 0),
  primary key (run_id, source, chunk, lane, code),
  unique (run_id, source, chunk, lane, kind),
  foreign key (run_id, source, chunk, lane) references merge_codes (run_id, source, chunk, lane),
  foreign key (run_id, kind) references merge_kinds (run_id, kind)
) strict, without rowid;

create trigger chunk_merges_keep before update on chunk_merges begin select raise(abort, 'chunk_merges: append-only'); end;
create trigger chunk_merges_once before insert on chunk_merges when exists (select 1 from chunk_merges t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.code = new.code)
  or exists (select 1 from chunk_merges t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.kind = new.kind)
begin select raise(abort, 'chunk_merges: append-only: it is there already'); end;
create trigger chunk_merges_stay before delete on chunk_merges when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'chunk_merges: append-only'); end;

-- A merge of a coalesce whose branches came in different passages. A forked token is merged at most once: its source,
-- lane and row are unique here.
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

create trigger merges_keep before update on merges begin select raise(abort, 'merges: append-only'); end;
create trigger merges_once before insert on merges when exists (select 1 from merges t where t.run_id = new.run_id and t.node = new.node and t.batch = new.batch)
  or exists (select 1 from merges t where t.run_id = new.run_id and t.node = new.node and t.source = new.source and t.lane = new.lane and t.row = new.row)
  or exists (select 1 from merges t where t.run_id = new.run_id and t.node = new.node and t.out_row = new.out_row and t.out_row is not null)
begin select raise(abort, 'merges: append-only: it is there already'); end;

-- A merge is the end of the branches in its batch, and makes a row unless none arrived.
create trigger merges_birth before insert on merges
when not exists (
    select 1 from batches b where b.run_id = new.run_id and b.node = new.node and b.batch = new.batch
      and b.path = 'coalesced' and b.rows = json_array_length(new.arrivals))
  or not exists (
    select 1 from merge_kinds k where k.run_id = new.run_id and k.kind = new.kind and k.node = new.node
      and (k.result = 'nothing') = (new.out_row is null) and json_array_length(k.arrived) = json_array_length(new.arrivals))
begin select raise(abort, 'merges: not the merge of its batch'); end;
create trigger merges_stay before delete on merges when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'merges: append-only'); end;

-- ========== What was written ==========

-- Completion record of one write to one sink, or of a publication.
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
  refused     integer not null check (refused between 0 and rows and (refused = 0 or kind = 'write' and state = 'finalized')),
  beyond      text not null check (beyond = '' or kind = 'write' and json_valid(beyond)),
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

create trigger effects_once before insert on effects when exists (select 1 from effects t where t.run_id = new.run_id and t.sink = new.sink and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'effects: append-only: it is there already'); end;
create trigger effects_keep before update of run_id, sink, source, chunk, kind, sha256, beyond on effects
begin select raise(abort, 'effects: what is written where never changes'); end;
create trigger effects_place before update of ordinal on effects
when old.ordinal is null
  and exists (select 1 from effects t where t.run_id = new.run_id and t.sink = new.sink and t.ordinal = new.ordinal)
begin select raise(abort, 'effects: two writes in one place'); end;

-- An effect begins with what is known: a write is prepared and belongs to a chunk that passed, a publication is
-- reserved.
create trigger effects_birth before insert on effects
when new.fence <> 0 or new.state <> iif(new.kind = 'write', 'prepared', 'reserved')
  or not exists (select 1 from nodes n where n.run_id = new.run_id and n.node = new.sink and n.kind = 'sink')
  or new.kind = 'write' and not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
begin select raise(abort, 'effects: not the beginning of an effect'); end;

-- reserved > prepared > in_flight (again with every attempt) > finalized or blocked. A decision of a person leads out
-- of blocked.
create trigger effects_state before update on effects
when not (
  old.state = 'reserved' and new.state = 'prepared'
  or old.state in ('prepared', 'in_flight') and new.state = 'in_flight' and new.fence = old.fence + 1
    and new.rows = old.rows and new.bytes = old.bytes
    and (old.ordinal is null or new.ordinal = old.ordinal and new.byte_offset = old.byte_offset)
  or old.state = 'in_flight' and new.state in ('finalized', 'blocked') and new.fence = old.fence
    and new.rows = old.rows and new.bytes = old.bytes
    and new.ordinal is old.ordinal and new.byte_offset is old.byte_offset
  or old.state = 'blocked' and new.state in ('finalized', 'in_flight') and new.fence = old.fence
    and new.rows = old.rows and new.bytes = old.bytes
    and new.ordinal is old.ordinal and new.byte_offset is old.byte_offset
    and exists (
      select 1 from effect_events v
      where v.run_id = new.run_id and v.sink = new.sink and v.source = new.source and v.chunk = new.chunk and v.fence = new.fence
        and v.event = 'resolved' and v.detail = iif(new.state = 'finalized', 'applied', 'not_applied'))
)
begin select raise(abort, 'effects: illegal change of state'); end;

-- An effect begins with nothing refused, and is finalized with what the target refused: the check and the guard of
-- states leave no other moment.
create trigger effects_unrefused before insert on effects when new.refused <> 0
begin select raise(abort, 'effects: not the beginning of an effect'); end;
create trigger effects_refused before update of refused on effects
when new.refused <> old.refused and new.refused <> (
    select count(*) from chunks c
    cross join errors x on x.run_id = c.run_id and x.source = c.source and x.row >= c.first_row and x.row < c.first_row + c.rows
    where c.run_id = new.run_id and c.source = new.source and c.chunk = new.chunk and x.node = new.sink and x.sent_to = '__quarantine__'
  ) - (
    select coalesce(sum(w.rows), 0) from chunk_ways w
    join ways k on k.run_id = w.run_id and k.way = w.way
    where w.run_id = new.run_id and w.source = new.source and w.chunk = new.chunk and k.last_node = new.sink and k.outcome = 'failure'
  )
begin select raise(abort, 'effects: other rows are refused than errors say'); end;
create trigger effects_stay before delete on effects when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'effects: append-only'); end;

-- Everything that happened to an effect.
create table effect_events (
  run_id text not null,
  sink   text not null,
  source text not null,
  chunk  integer not null,
  fence  integer not null check (fence >= 0),
  event  text not null check (event in ('began', 'finalized', 'fenced', 'failed', 'reconciled', 'resolved')),
  worker text not null,
  at_us  integer not null check (at_us > 0),
  detail text not null,
  primary key (run_id, sink, source, chunk, fence, event, worker, at_us),
  foreign key (run_id, sink, source, chunk) references effects (run_id, sink, source, chunk),
  check (event <> 'resolved' or detail in ('applied', 'not_applied'))
) strict, without rowid;

create trigger effect_events_keep before update on effect_events begin select raise(abort, 'effect_events: append-only'); end;
create trigger effect_events_once before insert on effect_events when exists (select 1 from effect_events t where t.run_id = new.run_id and t.sink = new.sink and t.source = new.source and t.chunk = new.chunk and t.fence = new.fence and t.event = new.event and t.worker = new.worker and t.at_us = new.at_us)
begin select raise(abort, 'effect_events: append-only: it is there already'); end;
create trigger effect_events_stay before delete on effect_events when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'effect_events: append-only'); end;

-- What a sink published. If the sink says so, a name (latest) leads to the output of the latest slot; whose that is
-- never goes back.
create table artifacts (
  run_id       text not null,
  sink         text not null,
  path         text not null check (path <> ''),
  bytes        integer not null check (bytes >= 0),
  rows         integer not null check (rows >= 0),
  sha256       text not null check (length(sha256) = 64 and sha256 not glob '*[^0-9a-f]*'),
  published_us integer not null check (published_us > 0),
  latest       text not null,
  stands_for   text not null check ((stands_for = '') = (latest = '')),
  schema       text not null check (schema = '' or json_valid(schema)),
  primary key (run_id, sink),
  foreign key (run_id, sink) references nodes (run_id, node)
) strict, without rowid;
create index artifacts_published on artifacts (published_us, run_id, sink);
create index artifacts_latest on artifacts (latest, stands_for, published_us, run_id, sink) where latest <> '';

create trigger artifacts_keep before update on artifacts begin select raise(abort, 'artifacts: append-only'); end;
create trigger artifacts_once before insert on artifacts when exists (select 1 from artifacts t where t.run_id = new.run_id and t.sink = new.sink)
begin select raise(abort, 'artifacts: append-only: it is there already'); end;
create trigger artifacts_stay before delete on artifacts begin select raise(abort, 'artifacts: append-only'); end;

-- ========== What happened to runs ==========

-- One row per resume.
create table resumptions (
  run_id text not null references runs (run_id),
  epoch  integer not null check (epoch >= 1),
  claim  text not null check (claim <> ''),
  was    text not null check (was in ('running', 'failed', 'interrupted', 'blocked', 'cancelled')),
  actor  text not null,
  why    text not null,
  code   text not null,
  host   text not null,
  at_us  integer not null check (at_us > 0),
  primary key (run_id, epoch)
) strict, without rowid;

create trigger resumptions_keep before update on resumptions begin select raise(abort, 'resumptions: append-only'); end;
create trigger resumptions_once before insert on resumptions when exists (select 1 from resumptions t where t.run_id = new.run_id and t.epoch = new.epoch)
begin select raise(abort, 'resumptions: append-only: it is there already'); end;

-- A resumption begins the next epoch of a run.
create trigger resumptions_birth before insert on resumptions
when not exists (
  select 1 from runs r where r.run_id = new.run_id and r.epoch = new.epoch - 1 and r.status = new.was and r.final = 0)
begin select raise(abort, 'resumptions: not the next epoch of the run'); end;
create trigger resumptions_stay before delete on resumptions when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'resumptions: append-only'); end;

-- One row per workflow execution that worked for a run, with what Temporal knows of its start. seq 0 began the epoch;
-- each of the others continued the one before it as new. No other execution may work for the run in that epoch.
create table executions (
  run_id    text not null references runs (run_id),
  epoch     integer not null check (epoch >= 0),
  seq       integer not null check (seq >= 0),
  execution text not null check (execution <> ''),
  workflow  text not null check (workflow <> ''),
  namespace text not null,
  identity  text not null,
  principal text not null,
  parent    text not null,
  schedule  text not null,
  at_us     integer not null check (at_us > 0),
  primary key (run_id, epoch, seq)
) strict, without rowid;

create trigger executions_keep before update on executions begin select raise(abort, 'executions: append-only'); end;
create trigger executions_once before insert on executions when exists (select 1 from executions t where t.run_id = new.run_id and t.epoch = new.epoch and t.seq = new.seq)
begin select raise(abort, 'executions: append-only: it is there already'); end;

-- The first execution of an epoch comes with the run or with the resumption, the others one after the other.
create trigger executions_birth before insert on executions
when new.seq = 0 and new.epoch > 0 and not exists (
    select 1 from resumptions r where r.run_id = new.run_id and r.epoch = new.epoch and r.claim = new.execution)
  or new.seq > 0 and not exists (
    select 1 from executions e where e.run_id = new.run_id and e.epoch = new.epoch and e.seq = new.seq - 1)
begin select raise(abort, 'executions: it neither begins the epoch nor continues an execution'); end;
create trigger executions_stay before delete on executions when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'executions: append-only'); end;

-- One row per quarantined record that a linked run retries. The key is the record: no record is retried twice.
create table retried (
  parent_run text not null references runs (run_id),
  source     text not null,
  row        integer not null check (row >= 1),
  run_id     text not null references runs (run_id),
  primary key (parent_run, source, row)
) strict, without rowid;
create index retried_by_run on retried (run_id);

create trigger retried_keep before update on retried begin select raise(abort, 'retried: append-only'); end;
create trigger retried_stay before delete on retried begin select raise(abort, 'retried: append-only'); end;
create trigger retried_once before insert on retried when exists (select 1 from retried t where t.parent_run = new.parent_run and t.source = new.source and t.row = new.row)
begin select raise(abort, 'retried: append-only: it is there already'); end;

-- A record is fed again by a run that says so, if it was refused and no sink got it.
create trigger retried_birth before insert on retried
when not exists (select 1 from runs r where r.run_id = new.run_id and r.parent_run = new.parent_run and r.link = 'retry')
  or not exists (
    select 1 from errors x where x.run_id = new.parent_run and x.source = new.source and x.row = new.row and x.sent_to = '__quarantine__')
begin select raise(abort, 'retried: not a quarantined record of the run that it is linked to'); end;

-- What people did to a run.
create table actions (
  run_id text not null references runs (run_id),
  seq    integer not null check (seq >= 0),
  verb   text not null check (verb <> ''),
  actor  text not null,
  why    text not null,
  at_us  integer not null check (at_us > 0),
  primary key (run_id, seq)
) strict, without rowid;

create trigger actions_keep before update on actions begin select raise(abort, 'actions: append-only'); end;
create trigger actions_once before insert on actions when exists (select 1 from actions t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'actions: append-only: it is there already'); end;
create trigger actions_stay before delete on actions when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'actions: append-only'); end;

-- What happened to a run as a whole.
create table run_events (
  run_id text not null references runs (run_id),
  seq    integer not null check (seq >= 0),
  event  text not null check (event <> ''),
  detail text not null,
  at_us  integer not null check (at_us > 0),
  primary key (run_id, seq)
) strict, without rowid;

create trigger run_events_keep before update on run_events begin select raise(abort, 'run_events: append-only'); end;
create trigger run_events_once before insert on run_events when exists (select 1 from run_events t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'run_events: append-only: it is there already'); end;
create trigger run_events_stay before delete on run_events when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'run_events: append-only'); end;

-- What the document says must be true of a run.
create table policies (
  run_id    text not null references runs (run_id),
  policy    text not null check (policy <> ''),
  seq       integer not null check (seq >= 0),
  assertion text not null check (assertion <> ''),
  gate      text not null check (gate in ('publish', 'warn', 'seal')),
  primary key (run_id, policy),
  unique (run_id, seq)
) strict, without rowid;

create trigger policies_keep before update on policies begin select raise(abort, 'policies: append-only'); end;
create trigger policies_once before insert on policies when exists (select 1 from policies t where t.run_id = new.run_id and t.policy = new.policy)
  or exists (select 1 from policies t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'policies: append-only: it is there already'); end;
create trigger policies_stay before delete on policies when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'policies: append-only'); end;

-- What the policies of a run came to.
create table policy_results (
  run_id  text not null,
  policy  text not null,
  attempt integer not null check (attempt >= 0),
  epoch   integer not null check (epoch >= 0),
  result  text not null check (result in ('passed', 'failed', 'error', 'waived')),
  detail  text not null check (detail <> ''),
  figures text not null check (json_valid(figures)),
  actor   text not null check ((actor <> '') = (result = 'waived')),
  at_us   integer not null check (at_us > 0),
  primary key (run_id, policy, attempt),
  foreign key (run_id, policy) references policies (run_id, policy)
) strict, without rowid;

create trigger policy_results_keep before update on policy_results begin select raise(abort, 'policy_results: append-only'); end;
create trigger policy_results_once before insert on policy_results when exists (
  select 1 from policy_results t where t.run_id = new.run_id and t.policy = new.policy and t.attempt = new.attempt)
begin select raise(abort, 'policy_results: append-only: it is there already'); end;

-- A policy that passed or was waived counts; only one that did not pass is evaluated again, or waived.
create trigger policy_results_birth before insert on policy_results
when not exists (select 1 from runs r where r.run_id = new.run_id and r.epoch = new.epoch)
  or new.attempt = 0 and new.result = 'waived'
  or new.attempt > 0 and not exists (
    select 1 from policy_results p
    where p.run_id = new.run_id and p.policy = new.policy and p.attempt = new.attempt - 1 and p.result in ('failed', 'error'))
begin select raise(abort, 'policy_results: the policy stands, or the result is not the next one'); end;
create trigger policy_results_stay before delete on policy_results when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'policy_results: append-only'); end;

-- ========== Seals and signatures ==========

-- Keys from which the salts of sealed records are derived; that of the run has no source, and chunk -1. When rows of a
-- run are forgotten, its salts are more than one record, and are replaced.
create table salts (
  run_id text not null references runs (run_id),
  source text not null,
  chunk  integer not null check (chunk >= 0 or chunk = -1 and source = ''),
  keys   blob not null check (length(keys) % 16 = 0 and (chunk >= 0 or length(keys) = 16)),
  primary key (run_id, source, chunk)
) strict, without rowid;

create trigger salts_keep before update on salts
when new.run_id <> old.run_id or new.source <> old.source or new.chunk <> old.chunk or not exists (select 1 from forgotten f where f.run_id = old.run_id)
begin select raise(abort, 'salts: append-only'); end;
create trigger salts_stay before delete on salts begin select raise(abort, 'salts: append-only'); end;
create trigger salts_once before insert on salts when exists (select 1 from salts t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'salts: append-only: it is there already'); end;
create trigger salts_birth before insert on salts
when new.chunk >= 0 and not exists (select 1 from forgotten f where f.run_id = new.run_id)
begin select raise(abort, 'salts: no row of the run is forgotten'); end;

-- One root per chunk that has gone through the steps. It binds everything that was recorded of the chunk's rows.
create table chunk_seals (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  root   blob not null check (length(root) = 32),
  primary key (run_id, source, chunk),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
) strict, without rowid;

create trigger chunk_seals_keep before update on chunk_seals begin select raise(abort, 'chunk_seals: append-only'); end;
create trigger chunk_seals_once before insert on chunk_seals when exists (select 1 from chunk_seals t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'chunk_seals: append-only: it is there already'); end;
create trigger chunk_seals_stay before delete on chunk_seals when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'chunk_seals: append-only'); end;

-- What binds every record of a run that ended: one for each time that it ended, and for each record that came
-- afterwards. The last one counts.
create table run_seals (
  run_id text not null references runs (run_id),
  seq    integer not null check (seq >= 0),
  epoch  integer not null check (epoch >= 0),
  root   blob not null check (length(root) = 32),
  leaves integer not null check (leaves > 0),
  late   integer not null check (late in (0, 1)),
  tables text not null check (json_valid(tables)),
  marks  blob not null check (length(marks) = 4 * leaves),
  at_us  integer not null check (at_us > 0),
  primary key (run_id, seq)
) strict, without rowid;

create trigger run_seals_keep before update on run_seals begin select raise(abort, 'run_seals: append-only'); end;
create trigger run_seals_stay before delete on run_seals begin select raise(abort, 'run_seals: append-only'); end;
create trigger run_seals_once before insert on run_seals when exists (select 1 from run_seals t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'run_seals: append-only: it is there already'); end;
create trigger run_seals_birth before insert on run_seals
when not exists (select 1 from runs r where r.run_id = new.run_id and r.epoch = new.epoch and r.status <> 'running')
begin select raise(abort, 'run_seals: the run has not ended in this epoch'); end;
create trigger run_seals_next before insert on run_seals
when new.seq > (select count(*) from run_seals t where t.run_id = new.run_id)
begin select raise(abort, 'run_seals: a seal comes after the one before it'); end;
create trigger run_seals_archived before insert on run_seals when exists (select 1 from archives a where a.run_id = new.run_id)
begin select raise(abort, 'run_seals: append-only: the run is archived'); end;

-- What people signed about a run that has ended. A seal is signed once by a person in a role, and again if the earlier
-- signature does not count: whose keys count the landscape does not know.
create table sign_offs (
  run_id    text not null,
  seq       integer not null check (seq >= 0),
  seal      integer not null,
  person    text not null check (person <> ''),
  role      text not null check (role <> ''),
  statement text not null check (statement <> ''),
  signature text not null check (signature <> ''),
  approver  text not null check (approver <> ''),
  at_us     integer not null check (at_us > 0),
  primary key (run_id, seq),
  foreign key (run_id, seal) references run_seals (run_id, seq)
) strict, without rowid;

create trigger sign_offs_keep before update on sign_offs begin select raise(abort, 'sign_offs: append-only'); end;
create trigger sign_offs_stay before delete on sign_offs begin select raise(abort, 'sign_offs: append-only'); end;
create trigger sign_offs_once before insert on sign_offs when exists (select 1 from sign_offs t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'sign_offs: append-only: it is there already'); end;

-- What is signed is the last seal of a run that has ended.
create trigger sign_offs_birth before insert on sign_offs
when new.seq <> (select count(*) from sign_offs s where s.run_id = new.run_id)
  or not exists (
    select 1 from run_seals s join runs r using (run_id)
    where s.run_id = new.run_id and s.seq = new.seal and s.epoch = r.epoch and r.status <> 'running'
      and not exists (select 1 from run_seals l where l.run_id = s.run_id and l.seq > s.seq))
begin select raise(abort, 'sign_offs: append-only: not the next one, or not of the last seal of a run that has ended'); end;

-- ========== Changes that need several persons ==========

-- How many persons a guarded change needs, its proposer included; the last row of a verb counts.
create table approval_rules (
  verb    text not null check (verb <> ''),
  seq     integer not null check (seq >= 0),
  persons integer not null check (persons between 1 and 9),
  actor   text not null check (actor <> ''),
  why     text not null check (why <> ''),
  at_us   integer not null check (at_us > 0),
  primary key (verb, seq)
) strict, without rowid;

create trigger approval_rules_keep before update on approval_rules begin select raise(abort, 'approval_rules: append-only'); end;
create trigger approval_rules_stay before delete on approval_rules begin select raise(abort, 'approval_rules: append-only'); end;
create trigger approval_rules_once before insert on approval_rules when exists (select 1 from approval_rules t where t.verb = new.verb and t.seq = new.seq)
begin select raise(abort, 'approval_rules: append-only: it is there already'); end;
create trigger approval_rules_birth before insert on approval_rules when new.seq <> (select count(*) from approval_rules r where r.verb = new.verb)
begin select raise(abort, 'approval_rules: append-only: not the next one'); end;

-- What people proposed to do.
create table approval_requests (
  run_id       text not null,
  request_sha256 text not null check (length(request_sha256) = 64),
  verb         text not null check (verb <> ''),
  person       text not null check (person <> ''),
  statement    text not null check (statement <> ''),
  signature    text not null check (signature <> ''),
  approver     text not null check (approver <> ''),
  expires_us   integer not null check (expires_us > at_us),
  at_us        integer not null check (at_us > 0),
  primary key (run_id, request_sha256)
) strict, without rowid;

create trigger approval_requests_keep before update on approval_requests begin select raise(abort, 'approval_requests: append-only'); end;
create trigger approval_requests_stay before delete on approval_requests begin select raise(abort, 'approval_requests: append-only'); end;
create trigger approval_requests_once before insert on approval_requests when exists (select 1 from approval_requests t where t.request_sha256 = new.request_sha256)
begin select raise(abort, 'approval_requests: append-only: it is there already'); end;
create trigger approval_requests_birth before insert on approval_requests when new.run_id <> '' and not exists (select 1 from runs r where r.run_id = new.run_id)
begin select raise(abort, 'approval_requests: its run is not recorded'); end;

-- Who else signed a request.
create table approvals (
  run_id       text not null,
  request_sha256 text not null,
  seq          integer not null check (seq >= 0),
  kind         text not null check (kind in ('approval', 'review')),
  person       text not null check (person <> ''),
  statement    text not null check (statement <> ''),
  signature    text not null check (signature <> ''),
  approver     text not null check (approver <> ''),
  at_us        integer not null check (at_us > 0),
  primary key (run_id, request_sha256, seq),
  unique (run_id, request_sha256, kind, person),
  foreign key (run_id, request_sha256) references approval_requests (run_id, request_sha256)
) strict, without rowid;

create trigger approvals_keep before update on approvals begin select raise(abort, 'approvals: append-only'); end;
create trigger approvals_stay before delete on approvals begin select raise(abort, 'approvals: append-only'); end;
create trigger approvals_once before insert on approvals when exists (
  select 1 from approvals t where t.run_id = new.run_id and t.request_sha256 = new.request_sha256 and (t.seq = new.seq or t.kind = new.kind and t.person = new.person))
begin select raise(abort, 'approvals: append-only: it is there already'); end;

-- The person who proposed a request does not approve it; what was executed is only reviewed.
create trigger approvals_birth before insert on approvals
when new.seq <> (select count(*) from approvals a where a.run_id = new.run_id and a.request_sha256 = new.request_sha256)
  or exists (select 1 from approval_requests o where o.run_id = new.run_id and o.request_sha256 = new.request_sha256 and o.person = new.person)
  or (new.kind = 'review') <> exists (select 1 from approved_executions x where x.run_id = new.run_id and x.request_sha256 = new.request_sha256)
begin select raise(abort, 'approvals: append-only: not the next one, of who proposed the order, or an approval of what was executed'); end;

-- Which requests were executed, in the transaction of the change.
create table approved_executions (
  run_id       text not null,
  request_sha256 text not null,
  persons      integer not null check (persons > 0),
  emergency    integer not null check (emergency in (0, 1)),
  why          text not null check ((why <> '') = (emergency = 1)),
  purge_id     integer references purges (purge_id),
  actor        text not null check (actor <> ''),
  at_us        integer not null check (at_us > 0),
  primary key (run_id, request_sha256),
  foreign key (run_id, request_sha256) references approval_requests (run_id, request_sha256)
) strict, without rowid;

create trigger approved_executions_keep before update on approved_executions begin select raise(abort, 'approved_executions: append-only'); end;
create trigger approved_executions_stay before delete on approved_executions begin select raise(abort, 'approved_executions: append-only'); end;
create trigger approved_executions_once before insert on approved_executions when exists (
  select 1 from approved_executions t where t.run_id = new.run_id and t.request_sha256 = new.request_sha256)
begin select raise(abort, 'approved_executions: append-only: it is there already'); end;

-- As many persons signed as are counted, and as many as the rule says, except in an emergency.
create trigger approved_executions_birth before insert on approved_executions
when new.persons > 1 + (select count(*) from approvals a where a.run_id = new.run_id and a.request_sha256 = new.request_sha256)
  or new.emergency = 0 and new.persons < (
    select r.persons from approval_requests o join approval_rules r using (verb)
    where o.run_id = new.run_id and o.request_sha256 = new.request_sha256
    order by r.seq desc limit 1)
begin select raise(abort, 'approved_executions: fewer persons signed'); end;

-- ========== Retention: holds, purges, forgotten rows, archives ==========

-- What protects payloads from purges: one run, or the runs of a pipeline that began in a time.
create table holds (
  hold_id  integer not null check (hold_id > 0),
  run_id   text not null,
  pipeline text not null check ((run_id = '') <> (pipeline = '')),
  from_us  integer check (from_us is null or from_us >= 0 and pipeline <> ''),
  until_us integer check (until_us is null or until_us > coalesce(from_us, 0) and pipeline <> ''),
  actor    text not null check (actor <> ''),
  why      text not null check (why <> ''),
  at_us    integer not null check (at_us > 0),
  primary key (hold_id)
) strict;

create trigger holds_keep before update on holds begin select raise(abort, 'holds: append-only'); end;
create trigger holds_stay before delete on holds begin select raise(abort, 'holds: append-only'); end;
create trigger holds_birth before insert on holds
when new.hold_id is not (select coalesce(max(t.hold_id), 0) + 1 from holds t) or new.run_id <> '' and not exists (select 1 from runs r where r.run_id = new.run_id)
begin select raise(abort, 'holds: append-only: a hold has the next number, and its run is recorded'); end;

-- Holds that have ended.
create table hold_ends (
  hold_id integer not null references holds (hold_id),
  actor   text not null check (actor <> ''),
  why     text not null check (why <> ''),
  at_us   integer not null check (at_us > 0),
  primary key (hold_id)
) strict;

create trigger hold_ends_keep before update on hold_ends begin select raise(abort, 'hold_ends: append-only'); end;
create trigger hold_ends_stay before delete on hold_ends begin select raise(abort, 'hold_ends: append-only'); end;
create trigger hold_ends_once before insert on hold_ends when exists (select 1 from hold_ends t where t.hold_id = new.hold_id)
begin select raise(abort, 'hold_ends: append-only: it is there already'); end;

-- Orders to delete payloads.
create table purges (
  purge_id integer not null check (purge_id > 0),
  actor    text not null check (actor <> ''),
  why      text not null check (why <> ''),
  rules    text not null check (json_valid(rules)),
  at_us    integer not null check (at_us > 0),
  primary key (purge_id)
) strict;

create trigger purges_keep before update on purges begin select raise(abort, 'purges: append-only'); end;
create trigger purges_stay before delete on purges begin select raise(abort, 'purges: append-only'); end;
create trigger purges_birth before insert on purges when new.purge_id is not (select coalesce(max(t.purge_id), 0) + 1 from purges t)
begin select raise(abort, 'purges: append-only: an order has the next number'); end;

-- The runs that a purge covers.
create table purged_runs (
  purge_id integer not null references purges (purge_id),
  run_id   text not null references runs (run_id),
  class    text not null check (class in ('source', 'derived')),
  epoch    integer not null check (epoch >= 0),
  due_us   integer not null check (due_us > 0),
  primary key (purge_id, run_id, class)
) strict, without rowid;

create trigger purged_runs_keep before update on purged_runs begin select raise(abort, 'purged_runs: append-only'); end;
create trigger purged_runs_stay before delete on purged_runs begin select raise(abort, 'purged_runs: append-only'); end;
create trigger purged_runs_once before insert on purged_runs
when exists (select 1 from purged_runs t where t.purge_id = new.purge_id and t.run_id = new.run_id and t.class = new.class)
begin select raise(abort, 'purged_runs: append-only: it is there already'); end;
create trigger purged_runs_birth before insert on purged_runs
when not exists (
    select 1 from runs r join purges p on p.purge_id = new.purge_id
    where r.run_id = new.run_id and r.epoch = new.epoch and r.status <> 'running' and new.due_us >= r.finished_us and new.due_us <= p.at_us)
begin select raise(abort, 'purged_runs: the run has not ended, or is not due'); end;

-- Payloads whose deletion has begun.
create table deletions (
  payload  text not null check (length(payload) = 64 and payload not glob '*[^0-9a-f]*'),
  number   integer not null check (number > 0),
  purge_id integer not null references purges (purge_id),
  at_us    integer not null check (at_us > 0),
  primary key (payload, number)
) strict, without rowid;

create trigger deletions_keep before update on deletions begin select raise(abort, 'deletions: append-only'); end;
create trigger deletions_stay before delete on deletions begin select raise(abort, 'deletions: append-only'); end;
create trigger deletions_birth before insert on deletions
when new.number <> (select count(*) + 1 from deletions t where t.payload = new.payload)
  or new.number > 1 and not exists (select 1 from returned_payloads t where t.payload = new.payload and t.number = new.number - 1)
begin select raise(abort, 'deletions: append-only: it is being deleted, or is deleted, already'); end;
create trigger deletions_waiting before insert on deletions
when exists (select 1 from arrivals a where a.payload = new.payload and a.payload <> '' and a.state in ('ready', 'taken'))
begin select raise(abort, 'deletions: payload in use: a run is still to read it'); end;

-- Whether a payload is in use is looked up by its digest. A payload is in use as well if a run needs one that it
-- replaced.
create trigger deletions_free before insert on deletions
when exists (
  select 1 from payload_refs f join runs r using (run_id)
  where f.payload = new.payload and (
    exists (select 1 from held_runs h where h.run_id = r.run_id)
    or not exists (select 1 from purged_runs p where p.purge_id = new.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch)))
begin select raise(abort, 'deletions: payload in use: a run needs it, or is held'); end;
create trigger deletions_replacement before insert on deletions
when exists (select 1 from repacked p where p.replacement = new.payload) and exists (
  with recursive was (payload) as (
    select p.payload from repacked p where p.replacement = new.payload
    union select p.payload from repacked p join was on p.replacement = was.payload)
  select 1 from was join payload_refs f using (payload) join runs r using (run_id)
  where exists (select 1 from held_runs h where h.run_id = r.run_id)
    or not exists (select 1 from purged_runs p where p.purge_id = new.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch))
begin select raise(abort, 'deletions: payload in use: a run needs it, or is held'); end;

-- Deletions that are done.
create table deleted_payloads (
  payload text not null,
  number  integer not null,
  bytes   integer not null check (bytes >= 0),
  at_us   integer not null check (at_us > 0),
  primary key (payload, number),
  foreign key (payload, number) references deletions (payload, number)
) strict, without rowid;

create trigger deleted_payloads_keep before update on deleted_payloads begin select raise(abort, 'deleted_payloads: append-only'); end;
create trigger deleted_payloads_stay before delete on deleted_payloads begin select raise(abort, 'deleted_payloads: append-only'); end;
create trigger deleted_payloads_once before insert on deleted_payloads when exists (select 1 from deleted_payloads t where t.payload = new.payload and t.number = new.number)
begin select raise(abort, 'deleted_payloads: append-only: it is there already'); end;

-- Deleted payloads that were stored again.
create table returned_payloads (
  payload text not null,
  number  integer not null,
  run_id  text not null,
  at_us   integer not null check (at_us > 0),
  primary key (payload, number),
  foreign key (payload, number) references deleted_payloads (payload, number)
) strict, without rowid;

create trigger returned_payloads_keep before update on returned_payloads begin select raise(abort, 'returned_payloads: append-only'); end;
create trigger returned_payloads_stay before delete on returned_payloads begin select raise(abort, 'returned_payloads: append-only'); end;
create trigger returned_payloads_once before insert on returned_payloads when exists (select 1 from returned_payloads t where t.payload = new.payload and t.number = new.number)
begin select raise(abort, 'returned_payloads: append-only: it is there already'); end;

-- How long what is deleted after a time is kept, as the settings of a process said. The last row that is in force
-- counts.
create table retention_periods (
  seq            integer not null check (seq >= 0),
  periods_sha256 text not null check (length(periods_sha256) = 64),
  periods        text not null check (json_valid(periods)),
  in_force       integer not null check (in_force in (0, 1)),
  actor          text not null check (actor <> ''),
  why            text not null check (why <> ''),
  at_us          integer not null check (at_us > 0),
  primary key (seq)
) strict;

create trigger retention_periods_keep before update on retention_periods begin select raise(abort, 'retention_periods: append-only'); end;
create trigger retention_periods_stay before delete on retention_periods begin select raise(abort, 'retention_periods: append-only'); end;
create trigger retention_periods_birth before insert on retention_periods when new.seq <> (select count(*) from retention_periods)
begin select raise(abort, 'retention_periods: append-only: not the next one'); end;

-- What processes deleted because it was due, one turn after the other. A turn that did nothing is recorded once a day.
create table retention_turns (
  turn           integer not null check (turn > 0),
  periods_sha256 text not null,
  actor          text not null check (actor <> ''),
  why            text not null check (why <> ''),
  purge_id       integer references purges (purge_id),
  payloads       integer not null check (payloads >= 0),
  bytes          integer not null check (bytes >= 0),
  events         integer not null check (events >= 0),
  staged         integer not null check (staged >= 0),
  left_due       integer not null check (left_due >= 0),
  problem        text not null,
  at_us          integer not null check (at_us > 0),
  primary key (turn)
) strict;

create trigger retention_turns_keep before update on retention_turns begin select raise(abort, 'retention_turns: append-only'); end;
create trigger retention_turns_stay before delete on retention_turns begin select raise(abort, 'retention_turns: append-only'); end;
create trigger retention_turns_birth before insert on retention_turns when new.turn is not (select coalesce(max(t.turn), 0) + 1 from retention_turns t)
begin select raise(abort, 'retention_turns: append-only: a turn has the next number'); end;

-- Rows that were forgotten, and the leaves that they had.
create table forgotten (
  run_id   text not null,
  source   text not null,
  chunk    integer not null,
  slot     integer not null check (slot >= 0),
  row      integer not null check (row >= 1),
  leaf     blob check (leaf is null or length(leaf) = 32),
  purge_id integer not null references purges (purge_id),
  primary key (run_id, source, chunk, slot)
) strict, without rowid;

create trigger forgotten_keep before update on forgotten begin select raise(abort, 'forgotten: append-only'); end;
create trigger forgotten_stay before delete on forgotten begin select raise(abort, 'forgotten: append-only'); end;
create trigger forgotten_once before insert on forgotten
when exists (select 1 from forgotten t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.slot = new.slot)
begin select raise(abort, 'forgotten: append-only: it is there already'); end;
create trigger forgotten_birth before insert on forgotten
when not exists (
    select 1 from purges p join purged_runs c using (purge_id) join runs r using (run_id)
    where p.purge_id = new.purge_id and p.rules = '{"forget":true}' and r.run_id = new.run_id and c.epoch = r.epoch and r.status <> 'running'
      and (r.status in ('completed', 'completed_with_failures', 'empty') or r.final = 1))
  or not exists (
    select 1 from chunks c where c.run_id = new.run_id and c.source = new.source and c.chunk = new.chunk
      and new.row = c.first_row + new.slot and new.slot < c.rows)
  or (new.leaf is null) = exists (select 1 from chunk_seals s where s.run_id = new.run_id and s.source = new.source and s.chunk = new.chunk)
begin select raise(abort, 'forgotten: not a row of a run that has ended, by an order to forget'); end;
create trigger forgotten_held before insert on forgotten
when exists (select 1 from held_runs h where h.run_id = new.run_id)
begin select raise(abort, 'payload in use: a run is held'); end;

-- Records of forgotten rows that are leaves of a run's seal: errors of sinks' targets, and chunks whose cursor was
-- changed.
create table forgotten_leaves (
  run_id   text not null,
  seq      integer not null,
  leaf     integer not null check (leaf >= 0),
  hash     blob not null check (length(hash) = 32),
  purge_id integer not null references purges (purge_id),
  primary key (run_id, seq, leaf),
  foreign key (run_id, seq) references run_seals (run_id, seq)
) strict, without rowid;

create trigger forgotten_leaves_keep before update on forgotten_leaves begin select raise(abort, 'forgotten_leaves: append-only'); end;
create trigger forgotten_leaves_stay before delete on forgotten_leaves begin select raise(abort, 'forgotten_leaves: append-only'); end;
create trigger forgotten_leaves_once before insert on forgotten_leaves
when exists (select 1 from forgotten_leaves t where t.run_id = new.run_id and t.seq = new.seq and t.leaf = new.leaf)
begin select raise(abort, 'forgotten_leaves: append-only: it is there already'); end;
create trigger forgotten_leaves_birth before insert on forgotten_leaves
when not exists (select 1 from forgotten f where f.run_id = new.run_id and f.purge_id = new.purge_id)
begin select raise(abort, 'forgotten_leaves: the order forgets no row of the run'); end;

-- Rows in tables of sinks that an order to forget deletes there, recorded with the order.
create table erasures (
  run_id   text not null,
  sink     text not null,
  line     integer not null check (line >= 1),
  purge_id integer not null references purges (purge_id),
  primary key (run_id, sink, line),
  foreign key (run_id, sink) references nodes (run_id, node)
) strict, without rowid;

create trigger erasures_keep before update on erasures begin select raise(abort, 'erasures: append-only'); end;
create trigger erasures_stay before delete on erasures begin select raise(abort, 'erasures: append-only'); end;
create trigger erasures_once before insert on erasures
when exists (select 1 from erasures t where t.run_id = new.run_id and t.sink = new.sink and t.line = new.line)
begin select raise(abort, 'erasures: append-only: it is there already'); end;
create trigger erasures_birth before insert on erasures
when not exists (select 1 from forgotten f where f.run_id = new.run_id and f.purge_id = new.purge_id)
  or exists (select 1 from forgettings d where d.purge_id = new.purge_id)
begin select raise(abort, 'erasures: append-only: the order forgets no row of the run, or was carried out'); end;

-- What became of each. An order does not end as long as one of its rows has no outcome.
create table erased (
  run_id  text not null,
  sink    text not null,
  line    integer not null,
  outcome text not null check (outcome in ('deleted', 'gone', 'edited', 'replaced', 'unclear', 'left')),
  at_us   integer not null check (at_us > 0),
  primary key (run_id, sink, line),
  foreign key (run_id, sink, line) references erasures (run_id, sink, line)
) strict, without rowid;

create trigger erased_keep before update on erased begin select raise(abort, 'erased: append-only'); end;
create trigger erased_stay before delete on erased begin select raise(abort, 'erased: append-only'); end;
create trigger erased_once before insert on erased
when exists (select 1 from erased t where t.run_id = new.run_id and t.sink = new.sink and t.line = new.line)
begin select raise(abort, 'erased: append-only: it is there already'); end;
create trigger erased_birth before insert on erased
when not exists (select 1 from erasures e where e.run_id = new.run_id and e.sink = new.sink and e.line = new.line)
begin select raise(abort, 'erased: append-only: no order deletes it'); end;

-- Payloads that were deleted because a record in them was forgotten.
create table repacked (
  payload     text not null,
  number      integer not null,
  replacement text not null check (length(replacement) = 64 and replacement not glob '*[^0-9a-f]*' and replacement <> payload),
  primary key (payload, number),
  foreign key (payload, number) references deletions (payload, number)
) strict, without rowid;
create index repacked_by_replacement on repacked (replacement);

create trigger repacked_keep before update on repacked begin select raise(abort, 'repacked: append-only'); end;
create trigger repacked_stay before delete on repacked begin select raise(abort, 'repacked: append-only'); end;
create trigger repacked_once before insert on repacked when exists (select 1 from repacked t where t.payload = new.payload and t.number = new.number)
begin select raise(abort, 'repacked: append-only: it is there already'); end;
create trigger repacked_birth before insert on repacked
when not exists (
  select 1 from deletions d join purges p using (purge_id)
  where d.payload = new.payload and d.number = new.number and p.rules = '{"forget":true}')
begin select raise(abort, 'repacked: not deleted by an order to forget'); end;

-- Orders to forget that were carried out.
create table forgettings (
  purge_id    integer not null references purges (purge_id),
  rows        integer not null check (rows > 0),
  certificate text not null check (certificate <> ''),
  at_us       integer not null check (at_us > 0),
  primary key (purge_id)
) strict;

create trigger forgettings_keep before update on forgettings begin select raise(abort, 'forgettings: append-only'); end;
create trigger forgettings_stay before delete on forgettings begin select raise(abort, 'forgettings: append-only'); end;
create trigger forgettings_once before insert on forgettings when exists (select 1 from forgettings t where t.purge_id = new.purge_id)
begin select raise(abort, 'forgettings: append-only: it is there already'); end;
create trigger forgettings_birth before insert on forgettings
when new.rows <> (select count(*) from forgotten f where f.purge_id = new.purge_id)
begin select raise(abort, 'forgettings: the order forgets another number of rows'); end;
create trigger forgettings_erased before insert on forgettings
when exists (
  select 1 from erasures e
  where e.purge_id = new.purge_id and not exists (select 1 from erased d where d.run_id = e.run_id and d.sink = e.sink and d.line = e.line))
begin select raise(abort, 'forgettings: the order has rows in targets to delete'); end;

-- Runs that are archived: what was recorded of them is in a bundle, and not here any more.
create table archives (
  run_id          text not null references runs (run_id),
  location        text not null check (location <> ''),
  bytes           integer not null check (bytes > 0),
  sha256          text not null check (length(sha256) = 64 and sha256 not glob '*[^0-9a-f]*'),
  manifest_sha256 text not null check (length(manifest_sha256) = 64 and manifest_sha256 not glob '*[^0-9a-f]*'),
  root            blob not null check (length(root) = 32),
  actor           text not null check (actor <> ''),
  why             text not null check (why <> ''),
  at_us           integer not null check (at_us > 0),
  primary key (run_id)
) strict, without rowid;

create trigger archives_keep before update on archives begin select raise(abort, 'archives: append-only'); end;
create trigger archives_stay before delete on archives begin select raise(abort, 'archives: append-only'); end;
create trigger archives_once before insert on archives when exists (select 1 from archives t where t.run_id = new.run_id)
begin select raise(abort, 'archives: append-only: it is there already'); end;
create trigger archives_birth before insert on archives
when not exists (
    select 1 from runs r join run_seals s on s.run_id = r.run_id and s.epoch = r.epoch
    where r.run_id = new.run_id and (r.status in ('completed', 'completed_with_failures', 'empty') or r.final = 1)
      and s.root = new.root and not exists (select 1 from run_seals l where l.run_id = s.run_id and l.seq > s.seq))
  or exists (select 1 from forgotten f where f.run_id = new.run_id and not exists (select 1 from forgettings g where g.purge_id = f.purge_id))
begin select raise(abort, 'archives: not a run that has ended and cannot be resumed, with this seal, or rows of it are being forgotten'); end;
create trigger archives_held before insert on archives when exists (select 1 from held_runs h where h.run_id = new.run_id)
begin select raise(abort, 'payload in use: a run is held'); end;

-- The payloads to which the record of an archived run refers, so that purges still know them.
create table archived_payloads (
  run_id  text not null references archives (run_id),
  payload text not null,
  class   text not null check (class in ('source', 'derived', 'kept')),
  primary key (run_id, payload, class)
) strict, without rowid;
create index archived_payloads_by_payload on archived_payloads (payload);

create trigger archived_payloads_keep before update on archived_payloads begin select raise(abort, 'archived_payloads: append-only'); end;
create trigger archived_payloads_stay before delete on archived_payloads begin select raise(abort, 'archived_payloads: append-only'); end;
create trigger archived_payloads_once before insert on archived_payloads
when exists (select 1 from archived_payloads t where t.run_id = new.run_id and t.payload = new.payload and t.class = new.class)
begin select raise(abort, 'archived_payloads: append-only: it is there already'); end;
create trigger archived_payloads_birth before insert on archived_payloads
when not exists (select 1 from payload_refs f where f.payload = new.payload and f.run_id = new.run_id and f.class = new.class)
begin select raise(abort, 'archived_payloads: the run does not refer to it'); end;

-- ========== Outputs and payloads that were looked at again ==========

-- What the outputs of a run were found to be when their targets were read again.
create table attestations (
  run_id      text not null references runs (run_id),
  seq         integer not null check (seq >= 0),
  sink        text not null check (sink <> ''),
  path        text not null check (path <> ''),
  unit        text not null check (unit in ('pieces', 'rows')),
  sample      integer not null check (sample >= 0),
  looked_at   integer not null check (looked_at = equal + changed + missing + replaced + unknown),
  equal       integer not null check (equal >= 0),
  changed     integer not null check (changed >= 0),
  missing     integer not null check (missing >= 0),
  replaced    integer not null check (replaced >= 0),
  unknown     integer not null check (unknown >= 0),
  result      text not null check (result in ('equal', 'changed', 'missing', 'replaced', 'unknown')),
  replaced_by text not null,
  findings    text not null check (json_valid(findings)),
  actor       text not null check (actor <> ''),
  at_us       integer not null check (at_us > 0),
  primary key (run_id, seq, sink)
) strict, without rowid;

create trigger attestations_keep before update on attestations begin select raise(abort, 'attestations: append-only'); end;
create trigger attestations_stay before delete on attestations begin select raise(abort, 'attestations: append-only'); end;
create trigger attestations_once before insert on attestations when exists (
  select 1 from attestations t where t.run_id = new.run_id and t.seq = new.seq and t.sink = new.sink)
begin select raise(abort, 'attestations: append-only: it is there already'); end;

-- Only what a run published can be looked at, and no number is left out.
create trigger attestations_birth before insert on attestations
when not exists (select 1 from artifacts a where a.run_id = new.run_id and a.sink = new.sink and a.path = new.path)
  or new.seq > 0 and not exists (select 1 from attestations t where t.run_id = new.run_id and t.seq = new.seq - 1)
begin select raise(abort, 'attestations: the run published no such output, or the number is not the next one'); end;

-- A corrupt payload that was replaced by the right bytes. It belongs to no run.
create table heals (
  digest    text not null check (length(digest) = 64 and digest not glob '*[^0-9a-f]*'),
  at_us     integer not null check (at_us > 0),
  reason    text not null,
  set_aside text not null,
  primary key (digest, at_us)
) strict, without rowid;

create trigger heals_keep before update on heals begin select raise(abort, 'heals: append-only'); end;
create trigger heals_stay before delete on heals begin select raise(abort, 'heals: append-only'); end;
create trigger heals_once before insert on heals when exists (select 1 from heals t where t.digest = new.digest and t.at_us = new.at_us)
begin select raise(abort, 'heals: append-only: it is there already'); end;

-- ========== Who asked for runs, and the places that they take ==========

-- One row per request for a run, even if it led to no run. A start is decided once; a start after a refused one is the
-- next seq of its run.
create table starts (
  run_id      text not null check (run_id <> ''),
  seq         integer not null check (seq >= 0),
  pipeline    text not null,
  params      text not null check (json_type(params) = 'object'),
  actor       text not null,
  trigger     text not null,
  why         text not null,
  key         text not null,
  schedule    text not null,
  workflow    text not null,
  slot        text not null,
  accepted_us integer not null check (accepted_us > 0),
  state       text not null check (state in ('accepted', 'waiting', 'begun', 'refused', 'cancelled', 'skipped', 'superseded')),
  refusal     text not null check ((refusal <> '') = (state = 'refused')),
  reason      text not null check (reason = '' or state not in ('accepted', 'begun')),
  decided_us  integer check ((decided_us is null) = (state in ('accepted', 'waiting'))),
  environment text not null,
  terms       text not null check (terms = '' or json_valid(terms)),
  input       text not null check (input = '' or json_valid(input)),
  rows        text not null check (rows = '' or json_type(rows) = 'array'),
  primary key (run_id, seq)
) strict, without rowid;
create index starts_accepted on starts (accepted_us, run_id, seq);
create index starts_by_state on starts (state, accepted_us, run_id, seq);
create index starts_by_workflow on starts (workflow, accepted_us, run_id, seq);
create index starts_with_rows on starts (run_id, seq) where rows <> '';

create trigger starts_stay before delete on starts begin select raise(abort, 'starts: append-only'); end;
create trigger starts_once before insert on starts when exists (select 1 from starts t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'starts: append-only: it is there already'); end;
create trigger starts_birth before insert on starts
when new.state not in ('accepted', 'refused', 'cancelled') or new.seq > 0 and not exists (
  select 1 from starts s where s.run_id = new.run_id and s.seq = new.seq - 1 and s.decided_us is not null)
begin select raise(abort, 'starts: a start is open or has failed at first, and comes after one that is decided'); end;
create trigger starts_change before update on starts
when old.decided_us is not null or new.state = 'accepted'
  or new.state = 'begun' and not exists (select 1 from runs r where r.run_id = new.run_id)
begin select raise(abort, 'starts: illegal change of state'); end;
create trigger starts_keep before update of
  run_id, seq, pipeline, params, actor, trigger, why, key, schedule, workflow, accepted_us, environment, input, rows on starts
begin select raise(abort, 'starts: only slot, state, refusal, reason and decided_us change'); end;

-- One row per gate, which every decision about its places changes: of two that are made at the same time, the second is
-- made again. How many places are taken is stored nowhere.
create table gates (
  gate text not null check (gate <> ''),
  turn integer not null check (turn >= 0),
  primary key (gate)
) strict, without rowid;

create trigger gates_stay before delete on gates begin select raise(abort, 'gates: append-only'); end;
create trigger gates_once before insert on gates when exists (select 1 from gates t where t.gate = new.gate)
begin select raise(abort, 'gates: append-only: it is there already'); end;
create trigger gates_birth before insert on gates when new.turn <> 0
begin select raise(abort, 'gates: not the beginning: the first turn is 0'); end;
create trigger gates_change before update on gates when new.gate <> old.gate or new.turn <> old.turn + 1
begin select raise(abort, 'gates: illegal change: a turn comes after the one before it'); end;

-- How many places a pool has; the last row counts.
create table limits (
  gate   text not null check (gate glob 'pool:?*'),
  seq    integer not null check (seq >= 0),
  places integer not null check (places >= 0),
  actor  text not null,
  why    text not null,
  at_us  integer not null check (at_us > 0),
  primary key (gate, seq)
) strict, without rowid;

create trigger limits_keep before update on limits begin select raise(abort, 'limits: append-only'); end;
create trigger limits_stay before delete on limits begin select raise(abort, 'limits: append-only'); end;
create trigger limits_once before insert on limits when exists (select 1 from limits t where t.gate = new.gate and t.seq = new.seq)
begin select raise(abort, 'limits: append-only: it is there already'); end;
create trigger limits_birth before insert on limits
when new.seq > 0 and not exists (select 1 from limits t where t.gate = new.gate and t.seq = new.seq - 1)
begin select raise(abort, 'limits: it comes after the one before it'); end;

-- ========== The log ==========

-- The entries of the log, which say which runs there were; each is a signed note.
create table log (
  position integer not null check (position >= 0),
  about    text not null check (about <> '' and (about = 'genesis') = (position = 0)),
  entry    text not null check (length(cast(entry as blob)) between 1 and 1200),
  leaf     blob not null check (length(leaf) = 32),
  primary key (position)
) strict;
create unique index log_about on log (about);

create trigger log_keep before update on log begin select raise(abort, 'log: append-only'); end;
create trigger log_stay before delete on log begin select raise(abort, 'log: append-only'); end;
create trigger log_birth before insert on log when new.position is not (select size from log_head) or exists (select 1 from log t where t.about = new.about)
begin select raise(abort, 'log: append-only: an entry comes after the last one, once'); end;
create trigger log_counts after insert on log begin update log_head set size = size + 1; end;

-- How many entries there are, in one row. The transaction that appends an entry changes it.
create table log_head (
  id   integer not null check (id = 0),
  size integer not null check (size >= 0),
  primary key (id)
) strict;

insert into log_head values (0, 0);

create trigger log_head_stay before delete on log_head begin select raise(abort, 'log_head: append-only'); end;
create trigger log_head_once before insert on log_head begin select raise(abort, 'log_head: append-only: it is there already'); end;
create trigger log_head_change before update on log_head
when new.id <> old.id or new.size <> old.size + 1 or not exists (select 1 from log t where t.position = old.size)
begin select raise(abort, 'log_head: append-only: it counts the entries of the log'); end;

-- The stored part of the tree of the log: hashes of entries and of whole subtrees, so that a proof needs no entry but
-- its own.
create table log_hashes (
  number integer not null check (number >= 0),
  hash   blob not null check (length(hash) = 32),
  primary key (number)
) strict;

create trigger log_hashes_keep before update on log_hashes begin select raise(abort, 'log_hashes: append-only'); end;
create trigger log_hashes_stay before delete on log_hashes begin select raise(abort, 'log_hashes: append-only'); end;
create trigger log_hashes_once before insert on log_hashes when exists (select 1 from log_hashes t where t.number = new.number)
begin select raise(abort, 'log_hashes: append-only: it is there already'); end;

-- The heads of the log that its notary signed.
create table log_heads (
  size  integer not null check (size >= 1),
  root  blob not null check (length(root) = 32),
  note  text not null check (note <> ''),
  at_us integer not null check (at_us > 0),
  primary key (size)
) strict;

create trigger log_heads_keep before update on log_heads begin select raise(abort, 'log_heads: append-only'); end;
create trigger log_heads_stay before delete on log_heads begin select raise(abort, 'log_heads: append-only'); end;
create trigger log_heads_once before insert on log_heads when exists (select 1 from log_heads t where t.size = new.size)
begin select raise(abort, 'log_heads: append-only: it is there already'); end;
create trigger log_heads_birth before insert on log_heads when new.size > (select size from log_head)
begin select raise(abort, 'log_heads: the log has fewer entries'); end;

-- The heads that are at an anchor, a place that the owner of the record need not own.
create table log_anchors (
  anchor  text not null check (anchor <> ''),
  size    integer not null,
  at_us   integer not null check (at_us > 0),
  receipt text not null,
  primary key (anchor, size)
) strict, without rowid;

create trigger log_anchors_keep before update on log_anchors begin select raise(abort, 'log_anchors: append-only'); end;
create trigger log_anchors_stay before delete on log_anchors begin select raise(abort, 'log_anchors: append-only'); end;
create trigger log_anchors_once before insert on log_anchors when exists (select 1 from log_anchors t where t.anchor = new.anchor and t.size = new.size)
begin select raise(abort, 'log_anchors: append-only: it is there already'); end;
create trigger log_anchors_birth before insert on log_anchors when not exists (select 1 from log_heads h where h.size = new.size)
begin select raise(abort, 'log_anchors: no such head was signed'); end;

-- ========== Events and who gets them ==========

-- What happened, as others are told. Each event is recorded in the transaction of what it tells.
create table outbox (
  about       text not null check (about <> ''),
  event       text not null check (event <> ''),
  kind        text not null check (kind <> ''),
  subject     text not null check (subject <> ''),
  seq         integer not null check (seq >= 0),
  run_id      text not null,
  pipeline    text not null,
  environment text not null,
  body        text not null check (json_valid(body) and length(cast(body as blob)) <= 20480),
  at_us       integer not null check (at_us > 0),
  position    integer not null check (position >= 0),
  primary key (about)
) strict, without rowid;
create index outbox_in_order on outbox (position, about);
create unique index outbox_position on outbox (position) where position > 0;

create trigger outbox_once before insert on outbox when exists (select 1 from outbox t where t.about = new.about)
begin select raise(abort, 'outbox: append-only: it is there already'); end;
create trigger outbox_birth before insert on outbox when new.position <> 0
begin select raise(abort, 'outbox: append-only: an event gets its position later'); end;
create trigger outbox_keep before update of about, event, kind, subject, seq, run_id, pipeline, environment, body, at_us on outbox
begin select raise(abort, 'outbox: append-only: only its position is set, once'); end;
create trigger outbox_change before update of position on outbox
when old.position <> 0 or new.position not between 1 and (select h.size from outbox_head h) or exists (select 1 from outbox t where t.position = new.position)
begin select raise(abort, 'outbox: append-only: only its position is set, once'); end;
create trigger outbox_stay before delete on outbox when old.position = 0 or old.position > (select h.dropped from outbox_head h)
begin select raise(abort, 'outbox: append-only: events are dropped by the head, in order'); end;

-- One row: the last position that was given, and up to which position events were dropped because they were old.
create table outbox_head (
  id      integer not null check (id = 0),
  size    integer not null check (size >= 0),
  dropped integer not null check (dropped between 0 and size),
  primary key (id)
) strict, without rowid;

insert into outbox_head values (0, 0, 0);

create trigger outbox_head_stay before delete on outbox_head begin select raise(abort, 'outbox_head: append-only'); end;
create trigger outbox_head_once before insert on outbox_head begin select raise(abort, 'outbox_head: append-only: it is there already'); end;
create trigger outbox_head_keep before update of id on outbox_head begin select raise(abort, 'outbox_head: append-only'); end;
create trigger outbox_head_change before update on outbox_head when new.size < old.size or new.dropped < old.dropped
begin select raise(abort, 'outbox_head: append-only: positions are given and events dropped in order'); end;
create trigger outbox_head_drop after update on outbox_head when new.dropped > old.dropped begin
  delete from delivery_attempts where position <= new.dropped;
  delete from deliveries where position <= new.dropped;
  delete from outbox where position between 1 and new.dropped;
end;

-- Where events are delivered; the last row of each counts.
create table endpoints (
  endpoint    text not null check (endpoint <> ''),
  seq         integer not null check (seq >= 0),
  action      text not null check (action in ('set', 'enable', 'disable', 'remove')),
  url         text not null check (url <> ''),
  format      text not null check (format in ('standard', 'openlineage')),
  ordering    text not null check (ordering in ('strict', 'any')),
  kinds       text not null check (json_valid(kinds)),
  pipelines   text not null check (json_valid(pipelines)),
  environment text not null,
  secrets     text not null check (json_valid(secrets)),
  disabled    integer not null check (disabled in (0, 1)),
  actor       text not null,
  why         text not null,
  at_us       integer not null check (at_us > 0),
  primary key (endpoint, seq)
) strict, without rowid;

create trigger endpoints_keep before update on endpoints begin select raise(abort, 'endpoints: append-only'); end;
create trigger endpoints_stay before delete on endpoints begin select raise(abort, 'endpoints: append-only'); end;
create trigger endpoints_once before insert on endpoints when exists (select 1 from endpoints t where t.endpoint = new.endpoint and t.seq = new.seq)
begin select raise(abort, 'endpoints: append-only: it is there already'); end;
create trigger endpoints_birth before insert on endpoints
when new.seq = 0 and new.action <> 'set'
  or new.seq > 0 and not exists (select 1 from endpoints e where e.endpoint = new.endpoint and e.seq = new.seq - 1)
begin select raise(abort, 'endpoints: append-only: a row comes after the one before it'); end;

-- How far the deliveries to an endpoint are, and which process delivers.
create table endpoint_states (
  endpoint   text not null,
  cursor     integer not null check (cursor >= 0),
  holder     text not null,
  until_us   integer not null check (until_us >= 0),
  failing_us integer not null check (failing_us >= 0),
  primary key (endpoint)
) strict, without rowid;

create trigger endpoint_states_stay before delete on endpoint_states begin select raise(abort, 'endpoint_states: append-only'); end;
create trigger endpoint_states_once before insert on endpoint_states when exists (select 1 from endpoint_states t where t.endpoint = new.endpoint)
begin select raise(abort, 'endpoint_states: append-only: it is there already'); end;
create trigger endpoint_states_keep before update of endpoint on endpoint_states begin select raise(abort, 'endpoint_states: append-only: only how far it is changes'); end;
create trigger endpoint_states_change before update on endpoint_states when new.cursor < old.cursor
begin select raise(abort, 'endpoint_states: append-only: only how far it is changes'); end;

-- Which endpoint is to get which event.
create table deliveries (
  endpoint text not null,
  position integer not null check (position > 0),
  state    text not null check (state in ('due', 'ok', 'dead')),
  attempts integer not null check (attempts >= 0),
  tries    integer not null check (tries between 0 and attempts),
  next_us  integer not null check (next_us > 0),
  status   integer not null check (status between 0 and 999),
  error    text not null,
  primary key (endpoint, position)
) strict, without rowid;
create index deliveries_by_state on deliveries (endpoint, state, position);

create trigger deliveries_once before insert on deliveries when exists (select 1 from deliveries t where t.endpoint = new.endpoint and t.position = new.position)
begin select raise(abort, 'deliveries: append-only: it is there already'); end;
create trigger deliveries_keep before update of endpoint, position on deliveries begin select raise(abort, 'deliveries: append-only: only what became of it changes'); end;
create trigger deliveries_change before update on deliveries when new.attempts < old.attempts
begin select raise(abort, 'deliveries: append-only: only what became of it changes'); end;
create trigger deliveries_stay before delete on deliveries when old.position > (select h.dropped from outbox_head h)
begin select raise(abort, 'deliveries: append-only: it is dropped with its event'); end;

-- Every attempt at a delivery.
create table delivery_attempts (
  endpoint text not null,
  position integer not null,
  attempt  integer not null check (attempt > 0),
  at_us    integer not null check (at_us > 0),
  ms       integer not null check (ms >= 0),
  status   integer not null check (status between 0 and 999),
  error    text not null,
  answer   text not null,
  primary key (endpoint, position, attempt)
) strict, without rowid;

create trigger delivery_attempts_keep before update on delivery_attempts begin select raise(abort, 'delivery_attempts: append-only'); end;
create trigger delivery_attempts_once before insert on delivery_attempts when exists (select 1 from delivery_attempts t where t.endpoint = new.endpoint and t.position = new.position and t.attempt = new.attempt)
begin select raise(abort, 'delivery_attempts: append-only: it is there already'); end;
create trigger delivery_attempts_birth before insert on delivery_attempts when new.attempt > 1 and not exists (
  select 1 from delivery_attempts t where t.endpoint = new.endpoint and t.position = new.position and t.attempt = new.attempt - 1)
begin select raise(abort, 'delivery_attempts: append-only: an attempt comes after the one before it'); end;
create trigger delivery_attempts_stay before delete on delivery_attempts when old.position > (select h.dropped from outbox_head h)
begin select raise(abort, 'delivery_attempts: append-only: it is dropped with its event'); end;

-- ========== Access to the API ==========

-- Who may use the HTTP API; the last row of each token counts.
create table access_tokens (
  token      text not null check (token <> ''),
  seq        integer not null check (seq >= 0),
  action     text not null check (action in ('grant', 'revoke')),
  name       text not null check (name <> ''),
  sha256     text not null check (length(sha256) = 64),
  roles      text not null check (json_valid(roles)),
  pipelines  text not null check (json_valid(pipelines)),
  expires_us integer not null check (expires_us >= 0),
  actor      text not null,
  why        text not null,
  at_us      integer not null check (at_us > 0),
  primary key (token, seq)
) strict, without rowid;

create trigger access_tokens_keep before update on access_tokens begin select raise(abort, 'access_tokens: append-only'); end;
create trigger access_tokens_stay before delete on access_tokens begin select raise(abort, 'access_tokens: append-only'); end;
create trigger access_tokens_once before insert on access_tokens when exists (select 1 from access_tokens t where t.token = new.token and t.seq = new.seq)
begin select raise(abort, 'access_tokens: append-only: it is there already'); end;
create trigger access_tokens_birth before insert on access_tokens
when (new.seq = 0) <> (new.action = 'grant')
  or new.seq > 0 and not exists (select 1 from access_tokens t where t.token = new.token and t.seq = new.seq - 1 and t.sha256 = new.sha256 and t.action <> 'revoke')
begin select raise(abort, 'access_tokens: append-only: a token is granted, and then revoked'); end;

-- Who was shown values of rows through the HTTP API: recorded before the first byte is sent.
create table disclosures (
  disclosure   text not null check (disclosure <> ''),
  run_id       text not null,
  actor        text not null,
  access_token text not null,
  what         text not null check (what <> ''),
  subject      text not null,
  at_us        integer not null check (at_us > 0),
  primary key (disclosure)
) strict, without rowid;

create trigger disclosures_keep before update on disclosures begin select raise(abort, 'disclosures: append-only'); end;
create trigger disclosures_stay before delete on disclosures begin select raise(abort, 'disclosures: append-only'); end;
create trigger disclosures_once before insert on disclosures when exists (select 1 from disclosures t where t.disclosure = new.disclosure)
begin select raise(abort, 'disclosures: append-only: it is there already'); end;

-- ========== Deployed versions and environments ==========

-- What a deployed version consists of: a document and the files with which it is compiled, all stored as payloads.
create table bundles (
  bundle_sha256   text not null check (length(bundle_sha256) = 64),
  document_sha256 text not null check (length(document_sha256) = 64),
  manifest        text not null check (json_valid(manifest)),
  files           integer not null check (files > 0),
  bytes           integer not null check (bytes >= 0),
  primary key (bundle_sha256)
) strict, without rowid;

create trigger bundles_keep before update on bundles begin select raise(abort, 'bundles: append-only'); end;
create trigger bundles_stay before delete on bundles begin select raise(abort, 'bundles: append-only'); end;
create trigger bundles_once before insert on bundles when exists (select 1 from bundles t where t.bundle_sha256 = new.bundle_sha256)
begin select raise(abort, 'bundles: append-only: it is there already'); end;

-- The versions of a deployed pipeline.
create table pipeline_versions (
  pipeline      text not null check (pipeline <> ''),
  version       integer not null check (version >= 1),
  bundle_sha256 text not null references bundles (bundle_sha256),
  actor         text not null,
  message       text not null,
  code          text not null,
  host          text not null,
  folder        text not null,
  git_commit    text not null,
  git_dirty     integer not null check (git_dirty in (0, 1) and (git_dirty = 0 or git_commit <> '')),
  created_us    integer not null check (created_us > 0),
  primary key (pipeline, version),
  unique (pipeline, bundle_sha256)
) strict, without rowid;

create trigger pipeline_versions_keep before update on pipeline_versions begin select raise(abort, 'pipeline_versions: append-only'); end;
create trigger pipeline_versions_stay before delete on pipeline_versions begin select raise(abort, 'pipeline_versions: append-only'); end;
create trigger pipeline_versions_once before insert on pipeline_versions when exists (
  select 1 from pipeline_versions t where t.pipeline = new.pipeline and (t.version = new.version or t.bundle_sha256 = new.bundle_sha256))
begin select raise(abort, 'pipeline_versions: append-only: it is there already'); end;
create trigger pipeline_versions_birth before insert on pipeline_versions
when not exists (select 1 from bundles b where b.bundle_sha256 = new.bundle_sha256)
  or new.version > 1 and not exists (select 1 from pipeline_versions v where v.pipeline = new.pipeline and v.version = new.version - 1)
begin select raise(abort, 'pipeline_versions: a version has a bundle, and comes after the one before it'); end;

-- Which version of a pipeline is current in an environment; the last row counts.
create table deployments (
  environment   text not null check (environment <> ''),
  pipeline      text not null,
  seq           integer not null check (seq >= 0),
  action        text not null check (action in ('deploy', 'promote', 'rollback', 'retire', 'restore')),
  version       integer not null,
  other_version integer not null check (other_version >= 0),
  actor         text not null,
  why           text not null,
  at_us         integer not null check (at_us > 0),
  primary key (environment, pipeline, seq)
) strict, without rowid;

create trigger deployments_keep before update on deployments begin select raise(abort, 'deployments: append-only'); end;
create trigger deployments_stay before delete on deployments begin select raise(abort, 'deployments: append-only'); end;
create trigger deployments_once before insert on deployments when exists (
  select 1 from deployments t where t.environment = new.environment and t.pipeline = new.pipeline and t.seq = new.seq)
begin select raise(abort, 'deployments: append-only: it is there already'); end;
create trigger deployments_birth before insert on deployments
when not exists (select 1 from pipeline_versions v where v.pipeline = new.pipeline and v.version = new.version)
  or new.seq = 0 and (new.action not in ('deploy', 'promote') or new.other_version <> 0)
  or new.seq > 0 and not exists (
    select 1 from deployments d
    where d.environment = new.environment and d.pipeline = new.pipeline and d.seq = new.seq - 1 and d.version = new.other_version)
begin select raise(abort, 'deployments: it is of a version that is there, and comes after the one before it'); end;

-- The values that an environment has for references in documents; the last row counts.
create table environments (
  environment text not null check (environment <> ''),
  seq         integer not null check (seq >= 1),
  vars        text not null check (json_valid(vars)),
  actor       text not null,
  why         text not null,
  at_us       integer not null check (at_us > 0),
  primary key (environment, seq)
) strict, without rowid;

create trigger environments_keep before update on environments begin select raise(abort, 'environments: append-only'); end;
create trigger environments_stay before delete on environments begin select raise(abort, 'environments: append-only'); end;
create trigger environments_once before insert on environments when exists (
  select 1 from environments t where t.environment = new.environment and t.seq = new.seq)
begin select raise(abort, 'environments: append-only: it is there already'); end;
create trigger environments_birth before insert on environments
when new.seq > 1 and not exists (select 1 from environments e where e.environment = new.environment and e.seq = new.seq - 1)
begin select raise(abort, 'environments: values come after those before them'); end;

-- ========== Schedules ==========

-- The schedules of deployed pipelines; the last row of each counts.
create table schedules (
  schedule    text not null,
  seq         integer not null check (seq >= 0),
  environment text not null check (environment <> ''),
  pipeline    text not null check (pipeline <> ''),
  name        text not null check (name <> ''),
  action      text not null check (action in ('set', 'remove', 'pause', 'resume', 'create', 'delete')),
  spec        text not null check (json_valid(spec)),
  version     integer not null check (version >= 1),
  since_us    integer not null check (since_us > 0),
  paused      integer not null check (paused in (0, 1)),
  until_us    integer check (until_us is null or paused = 1),
  actor       text not null,
  why         text not null,
  at_us       integer not null check (at_us > 0),
  origin      text not null check (origin in ('document', 'command')),
  primary key (schedule, seq),
  check (schedule = environment || '/' || pipeline || '/' || name),
  check (action not in ('create', 'delete') or origin = 'command')
) strict, without rowid;

create trigger schedules_keep before update on schedules begin select raise(abort, 'schedules: append-only'); end;
create trigger schedules_stay before delete on schedules begin select raise(abort, 'schedules: append-only'); end;
create trigger schedules_once before insert on schedules when exists (select 1 from schedules t where t.schedule = new.schedule and t.seq = new.seq)
begin select raise(abort, 'schedules: append-only: it is there already'); end;
create trigger schedules_birth before insert on schedules
when not exists (select 1 from pipeline_versions v where v.pipeline = new.pipeline and v.version = new.version)
  or new.seq = 0 and new.action not in ('set', 'create')
  or new.seq > 0 and not exists (select 1 from schedules s where s.schedule = new.schedule and s.seq = new.seq - 1)
begin select raise(abort, 'schedules: it is of a version that is there, and comes after the one before it'); end;

-- What people asked for: runs for slots, whether or not the schedule fired for them.
create table slot_requests (
  request     text not null check (request <> ''),
  schedule    text not null,
  action      text not null check (action in ('run', 'backfill', 'retry', 'skip', 'make_up')),
  first       text not null check (first <> ''),
  last        text not null check (last <> ''),
  at_once     integer not null check (at_once >= 1),
  version     integer not null check (version >= 0),
  actor       text not null,
  why         text not null,
  accepted_us integer not null check (accepted_us > 0),
  primary key (request)
) strict, without rowid;

create trigger slot_requests_keep before update on slot_requests begin select raise(abort, 'slot_requests: append-only'); end;
create trigger slot_requests_stay before delete on slot_requests begin select raise(abort, 'slot_requests: append-only'); end;
create trigger slot_requests_once before insert on slot_requests when exists (select 1 from slot_requests t where t.request = new.request)
begin select raise(abort, 'slot_requests: append-only: it is there already'); end;
create trigger slot_requests_birth before insert on slot_requests when not exists (select 1 from schedules s where s.schedule = new.schedule)
begin select raise(abort, 'slot_requests: there is no such schedule'); end;

-- The slots of schedules, once each, with their state.
create table slots (
  schedule    text not null,
  slot        text not null check (slot <> ''),
  from_us     integer not null,
  to_us       integer not null check (to_us > from_us),
  due_us      integer not null,
  deadline_us integer check (deadline_us is null or deadline_us >= due_us),
  fired       integer not null check (fired in (0, 1)),
  changes     integer not null check (changes >= 0),
  state       text not null check (state in ('due', 'running', 'done', 'failed', 'skipped', 'missed')),
  run_id      text not null check (run_id <> '' or state not in ('running', 'done', 'failed')),
  attempts    integer not null check (attempts >= 0 and (attempts > 0) = (run_id <> '')),
  seen        integer not null check (seen >= 0),
  reason      text not null check (reason <> '' or state not in ('failed', 'skipped', 'missed')),
  request     text not null,
  ready_us    integer not null,
  late_us     integer check (late_us is null or deadline_us is not null),
  changed_us  integer not null check (changed_us > 0),
  primary key (schedule, slot)
) strict, without rowid;
create index slots_due on slots (schedule, due_us, slot);
create index slots_by_state on slots (state, schedule, due_us, slot);
create index slots_of_run on slots (run_id, schedule, slot);

create trigger slots_stay before delete on slots begin select raise(abort, 'slots: append-only'); end;
create trigger slots_once before insert on slots when exists (select 1 from slots t where t.schedule = new.schedule and t.slot = new.slot)
begin select raise(abort, 'slots: append-only: it is there already'); end;
create trigger slots_keep before update of schedule, slot, from_us, to_us, due_us, deadline_us, fired on slots
begin select raise(abort, 'slots: only what became of a slot changes'); end;
create trigger slots_change before update on slots
when new.changes <> old.changes + 1 or new.attempts < old.attempts or new.state in ('done', 'failed') and old.state not in ('running', 'failed', 'done')
  or new.state = 'running' and old.state not in ('due', 'running', 'failed')
  or old.state = 'done' and new.state <> 'done' and (new.state <> 'due' or new.request in ('', old.request))
begin select raise(abort, 'slots: illegal change of state'); end;
create trigger slots_birth before insert on slots
when new.changes <> 0 or new.state not in ('due', 'skipped', 'missed') or new.run_id <> ''
  or not exists (select 1 from schedules s where s.schedule = new.schedule)
begin select raise(abort, 'slots: a slot of a schedule is due, skipped or missed at first'); end;

-- Every change of every slot.
create table slot_events (
  schedule text not null,
  slot     text not null,
  seq      integer not null check (seq >= 0),
  event    text not null check (event in (state, 'late', 'recovered')),
  state    text not null,
  run_id   text not null,
  attempt  integer not null,
  reason   text not null,
  request  text not null,
  at_us    integer not null check (at_us > 0),
  primary key (schedule, slot, seq)
) strict, without rowid;

create trigger slot_events_keep before update on slot_events begin select raise(abort, 'slot_events: append-only'); end;
create trigger slot_events_stay before delete on slot_events begin select raise(abort, 'slot_events: append-only'); end;
create trigger slot_events_once before insert on slot_events
when exists (select 1 from slot_events t where t.schedule = new.schedule and t.slot = new.slot and t.seq = new.seq)
begin select raise(abort, 'slot_events: append-only: it is there already'); end;
create trigger slot_events_birth before insert on slot_events
when new.seq > 0 and not exists (select 1 from slot_events e where e.schedule = new.schedule and e.slot = new.slot and e.seq = new.seq - 1)
begin select raise(abort, 'slot_events: an event comes after the one before it'); end;

-- ========== Triggers ==========

-- What the triggers of deployed pipelines are; the last row of each counts.
create table triggers (
  trigger     text not null,
  seq         integer not null check (seq >= 0),
  environment text not null check (environment <> ''),
  pipeline    text not null check (pipeline <> ''),
  name        text not null check (name <> ''),
  action      text not null check (action in ('set', 'remove', 'pause', 'resume')),
  spec        text not null check (json_valid(spec)),
  version     integer not null check (version >= 1),
  paused      integer not null check (paused in (0, 1)),
  actor       text not null,
  why         text not null,
  at_us       integer not null check (at_us > 0),
  primary key (trigger, seq),
  check (trigger = environment || '/' || pipeline || '/' || name)
) strict, without rowid;

create trigger triggers_keep before update on triggers begin select raise(abort, 'triggers: append-only'); end;
create trigger triggers_stay before delete on triggers begin select raise(abort, 'triggers: append-only'); end;
create trigger triggers_once before insert on triggers when exists (select 1 from triggers t where t.trigger = new.trigger and t.seq = new.seq)
begin select raise(abort, 'triggers: append-only: it is there already'); end;
create trigger triggers_birth before insert on triggers
when not exists (select 1 from pipeline_versions v where v.pipeline = new.pipeline and v.version = new.version)
  or new.seq = 0 and new.action <> 'set'
  or new.seq > 0 and not exists (select 1 from triggers t where t.trigger = new.trigger and t.seq = new.seq - 1)
begin select raise(abort, 'triggers: it is of a version that is there, and comes after the one before it'); end;

-- How far each trigger has been looked after.
create table watches (
  trigger    text not null,
  turn       integer not null check (turn >= 0),
  looked_us  integer not null check (looked_us >= 0),
  unready    integer not null check (unready >= 0),
  error      text not null,
  changed_us integer not null check (changed_us >= 0),
  position   integer not null check (position >= 0),
  primary key (trigger)
) strict, without rowid;

create trigger watches_stay before delete on watches begin select raise(abort, 'watches: append-only'); end;
create trigger watches_once before insert on watches when exists (select 1 from watches t where t.trigger = new.trigger)
begin select raise(abort, 'watches: append-only: it is there already'); end;
create trigger watches_birth before insert on watches
when new.turn <> 0 or new.looked_us <> 0 or new.position <> 0 or new.trigger <> '' and not exists (select 1 from triggers t where t.trigger = new.trigger)
begin select raise(abort, 'watches: not the beginning of the watch of a trigger'); end;
create trigger watches_change before update on watches
when new.trigger <> old.trigger or new.turn <> old.turn + 1 or new.position < old.position
begin select raise(abort, 'watches: illegal change: a turn comes after the one before it, and no position before it'); end;

-- What arrived at triggers, each revision once: files, outputs of other pipelines, deliveries, and rows of tables. Only
-- what became of it changes.
create table arrivals (
  trigger    text not null,
  item       text not null check (item <> ''),
  revision   integer not null check (revision >= 0),
  place      text not null check (json_valid(place)),
  arrived_us integer not null check (arrived_us > 0),
  changes    integer not null check (changes >= 0),
  state      text not null check (state in ('ready', 'taken', 'done', 'ignored', 'gone')),
  run_id     text not null check ((run_id <> '') = (state in ('taken', 'done'))),
  reason     text not null check (reason <> '' or state not in ('ignored', 'gone')),
  changed_us integer not null check (changed_us > 0),
  payload    text not null check (payload = '' or length(payload) = 64 and payload not glob '*[^0-9a-f]*'),
  primary key (trigger, item, revision)
) strict, without rowid;
create index arrivals_by_state on arrivals (state, trigger, arrived_us, item, revision);
create index arrivals_by_payload on arrivals (payload) where payload <> '';
create index arrivals_by_time on arrivals (trigger, arrived_us, item, revision);

create trigger arrivals_stay before delete on arrivals begin select raise(abort, 'arrivals: append-only'); end;
create trigger arrivals_once before insert on arrivals
when exists (select 1 from arrivals t where t.trigger = new.trigger and t.item = new.item and t.revision = new.revision)
begin select raise(abort, 'arrivals: append-only: it is there already'); end;
create trigger arrivals_birth before insert on arrivals
when new.changes <> 0 or new.state not in ('ready', 'ignored') or not exists (select 1 from triggers t where t.trigger = new.trigger)
  or new.revision > 0 and not exists (select 1 from arrivals a where a.trigger = new.trigger and a.item = new.item and a.revision = new.revision - 1)
begin select raise(abort, 'arrivals: append-only: an arrival at a trigger is ready or ignored at first, and comes after the revision before it'); end;
create trigger arrivals_purged before insert on arrivals
when new.payload <> '' and exists (select 1 from deletions d where d.payload = new.payload and not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number))
begin select raise(abort, 'payload purged: store it again'); end;
create trigger arrivals_change before update on arrivals
when new.changes <> old.changes + 1
  or not (old.state = 'ready' and new.state in ('taken', 'gone', 'ignored') or old.state = 'taken' and new.state in ('done', 'ready', 'gone'))
  or new.state = 'taken' and not exists (
    select 1 from arrival_runs l where l.run_id = new.run_id and l.trigger = new.trigger and l.item = new.item and l.revision = new.revision)
  or new.state = 'done' and new.run_id <> old.run_id
  or new.state = 'done' and not exists (
    select 1 from runs r where r.run_id = old.run_id and r.status in ('completed', 'completed_with_failures', 'empty'))
  or old.state = 'taken' and new.state <> 'done' and exists (select 1 from runs r where r.run_id = old.run_id and r.final = 0)
  or new.state = 'ignored' and not exists (
    select 1 from arrival_orders o where o.trigger = new.trigger and o.item = new.item and o.revision = new.revision and o.action = 'ignore')
begin select raise(abort, 'arrivals: illegal change of state'); end;
create trigger arrivals_keep before update of trigger, item, revision, place, arrived_us, payload on arrivals
begin select raise(abort, 'arrivals: only what became of an arrival changes'); end;

-- What people decided about arrivals: that one gets no run, or arrives again.
create table arrival_orders (
  trigger  text not null,
  item     text not null,
  revision integer not null,
  action   text not null check (action in ('ignore', 'again')),
  actor    text not null,
  why      text not null,
  at_us    integer not null check (at_us > 0),
  primary key (trigger, item, revision, action)
) strict, without rowid;

create trigger arrival_orders_keep before update on arrival_orders begin select raise(abort, 'arrival_orders: append-only'); end;
create trigger arrival_orders_stay before delete on arrival_orders begin select raise(abort, 'arrival_orders: append-only'); end;
create trigger arrival_orders_once before insert on arrival_orders
when exists (select 1 from arrival_orders t where t.trigger = new.trigger and t.item = new.item and t.revision = new.revision and t.action = new.action)
begin select raise(abort, 'arrival_orders: append-only: it is there already'); end;
create trigger arrival_orders_birth before insert on arrival_orders
when not exists (
  select 1 from arrivals a
  where a.trigger = new.trigger and a.item = new.item and a.revision = new.revision and a.state = 'ready'
    and (new.action = 'ignore' or a.revision > 0 and a.changes = 0))
begin select raise(abort, 'arrival_orders: append-only: not an arrival that waits'); end;

-- Which arrivals are on the list of which run, also if they were returned later.
create table arrival_runs (
  run_id   text not null check (run_id <> ''),
  place    integer not null check (place >= 0),
  trigger  text not null,
  item     text not null,
  revision integer not null,
  at_us    integer not null check (at_us > 0),
  primary key (run_id, place),
  unique (trigger, item, revision, run_id)
) strict, without rowid;
create index arrival_runs_by_item on arrival_runs (item, run_id, place);

create trigger arrival_runs_keep before update on arrival_runs begin select raise(abort, 'arrival_runs: append-only'); end;
create trigger arrival_runs_stay before delete on arrival_runs begin select raise(abort, 'arrival_runs: append-only'); end;
create trigger arrival_runs_once before insert on arrival_runs
when exists (select 1 from arrival_runs t where t.run_id = new.run_id and t.place = new.place)
  or exists (select 1 from arrival_runs t where t.trigger = new.trigger and t.item = new.item and t.revision = new.revision and t.run_id = new.run_id)
begin select raise(abort, 'arrival_runs: append-only: it is there already'); end;
create trigger arrival_runs_birth before insert on arrival_runs
when not exists (select 1 from starts s where s.run_id = new.run_id) or exists (select 1 from runs r where r.run_id = new.run_id)
  or not exists (
    select 1 from arrivals a where a.trigger = new.trigger and a.item = new.item and a.revision = new.revision and a.state = 'ready')
begin select raise(abort, 'arrival_runs: append-only: not an arrival that waits, or a run that somebody asked for and that has not begun'); end;

-- ========== The schema, and what its views count with ==========

-- Which migrations made the schema, and the SHA-256 of each: of its text without lines of comments. What a program
-- makes would have the same. The id of the first is that of the landscape.
create table schema_versions (
  version integer not null check (version > 0),
  sha256  text not null check (length(sha256) = 64 and sha256 not glob '*[^0-9a-f]*'),
  id      text not null default (lower(hex(randomblob(8)))) check (length(id) = 16),
  primary key (version)
) strict, without rowid;

create trigger schema_versions_keep before update on schema_versions begin select raise(abort, 'schema_versions: append-only'); end;
create trigger schema_versions_stay before delete on schema_versions begin select raise(abort, 'schema_versions: append-only'); end;
create trigger schema_versions_once before insert on schema_versions when exists (select 1 from schema_versions t where t.version = new.version)
begin select raise(abort, 'schema_versions: append-only: it is there already'); end;

-- The table of the tool that migrates: it only grows, too.
create trigger goose_db_version_keep before update on goose_db_version begin select raise(abort, 'goose_db_version: append-only'); end;
create trigger goose_db_version_stay before delete on goose_db_version begin select raise(abort, 'goose_db_version: append-only'); end;
create trigger goose_db_version_once before insert on goose_db_version when exists (select 1 from goose_db_version t where t.id = new.id)
begin select raise(abort, 'goose_db_version: append-only: it is there already'); end;

-- What the views count with: 0 to 1023.
create table numbers (n integer primary key) strict;

insert into numbers
with recursive counted (n) as (select 0 union all select n + 1 from counted where n < 1023)
select n from counted;

create trigger numbers_fixed before insert on numbers begin select raise(abort, 'numbers: never changes'); end;
create trigger numbers_keep before update on numbers begin select raise(abort, 'numbers: never changes'); end;
create trigger numbers_stay before delete on numbers begin select raise(abort, 'numbers: never changes'); end;

-- What the views read big-endian numbers with: the value of each byte.
create table bytes (byte blob primary key, n integer not null) strict, without rowid;

insert into bytes select unhex(printf('%02x', n)), n from numbers where n < 256;

create trigger bytes_fixed before insert on bytes begin select raise(abort, 'bytes: never changes'); end;
create trigger bytes_keep before update on bytes begin select raise(abort, 'bytes: never changes'); end;
create trigger bytes_stay before delete on bytes begin select raise(abort, 'bytes: never changes'); end;

-- ========== Views ==========

-- SQLite gives << and | the same precedence, from the left: every << stands in parentheses. A cross join keeps the order of
-- its tables.

-- One row per token: a row at a place in the graph. The way is null until the chunk went through the steps. A token
-- that a barrier took in is complete when its batch fired. Errors of a sink are looked for where its target refused
-- rows, and nowhere else.
create view tokens as
select c.run_id, c.source, c.first_row + hi.n * 1024 + lo.n as row,
  c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || iif(l.name = '', '', '/' || l.name) as token_id,
  c.chunk, hi.n * 1024 + lo.n as pack_index, w.way, k.sink as bound_for,
  case
    when w.way is null then 0
    when k.path = 'buffered' then b.batch is not null
    when k.sink in ('', '__quarantine__', '__discard__') then 1
    else e.state is 'finalized'
  end as completed,
  l.lane, l.name as lane_name,
  iif(l.branch = '', null, c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || iif(f.name = '', '', '/' || f.name)) as fork_group_id,
  iif(k.path = 'buffered', k.last_node, null) as barrier,
  ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 1, 1)) << 24)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 2, 1)) << 16)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 3, 1)) << 8)
    | (select n from bytes where byte = substr(m.batches, 4 * lo.n + 4, 1)) as batch,
  m.node || ':' || (
    ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 1, 1)) << 24)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 2, 1)) << 16)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 3, 1)) << 8)
    | (select n from bytes where byte = substr(m.batches, 4 * lo.n + 4, 1))) as batch_id,
  z.node as refused_by
from chunks c
cross join lanes l on l.run_id = c.run_id and l.source = c.source
left join lanes f on f.run_id = l.run_id and f.lane = l.parent
left join passages p on p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk and p.lane = l.lane
cross join numbers hi
cross join numbers lo
left join chunk_ways w on w.run_id = p.run_id and w.source = p.source and w.chunk = p.chunk and w.lane = p.lane and w.code =
  case p.code_bytes
    when 1 then (select n from bytes where byte = substr(p.way_codes, hi.n * 1024 + lo.n + 1, 1))
    else ((select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
  end
left join ways k on k.run_id = w.run_id and k.way = w.way
left join effects e on e.run_id = c.run_id and e.sink = k.sink and e.source = c.source and e.chunk = c.chunk
left join errors z on z.run_id = iif(e.refused > 0, e.run_id, null) and z.source = c.source and z.row = c.first_row + hi.n * 1024 + lo.n
  and z.lane = l.lane and z.node = e.sink
left join members m on m.run_id = c.run_id and m.node = iif(k.path = 'buffered', k.last_node, null)
  and m.source = c.source and m.chunk = c.chunk and m.lane = l.lane and m.slice = hi.n
left join batches b on b.run_id = m.run_id and b.node = m.node and b.batch =
  ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 1, 1)) << 24)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 2, 1)) << 16)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 3, 1)) << 8)
    | (select n from bytes where byte = substr(m.batches, 4 * lo.n + 4, 1))
where (l.name = '' or p.chunk is not null) and hi.n < (c.rows + 1023) / 1024 and lo.n < c.rows - hi.n * 1024
  and (l.name = '' or w.way is not null);

-- One row per record of a source.
create view rows as
select t.run_id, t.source, t.row, t.token_id, t.chunk, c.file,
  c.first_line + iif(r.lines is null, t.pack_index,
      ((select n from bytes where byte = substr(r.lines, 4 * (t.pack_index % 1024) + 1, 1)) << 24)
      | ((select n from bytes where byte = substr(r.lines, 4 * (t.pack_index % 1024) + 2, 1)) << 16)
      | ((select n from bytes where byte = substr(r.lines, 4 * (t.pack_index % 1024) + 3, 1)) << 8)
      | (select n from bytes where byte = substr(r.lines, 4 * (t.pack_index % 1024) + 4, 1))) as line,
  c.first_offset + (
      ((select n from bytes where byte = substr(r.offsets, 4 * (t.pack_index % 1024) + 1, 1)) << 24)
      | ((select n from bytes where byte = substr(r.offsets, 4 * (t.pack_index % 1024) + 2, 1)) << 16)
      | ((select n from bytes where byte = substr(r.offsets, 4 * (t.pack_index % 1024) + 3, 1)) << 8)
      | (select n from bytes where byte = substr(r.offsets, 4 * (t.pack_index % 1024) + 4, 1))) as byte_offset,
  ((select n from bytes where byte = substr(r.lengths, 4 * (t.pack_index % 1024) + 1, 1)) << 24)
      | ((select n from bytes where byte = substr(r.lengths, 4 * (t.pack_index % 1024) + 2, 1)) << 16)
      | ((select n from bytes where byte = substr(r.lengths, 4 * (t.pack_index % 1024) + 3, 1)) << 8)
      | (select n from bytes where byte = substr(r.lengths, 4 * (t.pack_index % 1024) + 4, 1)) as byte_length,
  lower(hex(substr(r.raw_hashes, 32 * (t.pack_index % 1024) + 1, 32))) as raw_hash,
  c.pack, t.pack_index, t.completed,
  case
    when not t.completed then null
    when t.refused_by is not null then 'failure'
    else coalesce(nullif(k.outcome, ''), iif(b.path = 'coalesced', 'success', 'transient'))
  end as outcome,
  case when not t.completed then null when t.refused_by is not null then 'on_error_routed' else coalesce(b.path, k.path) end as path,
  iif(t.refused_by is null, nullif(k.sink, ''), '__quarantine__') as sink
from tokens t
cross join nodes n on n.run_id = t.run_id and n.node = t.source and n.kind = 'source'
cross join chunks c on c.run_id = t.run_id and c.source = t.source and c.chunk = t.chunk
cross join chunk_rows r on r.run_id = t.run_id and r.source = t.source and r.chunk = t.chunk and r.slice = t.pack_index / 1024
left join ways k on k.run_id = t.run_id and k.way = t.way
left join batches b on b.run_id = t.run_id and b.node = t.barrier and b.batch = t.batch
where t.lane_name = '';

-- Which lanes' tokens a coalesce takes in their own passage, as which branch, and the lane of what it makes of them. Of
-- two forks that the same coalesce joins, the inner one counts.
create view lane_joins as
select g.run_id, g.source, g.lane, b.branch, m.node, m.lane as merged_lane, m.parent as fork_lane
from lanes m
cross join lanes b on b.run_id = m.run_id and b.source = m.source and b.parent = m.parent and b.node = m.fork
cross join lanes g on g.run_id = m.run_id and g.source = m.source
  and (g.lane = b.lane or substr(g.name, 1, length(b.name) + 1) = b.name || '/')
where m.branch = '' and m.fork <> '' and not exists (
  select 1 from lanes n
  join lanes i on i.run_id = n.run_id and i.source = n.source and i.parent = n.parent and i.node = n.fork
  where n.run_id = m.run_id and n.source = m.source and n.node = m.node and n.branch = ''
    and substr(i.name, 1, length(b.name) + 1) = b.name || '/'
    and (g.lane = i.lane or substr(g.name, 1, length(i.name) + 1) = i.name || '/'));

-- One row per token: how it ended. Open tokens have no outcome yet. Each path has the group that it names, and no
-- other.
create view token_outcomes as
select t.run_id, t.token_id, t.source, t.row, t.chunk, t.completed,
  case
    when not t.completed then null
    when t.refused_by is not null then 'failure'
    when t.barrier is null then k.outcome
    when b.path = 'coalesced' then 'success'
    else 'transient'
  end as outcome,
  case
    when t.refused_by is not null then 'on_error_routed'
    when t.barrier is not null then coalesce(b.path, 'buffered')
    when t.completed then k.path
  end as path,
  iif(t.refused_by is null, nullif(k.sink, ''), '__quarantine__') as sink, coalesce(t.refused_by, k.last_node) as last_node, x.error_hash, t.lane,
  iif(k.path = 'fork_parent', t.token_id, null) as fork_group_id,
  case
    when b.path = 'coalesced' then (
      select g.node || ':' || g.out_row from merges g where g.run_id = b.run_id and g.node = b.node and g.batch = b.batch)
    when k.path = 'coalesced' then (
      select t.source || ':' || t.row || '/' || m.name
      from lane_joins g
      join lanes m on m.run_id = g.run_id and m.lane = g.merged_lane
      where g.run_id = t.run_id and g.source = t.source and g.lane = t.lane and g.node = k.last_node)
  end as join_group_id,
  iif(b.path = 'expand_parent', t.token_id, null) as expand_group_id,
  iif(coalesce(b.path, 'batch_consumed') = 'batch_consumed', t.batch_id, null) as batch_id
from tokens t
left join ways k on k.run_id = t.run_id and k.way = t.way
left join batches b on b.run_id = t.run_id and b.node = t.barrier and b.batch = t.batch
left join errors x on x.run_id = t.run_id and x.source = t.source and x.row = t.row and x.lane = t.lane and x.node = coalesce(t.refused_by, k.last_node);

-- One row per token and node that it came to, in the order of seq; what a branch's token did before the fork is its
-- parent's. A sink's state is open until its target confirmed, a barrier's is held until the token's batch fired.
create view node_states as
select t.run_id, t.token_id, t.source, t.row, t.chunk, s.seq, s.node, n.kind, s.label,
  case
    when s.node = t.refused_by or k.outcome = 'failure' and s.node = k.last_node then 'failed'
    when n.kind = 'sink' then iif(t.completed, 'completed', 'open')
    when s.node = t.barrier and not t.completed then 'held'
    else 'completed'
  end as status,
  iif(s.seq = 0, iif(n.kind = 'source', (
    select lower(hex(substr(r.raw_hashes, 32 * (t.pack_index % 1024) + 1, 32)))
    from chunk_rows r where r.run_id = t.run_id and r.source = t.source and r.chunk = t.chunk and r.slice = t.pack_index / 1024
  ), null), (
    select iif(o.hashes = 'record', (
      select lower(hex(substr(r.raw_hashes, 32 * (t.pack_index % 1024) + 1, 32)))
      from chunk_rows r where r.run_id = t.run_id and r.source = t.source and r.chunk = t.chunk and r.slice = t.pack_index / 1024
    ), (
      select lower(hex(substr(h.hashes, 1 + 32 * iif(h.slots is null, t.pack_index % 1024, -1 + nullif(
        ((select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 1, 1)) << 8)
        | (select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 2, 1)), 0)), 32)))
      from hashes h
      where h.run_id = t.run_id and h.source = t.source and h.chunk = t.chunk and h.lane = b.lane and h.node = b.node and h.slice = t.pack_index / 1024
    ))
    from way_steps b
    join nodes o on o.run_id = b.run_id and o.node = b.node and o.hashes <> 'input'
    where b.run_id = t.run_id and b.way = t.way and b.seq < s.seq and not (k.outcome = 'failure' and b.node = k.last_node)
    order by b.seq desc limit 1)) as input_hash,
  iif(n.kind = 'sink' or s.node = k.last_node and (k.outcome = 'failure' or k.path in ('buffered', 'coalesced', 'branch_not_needed')), null, (
    select iif(o.hashes = 'record', (
      select lower(hex(substr(r.raw_hashes, 32 * (t.pack_index % 1024) + 1, 32)))
      from chunk_rows r where r.run_id = t.run_id and r.source = t.source and r.chunk = t.chunk and r.slice = t.pack_index / 1024
    ), (
      select lower(hex(substr(h.hashes, 1 + 32 * iif(h.slots is null, t.pack_index % 1024, -1 + nullif(
        ((select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 1, 1)) << 8)
        | (select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 2, 1)), 0)), 32)))
      from hashes h
      where h.run_id = t.run_id and h.source = t.source and h.chunk = t.chunk and h.lane = b.lane and h.node = b.node and h.slice = t.pack_index / 1024
    ))
    from way_steps b
    join nodes o on o.run_id = b.run_id and o.node = b.node and o.hashes <> 'input'
    where b.run_id = t.run_id and b.way = t.way and b.seq <= s.seq and not (k.outcome = 'failure' and b.node = k.last_node)
    order by b.seq desc limit 1)) as output_hash,
  t.lane
from tokens t
cross join ways k on k.run_id = t.run_id and k.way = t.way
cross join way_steps s on s.run_id = t.run_id and s.way = t.way and s.seq >= k.first_seq
cross join nodes n on n.run_id = s.run_id and n.node = s.node;

-- One row per edge that a token took, and for a fork's parent one per branch. A token that ended at a node took none
-- there.
create view routing_events as
select t.run_id, t.token_id, t.source, t.row, s.seq, s.node, coalesce(e.label, s.label) as label,
  coalesce(e.to_node, b.node, iif(k.sink = '__quarantine__' or s.node = t.refused_by, 'quarantine', 'discard')) as to_node,
  case
    when e.label is not null then 'branch'
    when s.node = t.refused_by or k.outcome = 'failure' and s.node = k.last_node then 'error'
    when n.operation = 'gate' then 'route'
    else 'flow'
  end as kind,
  t.lane
from tokens t
cross join ways k on k.run_id = t.run_id and k.way = t.way
cross join way_steps s on s.run_id = t.run_id and s.way = t.way and s.seq >= k.first_seq
cross join nodes n on n.run_id = s.run_id and n.node = s.node
left join way_steps b on b.run_id = s.run_id and b.way = s.way and b.seq = s.seq + 1
left join edges e on e.run_id = s.run_id and e.from_node = iif(k.path = 'fork_parent' and s.node = k.last_node, s.node, null) and e.kind = 'route'
where b.node is not null or e.label is not null or s.node = t.refused_by
  or s.node = k.last_node and k.path not in ('filter_dropped', 'fork_parent', 'buffered', 'coalesced', 'branch_not_needed');

-- One row per token of a batch, in the order in which they came to the barrier. The batch may not have fired yet.
create view batch_members as
select run_id, node, batch, row_number() over (partition by run_id, node, batch order by fold, row, lane) - 1 as ordinal,
  token_id, source, row, lane, chunk, fold
from (
  select m.run_id, m.node, m.source, c.first_row + m.slice * 1024 + i.n as row, m.lane, m.chunk, m.fold,
    m.source || ':' || (c.first_row + m.slice * 1024 + i.n) || iif(l.name = '', '', '/' || l.name) as token_id,
    ((select n from bytes where byte = substr(m.batches, 4 * i.n + 1, 1)) << 24)
      | ((select n from bytes where byte = substr(m.batches, 4 * i.n + 2, 1)) << 16)
      | ((select n from bytes where byte = substr(m.batches, 4 * i.n + 3, 1)) << 8)
      | (select n from bytes where byte = substr(m.batches, 4 * i.n + 4, 1)) as batch
  from members m
  cross join chunks c on c.run_id = m.run_id and c.source = m.source and c.chunk = m.chunk
  cross join lanes l on l.run_id = m.run_id and l.lane = m.lane
  cross join numbers i on i.n < length(m.batches) / 4
)
where batch > 0;

-- One row per row that came out of a barrier: its batch, and the one token that it continues or was expanded from.
create view batch_rows as
select p.run_id, p.source as node, c.first_row + p.slice * 1024 + i.n as row,
  p.source || ':' || (c.first_row + p.slice * 1024 + i.n) as token_id,
  ((select n from bytes where byte = substr(p.batches, 4 * i.n + 1, 1)) << 24)
    | ((select n from bytes where byte = substr(p.batches, 4 * i.n + 2, 1)) << 16)
    | ((select n from bytes where byte = substr(p.batches, 4 * i.n + 3, 1)) << 8)
    | (select n from bytes where byte = substr(p.batches, 4 * i.n + 4, 1)) as batch,
  l.source || ':' || (
    ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 3, 1)) << 40)
    | ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 4, 1)) << 32)
    | ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 5, 1)) << 24)
    | ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 6, 1)) << 16)
    | ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 7, 1)) << 8)
    | (select n from bytes where byte = substr(p.tokens, 8 * i.n + 8, 1))) || iif(l.name = '', '', '/' || l.name) as parent_token_id,
  p.chunk, c.fold
from parents p
cross join chunks c on c.run_id = p.run_id and c.source = p.source and c.chunk = p.chunk
cross join numbers i on i.n < p.rows
left join lanes l on l.run_id = p.run_id and l.lane =
  ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 1, 1)) << 8)
    | (select n from bytes where byte = substr(p.tokens, 8 * i.n + 2, 1));

-- One row per token and token that it came from: the parent of a branch, the branches of a merged row, the row that was
-- expanded, the rows of a batch, or the one row that goes on.
create view token_parents as
select t.run_id, t.token_id, 0 as ordinal, t.fork_group_id as parent_token_id, 'fork' as relation, t.source, t.row, t.lane
from tokens t
where t.fork_group_id is not null
union all
select c.run_id, c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || '/' || l.name, a.key,
  c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || '/' || g.name, 'coalesce', c.source, c.first_row + hi.n * 1024 + lo.n, j.lane
from merge_codes j
cross join chunks c on c.run_id = j.run_id and c.source = j.source and c.chunk = j.chunk
cross join lanes l on l.run_id = j.run_id and l.lane = j.lane
cross join numbers hi
cross join numbers lo
cross join chunk_merges w on w.run_id = j.run_id and w.source = j.source and w.chunk = j.chunk and w.lane = j.lane and w.code =
  case j.code_bytes
    when 1 then (select n from bytes where byte = substr(j.codes, hi.n * 1024 + lo.n + 1, 1))
    else ((select n from bytes where byte = substr(j.codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(j.codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
  end
cross join merge_kinds k on k.run_id = w.run_id and k.kind = w.kind
cross join json_each(k.arrived) a
cross join lane_joins n on n.run_id = c.run_id and n.source = c.source and n.merged_lane = j.lane and n.branch = a.value
cross join lanes g on g.run_id = n.run_id and g.lane = n.lane
cross join passages p on p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk and p.lane = n.lane
cross join chunk_ways v on v.run_id = p.run_id and v.source = p.source and v.chunk = p.chunk and v.lane = p.lane and v.code =
  case p.code_bytes
    when 1 then (select n from bytes where byte = substr(p.way_codes, hi.n * 1024 + lo.n + 1, 1))
    else ((select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
  end
cross join ways y on y.run_id = v.run_id and y.way = v.way and y.path = 'coalesced' and y.last_node = k.node
where hi.n < (c.rows + 1023) / 1024 and lo.n < c.rows - hi.n * 1024
union all
select g.run_id, g.node || ':' || g.out_row, a.key, json_extract(a.value, '$.token'), 'coalesce', g.node, g.out_row, l.lane
from merges g
cross join lanes l on l.run_id = g.run_id and l.source = g.node and l.name = ''
cross join json_each(g.arrivals) a
union all
select r.run_id, r.token_id, 0, r.parent_token_id, iif(n.operation = 'expand', 'expand', 'continue'), r.node, r.row, l.lane
from batch_rows r
cross join lanes l on l.run_id = r.run_id and l.source = r.node and l.name = ''
cross join nodes n on n.run_id = r.run_id and n.node = r.node
where r.parent_token_id is not null
union all
select r.run_id, r.token_id, m.ordinal, m.token_id, 'batch', r.node, r.row, l.lane
from batch_rows r
cross join lanes l on l.run_id = r.run_id and l.source = r.node and l.name = ''
cross join nodes n on n.run_id = r.run_id and n.node = r.node and n.operation <> 'coalesce'
cross join batch_members m on m.run_id = r.run_id and m.node = r.node and m.batch = r.batch
where r.parent_token_id is null;

-- One row per fork parent and coalesce that decided about its branches: why, and what it made of them.
create view coalesce_events as
select c.run_id, k.node, c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || iif(f.name = '', '', '/' || f.name) as fork_group_id,
  iif(k.result = 'nothing', null, c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || '/' || l.name) as merged_token_id,
  k.policy, k.merge as merge_strategy, k.quorum, k.timeout_ms, k.expected as branches_expected, k.arrived as branches_arrived,
  k.lost as branches_lost, k.not_needed as branches_not_needed,
  (
    select json_group_array(json(arrival)) from (
      select json_object('branch', a.value, 'token_id', c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || '/' || (
        select g.name
        from lane_joins n
        cross join lanes g on g.run_id = n.run_id and g.lane = n.lane
        cross join passages p on p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk and p.lane = n.lane
        cross join chunk_ways v on v.run_id = p.run_id and v.source = p.source and v.chunk = p.chunk and v.lane = p.lane and v.code =
          case p.code_bytes
            when 1 then (select n from bytes where byte = substr(p.way_codes, hi.n * 1024 + lo.n + 1, 1))
            else ((select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
              | (select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
          end
        cross join ways y on y.run_id = v.run_id and y.way = v.way and y.path = 'coalesced' and y.last_node = k.node
        where n.run_id = c.run_id and n.source = c.source and n.merged_lane = j.lane and n.branch = a.value
      ), 'offset_ms', 0) as arrival
      from json_each(k.arrived) a
      order by a.key)
  ) as arrival_order,
  0 as wait_ms, k.fired_by, k.collisions, k.origins as field_origins, k.result, k.code,
  iif(k.result <> 'merged', null, (
    select lower(hex(substr(h.hashes, 1 + 32 * iif(h.slots is null, lo.n, -1 + nullif(
      ((select n from bytes where byte = substr(h.slots, 2 * lo.n + 1, 1)) << 8)
      | (select n from bytes where byte = substr(h.slots, 2 * lo.n + 2, 1)), 0)), 32)))
    from hashes h
    where h.run_id = c.run_id and h.source = c.source and h.chunk = c.chunk and h.lane = j.lane and h.node = k.node and h.slice = hi.n
  )) as merged_hash,
  null as batch_id, c.source, c.first_row + hi.n * 1024 + lo.n as row, l.parent as lane
from merge_codes j
cross join chunks c on c.run_id = j.run_id and c.source = j.source and c.chunk = j.chunk
cross join lanes l on l.run_id = j.run_id and l.lane = j.lane
cross join lanes f on f.run_id = l.run_id and f.lane = l.parent
cross join numbers hi
cross join numbers lo
cross join chunk_merges w on w.run_id = j.run_id and w.source = j.source and w.chunk = j.chunk and w.lane = j.lane and w.code =
  case j.code_bytes
    when 1 then (select n from bytes where byte = substr(j.codes, hi.n * 1024 + lo.n + 1, 1))
    else ((select n from bytes where byte = substr(j.codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(j.codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
  end
cross join merge_kinds k on k.run_id = w.run_id and k.kind = w.kind
where hi.n < (c.rows + 1023) / 1024 and lo.n < c.rows - hi.n * 1024
union all
select g.run_id, g.node, g.source || ':' || g.row || iif(f.name = '', '', '/' || f.name), g.node || ':' || g.out_row,
  k.policy, k.merge, k.quorum, k.timeout_ms, k.expected, k.arrived, k.lost, k.not_needed,
  (
    select json_group_array(json(arrival)) from (
      select json_object('branch', json_extract(a.value, '$.branch'), 'token_id', json_extract(a.value, '$.token'),
        'offset_ms', json_extract(a.value, '$.offset_ms')) as arrival
      from json_each(g.arrivals) a
      order by a.key)
  ),
  g.wait_ms, k.fired_by, k.collisions, k.origins, k.result, k.code,
  iif(k.result <> 'merged', null, (
    select lower(hex(substr(r.raw_hashes, 32 * ((g.out_row - c.first_row) % 1024) + 1, 32)))
    from chunks c
    join chunk_rows r on r.run_id = c.run_id and r.source = c.source and r.chunk = c.chunk and r.slice = (g.out_row - c.first_row) / 1024
    where c.run_id = g.run_id and c.source = g.node and g.out_row >= c.first_row and g.out_row < c.first_row + c.rows
  )),
  g.node || ':' || g.batch, g.source, g.row, g.lane
from merges g
cross join lanes f on f.run_id = g.run_id and f.lane = g.lane
cross join merge_kinds k on k.run_id = g.run_id and k.kind = g.kind;

-- One row per batch that fired. A window, unlike a group, lets a condition on run_id and node through.
create view batch_totals as
select run_id, node, batch, trigger, path, rows, opened_us, fired_us, out_rows, fold, of
from (
  select run_id, node, batch, trigger, path, rows, opened_us, fired_us, fold, of,
    sum(out_rows) over (partition by run_id, node, batch) as out_rows
  from (
    select run_id, node, batch, trigger, path, rows, opened_us, fired_us, 0 as out_rows, fold, of from batches
    union all
    select run_id, node, batch, null, null, null, null, null, 1, null, null from batch_rows
  )
)
where trigger is not null;

-- One row per refused token that no sink got, with the reason and the record as read.
create view quarantined_rows as
select x.run_id, x.source || ':' || x.row || iif(l.name = '', '', '/' || l.name) as token_id, x.source, x.row, x.chunk, c.file, x.line, x.byte_offset,
  x.node, x.code, x.field, x.message, x.error_hash,
  iif(x.raw_is_text, cast(x.raw as text), null) as raw_text, x.raw, x.raw_bytes, x.at_us, x.lane
from errors x
join chunks c on c.run_id = x.run_id and c.source = x.source and c.chunk = x.chunk
join lanes l on l.run_id = x.run_id and l.lane = x.lane
where x.sent_to = '__quarantine__';

-- One row per row that a sink's target confirmed and holds; line_number counts from 1 and leaves a header out.
create view sink_rows as
select run_id, sink, line_number, token_id, source, row, chunk, ordinal, lane
from (
  select e.run_id, e.sink, e.ordinal, e.state, t.token_id, t.source, t.row, t.chunk, t.lane,
    row_number() over (partition by e.run_id, e.sink order by e.ordinal, t.row, t.lane) as line_number
  from effects e
  cross join tokens t on t.run_id = e.run_id and t.source = e.source and t.chunk = e.chunk and t.bound_for = e.sink
  where e.kind = 'write' and e.ordinal is not null and t.refused_by is null
)
where state = 'finalized';

-- One row per sink of a run: what it gets, what its target confirmed and holds, what it refused, what was published.
create view sink_totals as
select n.run_id, n.node as sink, n.guarantee,
  coalesce(sum(e.rows) filter (where e.kind = 'write'), 0) as planned_rows,
  coalesce(sum(e.rows - e.refused) filter (where e.kind = 'write' and e.state = 'finalized'), 0) as finalized_rows,
  coalesce(sum(e.bytes) filter (where e.kind = 'write' and e.state = 'finalized'), 0) as finalized_bytes,
  coalesce(sum(e.refused), 0) as refused_rows,
  a.path as artifact_path, a.bytes as artifact_bytes, a.sha256 as artifact_sha256, a.published_us
from nodes n
left join effects e on e.run_id = n.run_id and e.sink = n.node
left join artifacts a on a.run_id = n.run_id and a.sink = n.node
where n.kind = 'sink'
group by n.run_id, n.node;

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

-- One row per slot: its state, and that of its last run, also if it was resumed since the schedule looked.
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

-- One row per start that led to no run, or to none yet, and why.
create view why_not as
select run_id, seq, pipeline, state, refusal, reason, actor, trigger, why, key, schedule, slot, workflow, params, accepted_us, decided_us, environment
from starts
where state <> 'begun';

-- One row per name that leads to the output of the latest slot.
create view latest_outputs as
select latest, run_id, sink, path, stands_for, published_us
from (
  select a.*, row_number() over (partition by latest order by stands_for desc, published_us desc, run_id desc, sink desc) as age
  from artifacts a
  where latest <> ''
) ranked
where age = 1;

-- One row per run and hold that is in force.
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
union all select a.payload, a.run_id, a.class from archived_payloads a
union all select a.payload, a.run_id, 'source' from arrivals a where a.payload <> '' and a.state = 'done'
union all select g.value ->> 'payload', s.run_id, 'source' from starts s
  join runs r on r.run_id = s.run_id and (r.status in ('completed', 'completed_with_failures', 'empty') or r.final = 1)
  cross join json_each(s.rows) g where s.rows <> '' and s.state = 'begun';

-- Payloads that were purged and are not stored again.
create view purged_payloads as
select d.payload, d.number, d.purge_id, p.actor, p.why, e.bytes, d.at_us as begun_us, e.at_us as deleted_us
from deletions d
join purges p using (purge_id)
left join deleted_payloads e using (payload, number)
where not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number);

-- One row per chunk and node: in_rows + created_rows = out_rows + dropped_rows + diverted_rows + consumed_rows +
-- held_rows. Rows leave a sink when its target confirmed them; what it refused is diverted there. The step before a
-- branch's first own one is the fork that made it. What came to a barrier is held until its batch fired.
create view chunk_node_counts as
select run_id, source, chunk, node, seq, kind, in_rows, out_rows, dropped_rows, diverted_rows, created_rows,
  ended_rows + fired_rows as consumed_rows, taken_rows - fired_rows as held_rows
from (
  select w.run_id, w.source, w.chunk, s.node, n.seq, n.kind,
    sum(iif(s.seq < k.first_seq or s.seq = 0 and n.kind = 'step', 0, w.rows)) as in_rows,
    sum(case
      when n.kind = 'sink' and s.node <> k.last_node then iif(e.state = 'finalized', w.rows, 0)
      when s.seq >= k.first_seq and s.node = k.last_node and k.path not in ('default_flow', 'gate_routed') then 0
      else w.rows
    end) - coalesce(max(e.refused), 0) as out_rows,
    sum(iif(s.seq >= k.first_seq and s.node = k.last_node and k.path in ('filter_dropped', 'gate_discarded'), w.rows, 0)) as dropped_rows,
    sum(iif(s.seq >= k.first_seq and s.node = k.last_node and k.outcome = 'failure', w.rows, 0)) + coalesce(max(e.refused), 0) as diverted_rows,
    sum(iif(s.seq < k.first_seq or s.seq = 0 and n.kind = 'step', w.rows, 0)) as created_rows,
    sum(iif(s.seq >= k.first_seq and s.node = k.last_node and k.path in ('fork_parent', 'coalesced', 'branch_not_needed'), w.rows, 0)) as ended_rows,
    sum(iif(s.seq >= k.first_seq and s.node = k.last_node and k.path = 'buffered', w.rows, 0)) as taken_rows,
    iif(n.hashes <> 'record', 0, (
      select coalesce(sum(iif(exists (
        select 1 from folds f where f.run_id = m.run_id and f.node = m.node and f.kind = 'end'
      ), m.rows, (
        select count(*) from numbers i
        cross join batches b on b.run_id = m.run_id and b.node = m.node and b.batch =
          ((select n from bytes where byte = substr(m.batches, 4 * i.n + 1, 1)) << 24)
          | ((select n from bytes where byte = substr(m.batches, 4 * i.n + 2, 1)) << 16)
          | ((select n from bytes where byte = substr(m.batches, 4 * i.n + 3, 1)) << 8)
          | (select n from bytes where byte = substr(m.batches, 4 * i.n + 4, 1))
        where i.n < length(m.batches) / 4
      ))), 0)
      from members m
      where m.run_id = w.run_id and m.node = s.node and m.source = w.source and m.chunk = w.chunk
    )) as fired_rows
  from chunk_ways w
  join ways k on k.run_id = w.run_id and k.way = w.way
  join way_steps s on s.run_id = w.run_id and s.way = w.way and s.seq >= k.first_seq - 1
  join nodes n on n.run_id = s.run_id and n.node = s.node
  left join effects e on e.run_id = w.run_id and e.sink = s.node and e.source = w.source and e.chunk = w.chunk
  group by w.run_id, w.source, w.chunk, s.node
);

-- One row per node that a row came to. Windows, unlike groups, let a condition on run_id through.
create view node_counts as
select distinct run_id, node, seq, kind, sum(in_rows) over by_node as in_rows, sum(out_rows) over by_node as out_rows,
  sum(dropped_rows) over by_node as dropped_rows, sum(diverted_rows) over by_node as diverted_rows,
  sum(created_rows) over by_node as created_rows, sum(consumed_rows) over by_node as consumed_rows, sum(held_rows) over by_node as held_rows
from chunk_node_counts
window by_node as (partition by run_id, node);

-- One row per total and node of a run that a token came to. An amount that SQLite's integers do not hold is null.
create view node_totals as
with steps as materialized (
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
),
entries as (
  select run_id, node, seq, kind, total, 'in' as entry, case when step = 0 then now else was end as amount, 1 as sign from steps where not (step < first_seq or step = 0 and kind = 'step')
  union all
  select run_id, node, seq, kind, total, 'created' as entry, now as amount, 1 as sign from steps where step < first_seq or step = 0 and kind = 'step'
  union all
  select run_id, node, seq, kind, total, 'revalued' as entry, now as amount, 1 as sign from steps where step >= first_seq and step > 0 and marked = step
  union all
  select run_id, node, seq, kind, total, 'revalued' as entry, was as amount, -1 as sign from steps where step >= first_seq and step > 0 and marked = step
  union all
  select run_id, node, seq, kind, total, 'out' as entry, now as amount, 1 as sign from steps where not (step >= first_seq and node = last_node and path not in ('default_flow', 'gate_routed')) and (kind <> 'sink' or node = last_node or state = 'finalized')
  union all
  select run_id, node, seq, kind, total, 'dropped' as entry, now as amount, 1 as sign from steps where step >= first_seq and node = last_node and path in ('filter_dropped', 'gate_discarded')
  union all
  select run_id, node, seq, kind, total, 'diverted' as entry, now as amount, 1 as sign from steps where step >= first_seq and node = last_node and outcome = 'failure'
  union all
  select run_id, node, seq, kind, total, 'consumed' as entry, now as amount, 1 as sign from steps where step >= first_seq and node = last_node and path in ('fork_parent', 'coalesced', 'branch_not_needed', 'buffered')
  union all
  select l.run_id, l.sink, n.seq, n.kind, l.total, 'out' as entry, l.amount, -1 as sign from rejected_totals l join nodes n on n.run_id = l.run_id and n.node = l.sink
  union all
  select l.run_id, l.sink, n.seq, n.kind, l.total, 'diverted' as entry, l.amount, 1 as sign from rejected_totals l join nodes n on n.run_id = l.run_id and n.node = l.sink
),
parts as (
  select run_id, node, seq, kind, total, entry, iif(substr(amount, 1, 1) = '-', -sign, sign) as sign,
    substr(ltrim(amount, '-'), 1, instr(ltrim(amount, '-') || '.', '.') - 1) as whole,
    substr(ltrim(amount, '-'), instr(ltrim(amount, '-') || '.', '.') + 1) as places
  from entries
),
sums as (
  select run_id, node, seq, kind, total, entry, sum(sign * (cast(whole as integer) / 1000000000)) as billions,
    sum(sign * (cast(whole as integer) % 1000000000)) as units,
    sum(sign * cast(substr(places || '000000000000000000', 1, 9) as integer)) as billionths,
    sum(sign * cast(substr(places || '000000000000000000', 10, 9) as integer)) as rest,
    max(length(places)) as places, max(length(whole)) > 18 or max(length(places)) > 18 as wide
  from parts
  group by run_id, node, seq, kind, total, entry
),
carried as (
  select run_id, node, seq, kind, total, entry, places, wide or abs(billions + units / 1000000000) >= 1000000000 as wide, billions,
    units + (billionths + rest / 1000000000) / 1000000000 as units, (billionths + rest / 1000000000) % 1000000000 * 1000000000 + rest % 1000000000 as fraction
  from sums
),
whole as (
  select run_id, node, seq, kind, total, entry, places, wide, iif(wide, 0, billions * 1000000000 + units) as units, fraction
  from carried
),
signed as (
  select run_id, node, seq, kind, total, entry, places, wide,
    case when units > 0 and fraction < 0 then units - 1 when units < 0 and fraction > 0 then units + 1 else units end as units,
    case when units > 0 and fraction < 0 then fraction + 1000000000000000000 when units < 0 and fraction > 0 then fraction - 1000000000000000000
      else fraction end as fraction
  from whole
),
amounts as (
  select run_id, node, seq, kind, total, entry, iif(wide, '', iif(units < 0 or fraction < 0, '-', '') || abs(units)
    || iif(places = 0, '', '.' || substr(printf('%018d', abs(fraction)), 1, places))) as amount
  from signed
),
unread as (
  select run_id, node, total, sum(unreadable) as unreadable
  from steps
  group by run_id, node, total
)
select a.run_id, a.node, a.seq, a.kind, a.total,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'in'), '0'), '') as in_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'created'), '0'), '') as created_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'revalued'), '0'), '') as revalued_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'out'), '0'), '') as out_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'dropped'), '0'), '') as dropped_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'diverted'), '0'), '') as diverted_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'consumed'), '0'), '') as consumed_amount,
  u.unreadable
from amounts a
join unread u on u.run_id = a.run_id and u.node = a.node and u.total = a.total
group by a.run_id, a.node, a.seq, a.kind, a.total;

-- One row per run. rows_read and rows_passed are records of sources, the others tokens. What a sink's target refused
-- had failed before if the sink gets what others refused.
create view run_summary as
select run_id, pipeline, status, reason, started_us, finished_us, (
    select coalesce(sum(c.rows), 0) from chunks c
    join nodes n on n.run_id = c.run_id and n.node = c.source and n.kind = 'source'
    where c.run_id = r.run_id
  ) as rows_read,
  rows_passed, rows_succeeded + merged - refused + refused_twice as rows_succeeded, rows_failed + refused - refused_twice as rows_failed,
  rows_quarantined + refused as rows_quarantined, rows_filtered, rows_discarded,
  tokens, tokens_transient + settled - merged as tokens_transient, tokens_held - settled as tokens_held
from (
  select r.run_id, r.pipeline, r.status, r.reason, r.started_us, r.finished_us,
    coalesce(sum(w.rows) filter (where l.name = '' and n.kind = 'source'), 0) as rows_passed,
    coalesce(sum(w.rows) filter (where k.outcome = 'success'), 0) as rows_succeeded,
    coalesce(sum(w.rows) filter (where k.outcome = 'failure'), 0) as rows_failed,
    coalesce(sum(w.rows) filter (where k.sink = '__quarantine__'), 0) as rows_quarantined,
    coalesce(sum(w.rows) filter (where k.path = 'filter_dropped'), 0) as rows_filtered,
    coalesce(sum(w.rows) filter (where k.path in ('gate_discarded', 'sink_discarded')), 0) as rows_discarded,
    coalesce(sum(w.rows), 0) as tokens,
    coalesce(sum(w.rows) filter (where k.outcome = 'transient'), 0) as tokens_transient,
    coalesce(sum(w.rows) filter (where k.path = 'buffered'), 0) as tokens_held,
    (select coalesce(sum(b.rows), 0) from batches b where b.run_id = r.run_id) as settled,
    (select coalesce(sum(b.rows), 0) from batches b where b.run_id = r.run_id and b.path = 'coalesced') as merged,
    (select coalesce(sum(e.refused), 0) from effects e where e.run_id = r.run_id) as refused,
    (
      select coalesce(sum(e.refused), 0) from effects e
      where e.run_id = r.run_id and e.refused > 0 and e.sink in (select f.sink from ways f where f.run_id = e.run_id and f.outcome = 'failure')
    ) as refused_twice
  from runs r
  left join chunk_ways w on w.run_id = r.run_id
  left join ways k on k.run_id = w.run_id and k.way = w.way
  left join lanes l on l.run_id = w.run_id and l.lane = w.lane
  left join nodes n on n.run_id = w.run_id and n.node = w.source
  group by r.run_id
) r;
