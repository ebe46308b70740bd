-- +goose Up
-- +goose StatementBegin
-- The values that an environment has for what documents refer to: the last row says which.
create table environments (
  environment text collate "C" not null check (environment <> ''),
  seq         bigint not null check (seq >= 1),
  vars        text collate "C" not null check (vars::json is not null),
  actor       text collate "C" not null,
  why         text collate "C" not null,
  at_us       bigint not null check (at_us > 0),
  primary key (environment, seq)
);
create trigger keep before update or delete or truncate on environments for each statement execute function refuse();

create function environments_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq > 1 and not exists (select 1 from environments e where e.environment = a.environment and e.seq = a.seq - 1)
  ) then
    raise exception 'environments: values come after those before them' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on environments referencing new table as added for each statement execute function environments_birth();

-- In which environment a run was asked for, and which of its values the run has; 0 if it has none.
alter table starts add column environment text collate "C" not null default '';
create function starts_environment() returns trigger language plpgsql set search_path from current as $$
begin
  if new.environment <> old.environment then
    raise exception 'starts: only slot, state, refusal, reason and decided_us change' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger environment before update on starts for each row execute function starts_environment();

alter table runs add column environment text collate "C" not null default '';
alter table runs add column environment_seq bigint not null default 0 check (environment_seq >= 0);
create function runs_environment() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'UPDATE' then
    if (new.environment, new.environment_seq) <> (old.environment, old.environment_seq) then
      raise exception 'runs: only status, final, epoch, finished_us and reason change' using errcode = 'integrity_constraint_violation';
    end if;
  elsif new.environment_seq > 0 and not exists (
    select 1 from environments e where e.environment = new.environment and e.seq = new.environment_seq
  ) then
    raise exception 'runs: a run has values that its environment had' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger environment before insert or update on runs for each row execute function runs_environment();

create or replace view run_starts as
select r.run_id, s.seq, r.pipeline, r.actor, r.trigger, s.why, s.key, s.schedule, s.slot, s.workflow, s.params, s.accepted_us, r.started_us, r.status,
  r.environment
from runs r
left join starts s on s.run_id = r.run_id and s.state = 'begun';

create or replace view why_not as
select run_id, seq, pipeline, state, refusal, reason, actor, trigger, why, key, schedule, slot, workflow, params, accepted_us, decided_us, environment
from starts
where state <> 'begun';

-- Who may read and write the record may do so here.
do $$
declare
  given record;
begin
  for given in
    select a.grantee::regrole as role, a.privilege_type as privilege
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = 'resumptions'::regclass and a.grantee not in (0, c.relowner) and a.privilege_type in ('SELECT', 'INSERT')
  loop
    execute format('grant %s on environments to %s', given.privilege, given.role);
  end loop;
end $$;
-- +goose StatementEnd
