-- +goose Up
-- +goose StatementBegin
-- Rows of which nothing may be kept that tells their values, and the leaves that they had.
create table forgotten (
  run_id   text not null,
  source   text not null,
  chunk    integer not null,
  slot     integer not null check (slot >= 0),
  row      integer not null check (row >= 1),
  leaf     blob check (leaf is null or length(leaf) = 32),
  purge_id integer not null references purges (purge_id),
  primary key (run_id, source, chunk, slot),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
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

-- Leaves of runs' seals that are records of such rows.
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

-- Which payloads replaced deleted ones of which a record was forgotten.
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

-- A payload is needed by whoever needs one that it replaced.
drop trigger deletions_free;
create trigger deletions_free before insert on deletions
when exists (
  with recursive was (payload) as (select new.payload union select p.payload from repacked p join was on p.replacement = was.payload)
  select 1 from was join payload_refs f using (payload) join runs r using (run_id)
  where exists (select 1 from held_runs h where h.run_id = r.run_id)
    or not exists (select 1 from purged_runs p where p.purge_id = new.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch))
begin select raise(abort, 'deletions: payload in use: a run needs it, or is held'); end;

-- A row that is forgotten may be blanked, and nothing else may change.
drop trigger chunk_rows_keep;
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

drop trigger chunks_keep;
create trigger chunks_keep before update on chunks
when not exists (select 1 from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk <= old.chunk)
  or new.cursor <> json_remove(old.cursor, '$.digest')
  or new.run_id <> old.run_id or new.source <> old.source or new.chunk <> old.chunk or new.file <> old.file or new.first_row <> old.first_row
  or new.rows <> old.rows or new.first_line <> old.first_line or new.first_offset <> old.first_offset or new.bytes <> old.bytes or new.blank <> old.blank
  or new.comments <> old.comments or new.pack <> old.pack or new.last <> old.last or new.fold is not old.fold or new.attempt <> old.attempt
  or new.read_us <> old.read_us
begin select raise(abort, 'chunks: append-only'); end;

drop trigger hashes_keep;
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

drop trigger keys_keep;
create trigger keys_keep before update on keys
when not exists (select 1 from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk)
  or new.run_id <> old.run_id or new.source <> old.source or new.chunk <> old.chunk or new.field <> old.field or length(new.hashes) <> length(old.hashes)
  or exists (
    select 1 from numbers m cross join numbers n
    where 1024 * m.n < length(old.hashes) / 4 and 1024 * m.n + n.n < length(old.hashes) / 4
      and substr(new.hashes, 4 * (1024 * m.n + n.n) + 1, 4) <> substr(old.hashes, 4 * (1024 * m.n + n.n) + 1, 4)
      and (substr(new.hashes, 4 * (1024 * m.n + n.n) + 1, 4) <> zeroblob(4) or not exists (
        select 1 from forgotten f
        where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.slot = 1024 * m.n + n.n)))
begin select raise(abort, 'keys: append-only'); end;

drop trigger errors_keep;
create trigger errors_keep before update on errors
when not exists (select 1 from forgotten f where f.run_id = old.run_id and f.source = old.source and f.chunk = old.chunk and f.row = old.row)
  or new.message <> '' or length(new.raw) > 0 or new.error_hash <> printf('%064d', 0)
  or new.run_id <> old.run_id or new.source <> old.source or new.row <> old.row or new.lane <> old.lane or new.node <> old.node
  or new.chunk <> old.chunk or new.code <> old.code or new.field <> old.field or new.raw_is_text <> old.raw_is_text or new.raw_bytes <> old.raw_bytes
  or new.line <> old.line or new.byte_offset <> old.byte_offset or new.sent_to <> old.sent_to or new.at_us <> old.at_us
begin select raise(abort, 'errors: append-only'); end;

-- Once rows of a run are forgotten, its salts are more than one record, and may be replaced.
create table salts_next (
  run_id text not null references runs (run_id),
  source text not null,
  chunk  integer not null check (chunk >= 0 or chunk = -1 and source = ''),
  keys   blob not null check (length(keys) % 16 = 0 and (chunk >= 0 or length(keys) = 16)),
  primary key (run_id, source, chunk)
) strict, without rowid;
insert into salts_next select * from salts;
drop table salts;
alter table salts_next rename to salts;
create trigger salts_keep before update on salts
when new.run_id <> old.run_id or new.source <> old.source or new.chunk <> old.chunk or not exists (select 1 from forgotten f where f.run_id = old.run_id)
begin select raise(abort, 'salts: append-only'); end;
create trigger salts_stay before delete on salts begin select raise(abort, 'salts: append-only'); end;
create trigger salts_once before insert on salts when exists (select 1 from salts t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'salts: append-only: it is there already'); end;
create trigger salts_birth before insert on salts
when new.chunk >= 0 and not exists (select 1 from forgotten f where f.run_id = new.run_id)
begin select raise(abort, 'salts: no row of the run is forgotten'); end;
-- +goose StatementEnd
