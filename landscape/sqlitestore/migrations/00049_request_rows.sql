-- +goose Up
-- +goose StatementBegin
-- Which rows came with the request for a run: for each source the payload that holds them. They are needed until the run can no longer be resumed, and are its source records from then on.
alter table starts add column rows text not null default '' check (rows = '' or json_type(rows) = 'array');
create index starts_with_rows on starts (run_id, seq) where rows <> '';
create trigger starts_rows before update of rows on starts
begin select raise(abort, 'starts: only slot, state, refusal, reason and decided_us change'); end;

drop view payload_refs;
create view payload_refs as
select c.pack as payload, c.run_id, case when c.fold is null then 'source' else 'derived' end as class from chunks c
union all select f.state, f.run_id, 'derived' from folds f where f.state is not null
union all select t.sha256, t.run_id, 'kept' from tables t
union all select a.payload, a.run_id, a.class from archived_payloads a
union all select a.payload, a.run_id, 'source' from arrivals a where a.payload <> '' and a.state = 'done'
union all select g.value ->> 'payload', s.run_id, 'source' from starts s
  join runs r on r.run_id = s.run_id and (r.status in ('completed', 'completed_with_failures', 'empty') or r.final = 1)
  cross join json_each(s.rows) g where s.rows <> '' and s.state = 'begun';
-- +goose StatementEnd
