-- +goose Up
-- +goose StatementBegin
-- What the schedules of deployed pipelines are: the last row of each says so.
create table schedules (
  schedule    text not null,
  seq         integer not null check (seq >= 0),
  environment text not null check (environment <> ''),
  pipeline    text not null check (pipeline <> ''),
  name        text not null check (name <> ''),
  action      text not null check (action in ('set', 'remove', 'pause', 'resume')),
  spec        text not null check (json_valid(spec)),
  version     integer not null check (version >= 1),
  since_us    integer not null check (since_us > 0),
  paused      integer not null check (paused in (0, 1)),
  until_us    integer check (until_us is null or paused = 1),
  actor       text not null,
  why         text not null,
  at_us       integer not null check (at_us > 0),
  primary key (schedule, seq),
  check (schedule = environment || '/' || pipeline || '/' || name)
) strict, without rowid;
create trigger schedules_keep before update on schedules begin select raise(abort, 'schedules: append-only'); end;
create trigger schedules_stay before delete on schedules begin select raise(abort, 'schedules: append-only'); end;
create trigger schedules_once before insert on schedules when exists (select 1 from schedules t where t.schedule = new.schedule and t.seq = new.seq)
begin select raise(abort, 'schedules: append-only: it is there already'); end;

create trigger schedules_birth before insert on schedules
when not exists (select 1 from pipeline_versions v where v.pipeline = new.pipeline and v.version = new.version)
  or new.seq = 0 and new.action <> 'set'
  or new.seq > 0 and not exists (select 1 from schedules s where s.schedule = new.schedule and s.seq = new.seq - 1)
begin select raise(abort, 'schedules: it is of a version that is there, and comes after the one before it'); end;

-- What people asked for: runs for slots, whatever the schedule rang for.
create table slot_requests (
  request     text not null check (request <> ''),
  schedule    text not null,
  action      text not null check (action in ('run', 'backfill', 'retry', 'skip', 'make_up')),
  first       text not null check (first <> ''),
  last        text not null check (last <> ''),
  at_once     integer not null check (at_once >= 1),
  version     integer not null check (version >= 0),
  actor       text not null,
  why         text not null,
  accepted_us integer not null check (accepted_us > 0),
  primary key (request)
) strict, without rowid;
create trigger slot_requests_keep before update on slot_requests begin select raise(abort, 'slot_requests: append-only'); end;
create trigger slot_requests_stay before delete on slot_requests begin select raise(abort, 'slot_requests: append-only'); end;
create trigger slot_requests_once before insert on slot_requests when exists (select 1 from slot_requests t where t.request = new.request)
begin select raise(abort, 'slot_requests: append-only: it is there already'); end;
create trigger slot_requests_birth before insert on slot_requests when not exists (select 1 from schedules s where s.schedule = new.schedule)
begin select raise(abort, 'slot_requests: there is no such schedule'); end;

-- The slots of schedules: each is there once, with what became of it.
create table slots (
  schedule    text not null,
  slot        text not null check (slot <> ''),
  from_us     integer not null,
  to_us       integer not null check (to_us > from_us),
  due_us      integer not null,
  deadline_us integer check (deadline_us is null or deadline_us >= due_us),
  rang        integer not null check (rang in (0, 1)),
  changes     integer not null check (changes >= 0),
  state       text not null check (state in ('due', 'running', 'done', 'failed', 'skipped', 'missed')),
  run_id      text not null check (run_id <> '' or state not in ('running', 'done', 'failed')),
  attempts    integer not null check (attempts >= 0 and (attempts > 0) = (run_id <> '')),
  seen        integer not null check (seen >= 0),
  reason      text not null check (reason <> '' or state not in ('failed', 'skipped', 'missed')),
  request     text not null,
  ready_us    integer not null,
  late_us     integer check (late_us is null or deadline_us is not null),
  changed_us  integer not null check (changed_us > 0),
  primary key (schedule, slot)
) strict, without rowid;
create index slots_due on slots (schedule, due_us, slot);
create index slots_by_state on slots (schedule, state, due_us, slot);
create index slots_of_run on slots (run_id, schedule, slot);

create trigger slots_stay before delete on slots begin select raise(abort, 'slots: append-only'); end;
create trigger slots_once before insert on slots when exists (select 1 from slots t where t.schedule = new.schedule and t.slot = new.slot)
begin select raise(abort, 'slots: append-only: it is there already'); end;
create trigger slots_birth before insert on slots
when new.changes <> 0 or new.state not in ('due', 'skipped', 'missed') or new.run_id <> ''
  or not exists (select 1 from schedules s where s.schedule = new.schedule)
begin select raise(abort, 'slots: a slot of a schedule is due, skipped or missed at first'); end;
create trigger slots_keep before update of schedule, slot, from_us, to_us, due_us, deadline_us, rang on slots
begin select raise(abort, 'slots: only what became of a slot changes'); end;
create trigger slots_change before update on slots
when new.changes <> old.changes + 1 or new.attempts < old.attempts or new.state in ('done', 'failed') and old.state not in ('running', 'failed', 'done')
  or new.state = 'running' and old.state not in ('due', 'running', 'failed')
  or old.state = 'done' and new.state <> 'done' and (new.state <> 'due' or new.request in ('', old.request))
begin select raise(abort, 'slots: illegal change of state'); end;

-- Every change of every slot.
create table slot_events (
  schedule text not null,
  slot     text not null,
  seq      integer not null check (seq >= 0),
  event    text not null check (event in (state, 'late', 'recovered')),
  state    text not null,
  run_id   text not null,
  attempt  integer not null,
  reason   text not null,
  request  text not null,
  at_us    integer not null check (at_us > 0),
  primary key (schedule, slot, seq)
) strict, without rowid;
create trigger slot_events_keep before update on slot_events begin select raise(abort, 'slot_events: append-only'); end;
create trigger slot_events_stay before delete on slot_events begin select raise(abort, 'slot_events: append-only'); end;
create trigger slot_events_once before insert on slot_events
when exists (select 1 from slot_events t where t.schedule = new.schedule and t.slot = new.slot and t.seq = new.seq)
begin select raise(abort, 'slot_events: append-only: it is there already'); end;
create trigger slot_events_birth before insert on slot_events
when new.seq > 0 and not exists (select 1 from slot_events e where e.schedule = new.schedule and e.slot = new.slot and e.seq = new.seq - 1)
begin select raise(abort, 'slot_events: an event comes after the one before it'); end;

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
-- +goose StatementEnd
