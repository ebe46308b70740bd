-- +goose Up
-- +goose StatementBegin
-- What an archived run published stays, with its nodes: other runs need to know who replaced what.
drop trigger keep on nodes;
drop trigger archiving on nodes;
drop trigger archived on nodes;
create trigger keep before update or delete or truncate on nodes for each statement execute function refuse();
drop trigger keep on artifacts;
drop trigger archiving on artifacts;
drop trigger archived on artifacts;
create trigger keep before update or delete or truncate on artifacts for each statement execute function refuse();

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
-- +goose StatementEnd
