-- +goose Up
-- +goose StatementBegin
-- Of the rows that reached a sink which declares what can be disclosed: the root of the tree over the fields of each.
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
create trigger keep before update or truncate on field_roots for each statement execute function refuse();
create trigger archiving before delete on field_roots for each statement execute function archiving();
create trigger archived before delete on field_roots for each row execute function archived();

create or replace function remove_run(run_id text) returns void language plpgsql security definer set search_path from current as $$
begin
  if exists (select 1 from archives a where a.run_id = remove_run.run_id and a.xmin <> pg_current_xact_id()::xid) then
    return; -- it was removed when it was archived
  end if;
  delete from chunk_seals t where t.run_id = remove_run.run_id;
  delete from policy_results t where t.run_id = remove_run.run_id;
  delete from policies t where t.run_id = remove_run.run_id;
  delete from run_events t where t.run_id = remove_run.run_id;
  delete from actions t where t.run_id = remove_run.run_id;
  delete from late_totals t where t.run_id = remove_run.run_id;
  delete from effect_events t where t.run_id = remove_run.run_id;
  delete from effects t where t.run_id = remove_run.run_id;
  delete from executions t where t.run_id = remove_run.run_id;
  delete from resumptions t where t.run_id = remove_run.run_id;
  delete from parents t where t.run_id = remove_run.run_id;
  delete from merges t where t.run_id = remove_run.run_id;
  delete from members t where t.run_id = remove_run.run_id;
  delete from batches t where t.run_id = remove_run.run_id;
  delete from chunk_joins t where t.run_id = remove_run.run_id;
  delete from joins t where t.run_id = remove_run.run_id;
  delete from merge_kinds t where t.run_id = remove_run.run_id;
  delete from field_roots t where t.run_id = remove_run.run_id;
  delete from feeds t where t.run_id = remove_run.run_id;
  delete from repeats t where t.run_id = remove_run.run_id;
  delete from claims t where t.run_id = remove_run.run_id;
  delete from keys t where t.run_id = remove_run.run_id;
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
  delete from tables t where t.run_id = remove_run.run_id;
  delete from lanes t where t.run_id = remove_run.run_id;
  delete from sources t where t.run_id = remove_run.run_id;
  delete from edges t where t.run_id = remove_run.run_id;
end $$;

-- Who may read and write what is recorded of rows may do so here.
do $$
declare
  given record;
begin
  for given in
    select a.grantee::regrole as role, a.privilege_type as privilege
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = 'repeats'::regclass and a.grantee not in (0, c.relowner) and a.privilege_type in ('SELECT', 'INSERT')
  loop
    execute format('grant %s on field_roots to %s', given.privilege, given.role);
  end loop;
end $$;
-- +goose StatementEnd
