-- +goose Up
-- +goose StatementBegin
-- What the schedules of deployed pipelines are: the last row of each says so.
create table schedules (
  schedule    text collate "C" not null,
  seq         bigint not null check (seq >= 0),
  environment text collate "C" not null check (environment <> ''),
  pipeline    text collate "C" not null check (pipeline <> ''),
  name        text collate "C" not null check (name <> ''),
  action      text collate "C" not null check (action in ('set', 'remove', 'pause', 'resume')),
  spec        text collate "C" not null check (spec::json is not null),
  version     bigint not null check (version >= 1),
  since_us    bigint not null check (since_us > 0),
  paused      bigint not null check (paused in (0, 1)),
  until_us    bigint check (until_us is null or paused = 1),
  actor       text collate "C" not null,
  why         text collate "C" not null,
  at_us       bigint not null check (at_us > 0),
  primary key (schedule, seq),
  foreign key (pipeline, version) references pipeline_versions (pipeline, version),
  check (schedule = environment || '/' || pipeline || '/' || name)
);
create trigger keep before update or delete or truncate on schedules for each statement execute function refuse();

create function schedules_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and a.action <> 'set'
      or a.seq > 0 and not exists (select 1 from schedules s where s.schedule = a.schedule and s.seq = a.seq - 1)
  ) then
    raise exception 'schedules: it is of a version that is there, and comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on schedules referencing new table as added for each statement execute function schedules_birth();

-- What people asked for: runs for slots, whatever the schedule rang for.
create table slot_requests (
  request     text collate "C" not null check (request <> ''),
  schedule    text collate "C" not null,
  action      text collate "C" not null check (action in ('run', 'backfill', 'retry', 'skip', 'make_up')),
  first       text collate "C" not null check (first <> ''),
  last        text collate "C" not null check (last <> ''),
  at_once     bigint not null check (at_once >= 1),
  version     bigint not null check (version >= 0),
  actor       text collate "C" not null,
  why         text collate "C" not null,
  accepted_us bigint not null check (accepted_us > 0),
  primary key (request)
);
create trigger keep before update or delete or truncate on slot_requests for each statement execute function refuse();

create function slot_requests_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where not exists (select 1 from schedules s where s.schedule = a.schedule)) then
    raise exception 'slot_requests: there is no such schedule' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on slot_requests referencing new table as added for each statement execute function slot_requests_birth();

-- The slots of schedules: each is there once, with what became of it.
create table slots (
  schedule    text collate "C" not null,
  slot        text collate "C" not null check (slot <> ''),
  from_us     bigint not null,
  to_us       bigint not null check (to_us > from_us),
  due_us      bigint not null,
  deadline_us bigint check (deadline_us is null or deadline_us >= due_us),
  rang        bigint not null check (rang in (0, 1)),
  changes     bigint not null check (changes >= 0),
  state       text collate "C" not null check (state in ('due', 'running', 'done', 'failed', 'skipped', 'missed')),
  run_id      text collate "C" not null check (run_id <> '' or state not in ('running', 'done', 'failed')),
  attempts    bigint not null check (attempts >= 0 and (attempts > 0) = (run_id <> '')),
  seen        bigint not null check (seen >= 0),
  reason      text collate "C" not null check (reason <> '' or state not in ('failed', 'skipped', 'missed')),
  request     text collate "C" not null,
  ready_us    bigint not null,
  late_us     bigint check (late_us is null or deadline_us is not null),
  changed_us  bigint not null check (changed_us > 0),
  primary key (schedule, slot)
);
create index slots_due on slots (schedule, due_us, slot);
create index slots_by_state on slots (schedule, state, due_us, slot);
create index slots_of_run on slots (run_id, schedule, slot);

create trigger keep before delete or truncate on slots for each statement execute function refuse();

