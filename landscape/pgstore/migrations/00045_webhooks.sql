-- +goose Up
-- +goose StatementBegin
-- What other services posted to a trigger is an arrival as well, and its body is a payload: it is needed until a run has read it, and is that run's from then on.
alter table arrivals add column payload text collate "C" not null default '' check (payload = '' or payload ~ '^[0-9a-f]{64}$');
create index arrivals_by_payload on arrivals (payload) where payload <> '';

create function arrivals_payload() returns trigger language plpgsql set search_path from current as $$
begin
  if old.payload <> new.payload then
    raise exception 'arrivals: only what became of an arrival changes' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger payload before update on arrivals for each row execute function arrivals_payload();

create trigger purged after insert on arrivals referencing new table as added for each statement execute function refer('payload');

create or replace view payload_refs as
select c.pack as payload, c.run_id, case when c.fold is null then 'source' else 'derived' end as class from chunks c
union all select f.state, f.run_id, 'derived' from folds f where f.state is not null
union all select t.sha256, t.run_id, 'kept' from tables t
union all select a.payload, a.run_id, a.class collate "default" from archived_payloads a
union all select a.payload, a.run_id, 'source' from arrivals a where a.payload <> '' and a.state = 'done';

create function deletions_waiting() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added d join arrivals a using (payload) where a.payload <> '' and a.state in ('ready', 'taken')) then
    raise exception 'deletions: payload in use: a run is still to read it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger waiting after insert on deletions referencing new table as added for each statement execute function deletions_waiting();
-- +goose StatementEnd
