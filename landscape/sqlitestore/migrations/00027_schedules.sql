-- +goose Up
-- +goose StatementBegin
-- Schedules of deployed pipelines may be made by command, too: they are of no document, and stay until somebody deletes them.
drop trigger slot_requests_birth;
drop trigger slots_birth;
create table schedules_next (
  schedule    text not null,
  seq         integer not null check (seq >= 0),
  environment text not null check (environment <> ''),
  pipeline    text not null check (pipeline <> ''),
  name        text not null check (name <> ''),
  action      text not null check (action in ('set', 'remove', 'pause', 'resume', 'create', 'delete')),
  spec        text not null check (json_valid(spec)),
  version     integer not null check (version >= 1),
  since_us    integer not null check (since_us > 0),
  paused      integer not null check (paused in (0, 1)),
  until_us    integer check (until_us is null or paused = 1),
  actor       text not null,
  why         text not null,
  at_us       integer not null check (at_us > 0),
  origin      text not null check (origin in ('document', 'command')),
  primary key (schedule, seq),
  check (schedule = environment || '/' || pipeline || '/' || name),
  check (action not in ('create', 'delete') or origin = 'command')
) strict, without rowid;
insert into schedules_next
select schedule, seq, environment, pipeline, name, action, spec, version, since_us, paused, until_us, actor, why, at_us, 'document' from schedules;
drop table schedules;
alter table schedules_next rename to schedules;

create trigger schedules_keep before update on schedules begin select raise(abort, 'schedules: append-only'); end;
create trigger schedules_stay before delete on schedules begin select raise(abort, 'schedules: append-only'); end;
create trigger schedules_once before insert on schedules when exists (select 1 from schedules t where t.schedule = new.schedule and t.seq = new.seq)
begin select raise(abort, 'schedules: append-only: it is there already'); end;
create trigger schedules_birth before insert on schedules
when not exists (select 1 from pipeline_versions v where v.pipeline = new.pipeline and v.version = new.version)
  or new.seq = 0 and new.action not in ('set', 'create')
  or new.seq > 0 and not exists (select 1 from schedules s where s.schedule = new.schedule and s.seq = new.seq - 1)
begin select raise(abort, 'schedules: it is of a version that is there, and comes after the one before it'); end;

create trigger slot_requests_birth before insert on slot_requests when not exists (select 1 from schedules s where s.schedule = new.schedule)
begin select raise(abort, 'slot_requests: there is no such schedule'); end;
create trigger slots_birth before insert on slots
when new.changes <> 0 or new.state not in ('due', 'skipped', 'missed') or new.run_id <> ''
  or not exists (select 1 from schedules s where s.schedule = new.schedule)
begin select raise(abort, 'slots: a slot of a schedule is due, skipped or missed at first'); end;
-- +goose StatementEnd
