-- +goose Up
-- +goose StatementBegin
-- Runs whose records are in a bundle elsewhere, and not here any more.
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
create trigger run_seals_archived before insert on run_seals when exists (select 1 from archives a where a.run_id = new.run_id)
begin select raise(abort, 'run_seals: append-only: the run is archived'); end;

-- Which payloads such a run refers to: they stay, and may be purged as those of other runs.
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
drop view payload_refs;
create view payload_refs as
select c.pack as payload, c.run_id, case when c.fold is null then 'source' else 'derived' end as class from chunks c
union all select f.state, f.run_id, 'derived' from folds f where f.state is not null
union all select t.sha256, t.run_id, 'kept' from tables t
union all select a.payload, a.run_id, a.class from archived_payloads a;

-- The rows of forgotten records stay when their chunk is archived.
pragma legacy_alter_table = on;
create table forgotten_next (
  run_id   text not null,
  source   text not null,
  chunk    integer not null,
  slot     integer not null check (slot >= 0),
  row      integer not null check (row >= 1),
  leaf     blob check (leaf is null or length(leaf) = 32),
  purge_id integer not null references purges (purge_id),
  primary key (run_id, source, chunk, slot)
) strict, without rowid;
insert into forgotten_next select run_id, source, chunk, slot, row, leaf, purge_id from forgotten;
drop table forgotten;
alter table forgotten_next rename to forgotten;
pragma legacy_alter_table = off;
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

-- What is recorded of a run is removed only once it is archived, and not without a note of the payloads that it refers to.
drop trigger nodes_stay;
create trigger nodes_stay before delete on nodes when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'nodes: append-only'); end;
drop trigger edges_stay;
create trigger edges_stay before delete on edges when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'edges: append-only'); end;
drop trigger sources_stay;
create trigger sources_stay before delete on sources when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'sources: append-only'); end;
drop trigger lanes_stay;
create trigger lanes_stay before delete on lanes when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'lanes: append-only'); end;
drop trigger tables_stay;
create trigger tables_stay before delete on tables when not exists (select 1 from archives a where a.run_id = old.run_id)
  or not exists (select 1 from archived_payloads p where p.run_id = old.run_id and p.payload = old.sha256)
begin select raise(abort, 'tables: append-only'); end;
drop trigger source_ends_stay;
create trigger source_ends_stay before delete on source_ends when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'source_ends: append-only'); end;
drop trigger folds_stay;
create trigger folds_stay before delete on folds when not exists (select 1 from archives a where a.run_id = old.run_id)
  or old.state is not null and not exists (select 1 from archived_payloads p where p.run_id = old.run_id and p.payload = old.state)
begin select raise(abort, 'folds: append-only'); end;
drop trigger chunks_stay;
create trigger chunks_stay before delete on chunks when not exists (select 1 from archives a where a.run_id = old.run_id)
  or not exists (select 1 from archived_payloads p where p.run_id = old.run_id and p.payload = old.pack)
begin select raise(abort, 'chunks: append-only'); end;
drop trigger chunk_rows_stay;
create trigger chunk_rows_stay before delete on chunk_rows when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'chunk_rows: append-only'); end;
drop trigger passages_stay;
create trigger passages_stay before delete on passages when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'passages: append-only'); end;
drop trigger ways_stay;
create trigger ways_stay before delete on ways when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'ways: append-only'); end;
drop trigger way_steps_stay;
create trigger way_steps_stay before delete on way_steps when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'way_steps: append-only'); end;
drop trigger chunk_ways_stay;
create trigger chunk_ways_stay before delete on chunk_ways when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'chunk_ways: append-only'); end;
drop trigger way_totals_stay;
create trigger way_totals_stay before delete on way_totals when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'way_totals: append-only'); end;
drop trigger hashes_stay;
create trigger hashes_stay before delete on hashes when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'hashes: append-only'); end;
drop trigger errors_stay;
create trigger errors_stay before delete on errors when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'errors: append-only'); end;
drop trigger keys_stay;
create trigger keys_stay before delete on keys when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'keys: append-only'); end;
drop trigger claims_stay;
create trigger claims_stay before delete on claims when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'claims: append-only'); end;
drop trigger repeats_stay;
create trigger repeats_stay before delete on repeats when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'repeats: append-only'); end;
drop trigger feeds_stay;
create trigger feeds_stay before delete on feeds when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'feeds: append-only'); end;
drop trigger merge_kinds_stay;
create trigger merge_kinds_stay before delete on merge_kinds when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'merge_kinds: append-only'); end;
drop trigger joins_stay;
create trigger joins_stay before delete on joins when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'joins: append-only'); end;
drop trigger chunk_joins_stay;
create trigger chunk_joins_stay before delete on chunk_joins when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'chunk_joins: append-only'); end;
drop trigger batches_stay;
create trigger batches_stay before delete on batches when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'batches: append-only'); end;
drop trigger members_stay;
create trigger members_stay before delete on members when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'members: append-only'); end;
drop trigger merges_stay;
create trigger merges_stay before delete on merges when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'merges: append-only'); end;
drop trigger parents_stay;
create trigger parents_stay before delete on parents when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'parents: append-only'); end;
drop trigger resumptions_stay;
create trigger resumptions_stay before delete on resumptions when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'resumptions: append-only'); end;
drop trigger executions_stay;
create trigger executions_stay before delete on executions when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'executions: append-only'); end;
drop trigger effects_stay;
create trigger effects_stay before delete on effects when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'effects: append-only'); end;
drop trigger effect_events_stay;
create trigger effect_events_stay before delete on effect_events when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'effect_events: append-only'); end;
drop trigger late_totals_stay;
create trigger late_totals_stay before delete on late_totals when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'late_totals: append-only'); end;
drop trigger artifacts_stay;
create trigger artifacts_stay before delete on artifacts when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'artifacts: append-only'); end;
drop trigger actions_stay;
create trigger actions_stay before delete on actions when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'actions: append-only'); end;
drop trigger run_events_stay;
create trigger run_events_stay before delete on run_events when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'run_events: append-only'); end;
drop trigger policies_stay;
create trigger policies_stay before delete on policies when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'policies: append-only'); end;
drop trigger policy_results_stay;
create trigger policy_results_stay before delete on policy_results when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'policy_results: append-only'); end;
drop trigger chunk_seals_stay;
create trigger chunk_seals_stay before delete on chunk_seals when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'chunk_seals: append-only'); end;
-- +goose StatementEnd
