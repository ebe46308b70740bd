-- +goose Up
-- +goose StatementBegin
-- Which rows came with the request for a run: for each source the payload that holds them. They are needed until the run can no longer be resumed, and are its source records from then on.
alter table starts add column rows text collate "C" not null default '' check (rows = '' or json_typeof(rows::json) = 'array');
create index starts_with_rows on starts (run_id, seq) where rows <> '';
create function starts_rows() returns trigger language plpgsql set search_path from current as $$
begin
  if new.rows <> old.rows then
    raise exception 'starts: only slot, state, refusal, reason and decided_us change' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger rows before update on starts for each row execute function starts_rows();

create or replace view payload_refs as
select c.pack as payload, c.run_id, case when c.fold is null then 'source' else 'derived' end as class from chunks c
union all select f.state, f.run_id, 'derived' from folds f where f.state is not null
union all select t.sha256, t.run_id, 'kept' from tables t
union all select a.payload, a.run_id, a.class collate "default" from archived_payloads a
union all select a.payload, a.run_id, 'source' from arrivals a where a.payload <> '' and a.state = 'done'
union all select (g.value ->> 'payload') collate "C", s.run_id, 'source' from starts s
  join runs r on r.run_id = s.run_id and (r.status in ('completed', 'completed_with_failures', 'empty') or r.final = 1)
  cross join lateral json_array_elements(case when s.rows = '' then '[]' else s.rows end::json) g where s.rows <> '' and s.state = 'begun';
-- +goose StatementEnd
