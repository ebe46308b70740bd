-- +goose Up
-- +goose StatementBegin
-- The tables that were made anew, and the new ones, only grow. 00002 says why a guard refuses what is there already.
create trigger nodes_keep before update on nodes begin select raise(abort, 'nodes: append-only'); end;
create trigger chunks_keep before update on chunks begin select raise(abort, 'chunks: append-only'); end;
create trigger passages_keep before update on passages begin select raise(abort, 'passages: append-only'); end;
create trigger ways_keep before update on ways begin select raise(abort, 'ways: append-only'); end;
create trigger way_steps_keep before update on way_steps begin select raise(abort, 'way_steps: append-only'); end;
create trigger chunk_ways_keep before update on chunk_ways begin select raise(abort, 'chunk_ways: append-only'); end;
create trigger hashes_keep before update on hashes begin select raise(abort, 'hashes: append-only'); end;
create trigger errors_keep before update on errors begin select raise(abort, 'errors: append-only'); end;
create trigger keys_keep before update on keys begin select raise(abort, 'keys: append-only'); end;
create trigger claims_keep before update on claims begin select raise(abort, 'claims: append-only'); end;
create trigger lanes_keep before update on lanes begin select raise(abort, 'lanes: append-only'); end;
create trigger tables_keep before update on tables begin select raise(abort, 'tables: append-only'); end;
create trigger folds_keep before update on folds begin select raise(abort, 'folds: append-only'); end;
create trigger batches_keep before update on batches begin select raise(abort, 'batches: append-only'); end;
create trigger members_keep before update on members begin select raise(abort, 'members: append-only'); end;
create trigger merge_kinds_keep before update on merge_kinds begin select raise(abort, 'merge_kinds: append-only'); end;
create trigger joins_keep before update on joins begin select raise(abort, 'joins: append-only'); end;
create trigger chunk_joins_keep before update on chunk_joins begin select raise(abort, 'chunk_joins: append-only'); end;
create trigger merges_keep before update on merges begin select raise(abort, 'merges: append-only'); end;
create trigger parents_keep before update on parents begin select raise(abort, 'parents: append-only'); end;
create trigger nodes_stay before delete on nodes begin select raise(abort, 'nodes: append-only'); end;
create trigger chunks_stay before delete on chunks begin select raise(abort, 'chunks: append-only'); end;
create trigger passages_stay before delete on passages begin select raise(abort, 'passages: append-only'); end;
create trigger ways_stay before delete on ways begin select raise(abort, 'ways: append-only'); end;
create trigger way_steps_stay before delete on way_steps begin select raise(abort, 'way_steps: append-only'); end;
create trigger chunk_ways_stay before delete on chunk_ways begin select raise(abort, 'chunk_ways: append-only'); end;
create trigger hashes_stay before delete on hashes begin select raise(abort, 'hashes: append-only'); end;
create trigger errors_stay before delete on errors begin select raise(abort, 'errors: append-only'); end;
create trigger keys_stay before delete on keys begin select raise(abort, 'keys: append-only'); end;
create trigger claims_stay before delete on claims begin select raise(abort, 'claims: append-only'); end;
create trigger lanes_stay before delete on lanes begin select raise(abort, 'lanes: append-only'); end;
create trigger tables_stay before delete on tables begin select raise(abort, 'tables: append-only'); end;
create trigger folds_stay before delete on folds begin select raise(abort, 'folds: append-only'); end;
create trigger batches_stay before delete on batches begin select raise(abort, 'batches: append-only'); end;
create trigger members_stay before delete on members begin select raise(abort, 'members: append-only'); end;
create trigger merge_kinds_stay before delete on merge_kinds begin select raise(abort, 'merge_kinds: append-only'); end;
create trigger joins_stay before delete on joins begin select raise(abort, 'joins: append-only'); end;
create trigger chunk_joins_stay before delete on chunk_joins begin select raise(abort, 'chunk_joins: append-only'); end;
create trigger merges_stay before delete on merges begin select raise(abort, 'merges: append-only'); end;
create trigger parents_stay before delete on parents begin select raise(abort, 'parents: append-only'); end;

create trigger nodes_once before insert on nodes when exists (select 1 from nodes t where t.run_id = new.run_id and t.node = new.node)
  or exists (select 1 from nodes t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'nodes: append-only: it is there already'); end;
create trigger chunks_once before insert on chunks when exists (select 1 from chunks t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'chunks: append-only: it is there already'); end;
create trigger passages_once before insert on passages when exists (select 1 from passages t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane)
  or exists (select 1 from passages t where t.rowid = new.rowid)
begin select raise(abort, 'passages: append-only: it is there already'); end;
create trigger ways_once before insert on ways when exists (select 1 from ways t where t.run_id = new.run_id and t.way = new.way)
begin select raise(abort, 'ways: append-only: it is there already'); end;
create trigger way_steps_once before insert on way_steps when exists (select 1 from way_steps t where t.run_id = new.run_id and t.way = new.way and t.seq = new.seq)
begin select raise(abort, 'way_steps: append-only: it is there already'); end;
create trigger chunk_ways_once before insert on chunk_ways when exists (select 1 from chunk_ways t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.code = new.code)
  or exists (select 1 from chunk_ways t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.way = new.way)
begin select raise(abort, 'chunk_ways: append-only: it is there already'); end;
create trigger hashes_once before insert on hashes when exists (select 1 from hashes t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.node = new.node and t.slice = new.slice)
  or exists (select 1 from hashes t where t.rowid = new.rowid)
