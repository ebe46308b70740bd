-- +goose Up
-- +goose StatementBegin
-- What other services posted to a trigger is an arrival as well, and its body is a payload: it is needed until a run has read it, and is that run's from then on.
alter table arrivals add column payload text not null default '' check (payload = '' or length(payload) = 64 and payload not glob '*[^0-9a-f]*');
create index arrivals_by_payload on arrivals (payload) where payload <> '';
drop trigger arrivals_keep;
create trigger arrivals_keep before update of trigger, item, revision, place, arrived_us, payload on arrivals
begin select raise(abort, 'arrivals: only what became of an arrival changes'); end;
create trigger arrivals_purged before insert on arrivals
when new.payload <> '' and exists (select 1 from deletions d where d.payload = new.payload and not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number))
begin select raise(abort, 'payload purged: store it again'); end;

drop view payload_refs;
create view payload_refs as
select c.pack as payload, c.run_id, case when c.fold is null then 'source' else 'derived' end as class from chunks c
union all select f.state, f.run_id, 'derived' from folds f where f.state is not null
union all select t.sha256, t.run_id, 'kept' from tables t
union all select a.payload, a.run_id, a.class from archived_payloads a
union all select a.payload, a.run_id, 'source' from arrivals a where a.payload <> '' and a.state = 'done';

create trigger deletions_waiting before insert on deletions
when exists (select 1 from arrivals a where a.payload = new.payload and a.payload <> '' and a.state in ('ready', 'taken'))
begin select raise(abort, 'deletions: payload in use: a run is still to read it'); end;
-- +goose StatementEnd