create function slots_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.changes <> 0 or a.state not in ('due', 'skipped', 'missed') or a.run_id <> ''
      or not exists (select 1 from schedules s where s.schedule = a.schedule)
  ) then
    raise exception 'slots: a slot of a schedule is due, skipped or missed at first' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on slots referencing new table as added for each statement execute function slots_birth();

create function slots_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.schedule, old.slot, old.from_us, old.to_us, old.due_us, old.deadline_us, old.rang)
    is distinct from (new.schedule, new.slot, new.from_us, new.to_us, new.due_us, new.deadline_us, new.rang)
  then
    raise exception 'slots: only what became of a slot changes' using errcode = 'integrity_constraint_violation';
  end if;
  if new.changes <> old.changes + 1 or new.attempts < old.attempts or new.state in ('done', 'failed') and old.state not in ('running', 'failed', 'done')
    or new.state = 'running' and old.state not in ('due', 'running', 'failed')
    or old.state = 'done' and new.state <> 'done' and (new.state <> 'due' or new.request in ('', old.request))
  then
    raise exception 'slots: illegal change of state' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on slots for each row execute function slots_change();

create function move_slots(
  schedule text, slot text,
  from_changes bigint, from_state text, from_run_id text, from_attempts bigint, from_seen bigint, from_reason text, from_request text, from_ready_us bigint, from_late_us bigint, from_changed_us bigint,
  to_changes bigint, to_state text, to_run_id text, to_attempts bigint, to_seen bigint, to_reason text, to_request text, to_ready_us bigint, to_late_us bigint, to_changed_us bigint
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update slots s
    set changes = to_changes, state = to_state, run_id = to_run_id, attempts = to_attempts, seen = to_seen, reason = to_reason, request = to_request, ready_us = to_ready_us, late_us = to_late_us, changed_us = to_changed_us
    where s.schedule = move_slots.schedule and s.slot = move_slots.slot
      and (s.changes, s.state, s.run_id, s.attempts, s.seen, s.reason, s.request, s.ready_us, s.late_us, s.changed_us)
        is not distinct from (from_changes, from_state, from_run_id, from_attempts, from_seen, from_reason, from_request, from_ready_us, from_late_us, from_changed_us)
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_slots from public;

-- Every change of every slot.
create table slot_events (
  schedule text collate "C" not null,
  slot     text collate "C" not null,
  seq      bigint not null check (seq >= 0),
  event    text collate "C" not null check (event in (state, 'late', 'recovered')),
  state    text collate "C" not null,
  run_id   text collate "C" not null,
  attempt  bigint not null,
  reason   text collate "C" not null,
  request  text collate "C" not null,
  at_us    bigint not null check (at_us > 0),
  primary key (schedule, slot, seq)
);
create trigger keep before update or delete or truncate on slot_events for each statement execute function refuse();

create function slot_events_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq > 0 and not exists (
      select 1 from slot_events e where e.schedule = a.schedule and e.slot = a.slot and e.seq = a.seq - 1)
  ) then
    raise exception 'slot_events: an event comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on slot_events referencing new table as added for each statement execute function slot_events_birth();

-- One row per slot: what became of it, and of its last run, also if somebody resumed that since the schedule looked.
create view slot_outcomes as
select s.schedule, s.slot, s.from_us, s.to_us, s.due_us, s.rang,
  case
    when r.status in ('completed', 'completed_with_failures', 'empty') then 'done'
    when r.status = 'running' then 'running'
    else s.state
  end as state,
  s.run_id, r.status, s.attempts, s.reason, q.actor, q.why, s.deadline_us, s.late_us, s.changed_us
from slots s
left join runs r on r.run_id = s.run_id
left join slot_requests q on q.request = s.request;

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
    foreach relation in array array['schedules', 'slot_requests', 'slots', 'slot_events'] loop
      execute format('grant %s on %I to %s', given.privilege, relation, given.role);
    end loop;
    if given.privilege = 'SELECT' then
      execute format('grant select on slot_outcomes to %s', given.role);
    else
      execute format('grant execute on function move_slots to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