begin select raise(abort, 'hashes: append-only: it is there already'); end;
create trigger errors_once before insert on errors when exists (select 1 from errors t where t.run_id = new.run_id and t.source = new.source and t.row = new.row and t.lane = new.lane and t.node = new.node)
begin select raise(abort, 'errors: append-only: it is there already'); end;
create trigger keys_once before insert on keys when exists (select 1 from keys t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.field = new.field)
  or exists (select 1 from keys t where t.rowid = new.rowid)
begin select raise(abort, 'keys: append-only: it is there already'); end;
create trigger claims_once before insert on claims when exists (select 1 from claims t where t.run_id = new.run_id and t.node = new.node and t.field = new.field and t.key_hash = new.key_hash)
begin select raise(abort, 'claims: append-only: it is there already'); end;
create trigger lanes_once before insert on lanes when exists (select 1 from lanes t where t.run_id = new.run_id and t.lane = new.lane)
  or exists (select 1 from lanes t where t.run_id = new.run_id and t.source = new.source and t.name = new.name)
begin select raise(abort, 'lanes: append-only: it is there already'); end;
create trigger tables_once before insert on tables when exists (select 1 from tables t where t.run_id = new.run_id and t.node = new.node)
begin select raise(abort, 'tables: append-only: it is there already'); end;
create trigger folds_once before insert on folds when exists (select 1 from folds t where t.run_id = new.run_id and t.node = new.node and t.fold = new.fold)
  or new.kind = 'chunk' and exists (select 1 from folds t where t.run_id = new.run_id and t.node = new.node and t.source = new.source and t.chunk = new.chunk and t.kind = 'chunk')
  or new.kind = 'end' and exists (select 1 from folds t where t.run_id = new.run_id and t.node = new.node and t.kind = 'end')
begin select raise(abort, 'folds: append-only: it is there already'); end;
create trigger batches_once before insert on batches when exists (select 1 from batches t where t.run_id = new.run_id and t.node = new.node and t.batch = new.batch)
begin select raise(abort, 'batches: append-only: it is there already'); end;
create trigger members_once before insert on members when exists (select 1 from members t where t.run_id = new.run_id and t.node = new.node and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.slice = new.slice)
  or exists (select 1 from members t where t.rowid = new.rowid)
begin select raise(abort, 'members: append-only: it is there already'); end;
create trigger merge_kinds_once before insert on merge_kinds when exists (select 1 from merge_kinds t where t.run_id = new.run_id and t.kind = new.kind)
begin select raise(abort, 'merge_kinds: append-only: it is there already'); end;
create trigger joins_once before insert on joins when exists (select 1 from joins t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane)
  or exists (select 1 from joins t where t.rowid = new.rowid)
begin select raise(abort, 'joins: append-only: it is there already'); end;
create trigger chunk_joins_once before insert on chunk_joins when exists (select 1 from chunk_joins t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.code = new.code)
  or exists (select 1 from chunk_joins t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.kind = new.kind)
begin select raise(abort, 'chunk_joins: append-only: it is there already'); end;
create trigger merges_once before insert on merges when exists (select 1 from merges t where t.run_id = new.run_id and t.node = new.node and t.batch = new.batch)
  or exists (select 1 from merges t where t.run_id = new.run_id and t.node = new.node and t.source = new.source and t.lane = new.lane and t.row = new.row)
  or exists (select 1 from merges t where t.run_id = new.run_id and t.node = new.node and t.out_row = new.out_row and t.out_row is not null)
begin select raise(abort, 'merges: append-only: it is there already'); end;
create trigger parents_once before insert on parents when exists (select 1 from parents t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.slice = new.slice)
  or exists (select 1 from parents t where t.rowid = new.rowid)
begin select raise(abort, 'parents: append-only: it is there already'); end;

-- The rows of a source come out of no fold, those of a barrier of one.
create trigger chunks_birth before insert on chunks
when (new.fold is null) <> exists (select 1 from nodes n where n.run_id = new.run_id and n.node = new.source and n.kind = 'source')
begin select raise(abort, 'chunks: a barrier''s chunk has a fold, a source''s has none'); end;

-- What is known of the rows of a chunk once it went through the steps.
create trigger keys_birth before insert on keys
when not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
begin select raise(abort, 'keys: the chunk did not go through the steps'); end;

create trigger joins_birth before insert on joins
when not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
begin select raise(abort, 'joins: the chunk did not go through the steps'); end;

create trigger folds_birth before insert on folds
when new.kind = 'chunk'
  and not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
begin select raise(abort, 'folds: the chunk did not go through the steps'); end;

create trigger folds_place before insert on folds
when not exists (select 1 from nodes n where n.run_id = new.run_id and n.node = new.node and n.kind = 'step')
begin select raise(abort, 'folds: not of a barrier'); end;

-- A merge is the end of the branches in its batch, and makes a row unless none arrived.
create trigger merges_birth before insert on merges
when not exists (
    select 1 from batches b where b.run_id = new.run_id and b.node = new.node and b.batch = new.batch
      and b.path = 'coalesced' and b.rows = json_array_length(new.arrivals))
  or not exists (
    select 1 from merge_kinds k where k.run_id = new.run_id and k.kind = new.kind and k.node = new.node
      and (k.result = 'nothing') = (new.out_row is null) and json_array_length(k.arrived) = json_array_length(new.arrivals))
begin select raise(abort, 'merges: not the merge of its batch'); end;

create trigger effects_birth before insert on effects
when new.fence <> 0 or new.state <> iif(new.kind = 'write', 'prepared', 'reserved')
  or not exists (select 1 from nodes n where n.run_id = new.run_id and n.node = new.sink and n.kind = 'sink')
  or new.kind = 'write' and not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
begin select raise(abort, 'effects: not the beginning of an effect'); end;
-- +goose StatementEnd
