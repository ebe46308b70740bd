-- +goose Up
-- +goose StatementBegin
-- Who asked for a run, and what became of that: also if no run came of it. A start is decided once; one that comes after a refused one is
-- the next of its run.
create table starts (
  run_id      text collate "C" not null check (run_id <> ''),
  seq         bigint not null check (seq >= 0),
  pipeline    text collate "C" not null,
  params      text collate "C" not null check (params::json is not null),
  actor       text collate "C" not null,
  trigger     text collate "C" not null,
  why         text collate "C" not null,
  key         text collate "C" not null,
  schedule    text collate "C" not null,
  workflow    text collate "C" not null,
  slot        text collate "C" not null,
  accepted_us bigint not null check (accepted_us > 0),
  state       text collate "C" not null
    check (state in ('accepted', 'waiting', 'begun', 'refused', 'cancelled', 'skipped', 'superseded')),
  refusal     text collate "C" not null check ((refusal <> '') = (state = 'refused')),
  reason      text collate "C" not null check (reason = '' or state not in ('accepted', 'begun')),
  decided_us  bigint check ((decided_us is null) = (state in ('accepted', 'waiting'))),
  primary key (run_id, seq)
);
create index starts_accepted on starts (accepted_us, run_id, seq);
create index starts_by_state on starts (state, accepted_us, run_id, seq);
create index starts_by_workflow on starts (workflow, accepted_us, run_id, seq);

create trigger keep before delete or truncate on starts for each statement execute function refuse();

create function starts_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.state not in ('accepted', 'refused', 'cancelled') or a.seq > 0 and not exists (
      select 1 from starts s where s.run_id = a.run_id and s.seq = a.seq - 1 and s.decided_us is not null)
  ) then
    raise exception 'starts: a start is open or has failed at first, and comes after one that is decided' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on starts referencing new table as added for each statement execute function starts_birth();

create function starts_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.run_id, old.seq, old.pipeline, old.params, old.actor, old.trigger, old.why, old.key, old.schedule, old.workflow, old.accepted_us)
    is distinct from
    (new.run_id, new.seq, new.pipeline, new.params, new.actor, new.trigger, new.why, new.key, new.schedule, new.workflow, new.accepted_us)
  then
    raise exception 'starts: only slot, state, refusal, reason and decided_us change' using errcode = 'integrity_constraint_violation';
  end if;
  if old.decided_us is not null or new.state = 'accepted'
    or new.state = 'begun' and not exists (select 1 from runs r where r.run_id = new.run_id)
  then
    raise exception 'starts: illegal change of state' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on starts for each row execute function starts_change();

create function move_starts(
  run_id text, seq bigint,
  from_slot text, from_state text, from_refusal text, from_reason text, from_decided_us bigint,
  to_slot text, to_state text, to_refusal text, to_reason text, to_decided_us bigint
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update starts s
    set slot = to_slot, state = to_state, refusal = to_refusal, reason = to_reason, decided_us = to_decided_us
    where s.run_id = move_starts.run_id and s.seq = move_starts.seq
      and (s.slot, s.state, s.refusal, s.reason, s.decided_us)
        is not distinct from (from_slot, from_state, from_refusal, from_reason, from_decided_us)
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_starts from public;

-- One row per run, and the start that it came of; nulls for a run that an earlier release began.
create view run_starts as
select r.run_id, s.seq, r.pipeline, r.actor, r.trigger, s.why, s.key, s.schedule, s.slot, s.workflow, s.params, s.accepted_us, r.started_us, r.status
from runs r
left join starts s on s.run_id = r.run_id and s.state = 'begun';

-- One row per start of which no run came, or none yet, and why.
create view why_not as
select run_id, seq, pipeline, state, refusal, reason, actor, trigger, why, key, schedule, slot, workflow, params, accepted_us, decided_us
from starts
where state <> 'begun';

-- Who may read and write the record may do so here.
do $$
declare
  given record;
  relation text;
begin
  for given in
    select a.grantee::regrole as role, a.privilege_type as privilege
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = 'resumptions'::regclass and a.grantee not in (0, c.relowner) and a.privilege_type in ('SELECT', 'INSERT')
  loop
    execute format('grant %s on starts to %s', given.privilege, given.role);
    if given.privilege = 'SELECT' then
      foreach relation in array array['run_starts', 'why_not'] loop
        execute format('grant select on %I to %s', relation, given.role);
      end loop;
    else
      execute format('grant execute on function move_starts to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
