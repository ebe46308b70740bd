-- +goose Up
-- +goose StatementBegin
-- What the triggers of deployed pipelines are: the last row of each says so.
create table triggers (
  trigger     text not null,
  seq         integer not null check (seq >= 0),
  environment text not null check (environment <> ''),
  pipeline    text not null check (pipeline <> ''),
  name        text not null check (name <> ''),
  action      text not null check (action in ('set', 'remove', 'pause', 'resume')),
  spec        text not null check (json_valid(spec)),
  version     integer not null check (version >= 1),
  paused      integer not null check (paused in (0, 1)),
  actor       text not null,
  why         text not null,
  at_us       integer not null check (at_us > 0),
  primary key (trigger, seq),
  check (trigger = environment || '/' || pipeline || '/' || name)
) strict, without rowid;
create trigger triggers_keep before update on triggers begin select raise(abort, 'triggers: append-only'); end;
create trigger triggers_stay before delete on triggers begin select raise(abort, 'triggers: append-only'); end;
create trigger triggers_once before insert on triggers when exists (select 1 from triggers t where t.trigger = new.trigger and t.seq = new.seq)
begin select raise(abort, 'triggers: append-only: it is there already'); end;
create trigger triggers_birth before insert on triggers
when not exists (select 1 from pipeline_versions v where v.pipeline = new.pipeline and v.version = new.version)
  or new.seq = 0 and new.action <> 'set'
  or new.seq > 0 and not exists (select 1 from triggers t where t.trigger = new.trigger and t.seq = new.seq - 1)
begin select raise(abort, 'triggers: it is of a version that is there, and comes after the one before it'); end;

-- How far each trigger has been looked after: whoever does something for it moves the turn.
create table watches (
  trigger    text not null,
  turn       integer not null check (turn >= 0),
  looked_us  integer not null check (looked_us >= 0),
  unready    integer not null check (unready >= 0),
  error      text not null,
  changed_us integer not null check (changed_us >= 0),
  primary key (trigger)
) strict, without rowid;
create trigger watches_stay before delete on watches begin select raise(abort, 'watches: append-only'); end;
create trigger watches_once before insert on watches when exists (select 1 from watches t where t.trigger = new.trigger)
begin select raise(abort, 'watches: append-only: it is there already'); end;
create trigger watches_birth before insert on watches
when new.turn <> 0 or new.looked_us <> 0 or not exists (select 1 from triggers t where t.trigger = new.trigger)
begin select raise(abort, 'watches: not the beginning of the watch of a trigger'); end;
create trigger watches_change before update on watches when new.trigger <> old.trigger or new.turn <> old.turn + 1
begin select raise(abort, 'watches: illegal change: a turn comes after the one before it'); end;

-- The files that triggers found, each revision once, and what became of them.
create table arrivals (
  trigger    text not null,
  item       text not null check (item <> ''),
  revision   integer not null check (revision >= 0),
  place      text not null check (json_valid(place)),
  arrived_us integer not null check (arrived_us > 0),
  changes    integer not null check (changes >= 0),
  state      text not null check (state in ('ready', 'taken', 'done', 'ignored', 'gone')),
  run_id     text not null check ((run_id <> '') = (state in ('taken', 'done'))),
  reason     text not null check (reason <> '' or state not in ('ignored', 'gone')),
  changed_us integer not null check (changed_us > 0),
  primary key (trigger, item, revision)
) strict, without rowid;
create index arrivals_by_state on arrivals (trigger, state, arrived_us, item, revision);

-- Which arrivals are on the lists of which runs.
create table arrival_runs (
  run_id   text not null check (run_id <> ''),
  place    integer not null check (place >= 0),
  trigger  text not null,
  item     text not null,
  revision integer not null,
  at_us    integer not null check (at_us > 0),
  primary key (run_id, place),
  unique (trigger, item, revision, run_id)
) strict, without rowid;
create trigger arrival_runs_keep before update on arrival_runs begin select raise(abort, 'arrival_runs: append-only'); end;
create trigger arrival_runs_stay before delete on arrival_runs begin select raise(abort, 'arrival_runs: append-only'); end;
create trigger arrival_runs_once before insert on arrival_runs
when exists (select 1 from arrival_runs t where t.run_id = new.run_id and t.place = new.place)
  or exists (select 1 from arrival_runs t where t.trigger = new.trigger and t.item = new.item and t.revision = new.revision and t.run_id = new.run_id)
begin select raise(abort, 'arrival_runs: append-only: it is there already'); end;
create trigger arrival_runs_birth before insert on arrival_runs
when not exists (select 1 from starts s where s.run_id = new.run_id) or exists (select 1 from runs r where r.run_id = new.run_id)
  or not exists (
    select 1 from arrivals a where a.trigger = new.trigger and a.item = new.item and a.revision = new.revision and a.state = 'ready')
begin select raise(abort, 'arrival_runs: append-only: not an arrival that waits, or a run that somebody asked for and that has not begun'); end;

create trigger arrivals_stay before delete on arrivals begin select raise(abort, 'arrivals: append-only'); end;
create trigger arrivals_once before insert on arrivals
when exists (select 1 from arrivals t where t.trigger = new.trigger and t.item = new.item and t.revision = new.revision)
begin select raise(abort, 'arrivals: append-only: it is there already'); end;
create trigger arrivals_birth before insert on arrivals
when new.changes <> 0 or new.state not in ('ready', 'ignored') or not exists (select 1 from triggers t where t.trigger = new.trigger)
  or new.revision > 0 and not exists (select 1 from arrivals a where a.trigger = new.trigger and a.item = new.item and a.revision = new.revision - 1)
begin select raise(abort, 'arrivals: append-only: an arrival at a trigger is ready or ignored at first, and comes after the revision before it'); end;
create trigger arrivals_keep before update of trigger, item, revision, place, arrived_us on arrivals
begin select raise(abort, 'arrivals: only what became of an arrival changes'); end;
create trigger arrivals_change before update on arrivals
when new.changes <> old.changes + 1
  or not (old.state = 'ready' and new.state in ('taken', 'gone') or old.state = 'taken' and new.state in ('done', 'ready', 'gone'))
  or new.state = 'taken' and not exists (
    select 1 from arrival_runs l where l.run_id = new.run_id and l.trigger = new.trigger and l.item = new.item and l.revision = new.revision)
  or new.state = 'done' and new.run_id <> old.run_id
  or new.state = 'done' and not exists (
    select 1 from runs r where r.run_id = old.run_id and r.status in ('completed', 'completed_with_failures', 'empty'))
  or old.state = 'taken' and new.state <> 'done' and exists (select 1 from runs r where r.run_id = old.run_id and r.final = 0)
begin select raise(abort, 'arrivals: illegal change of state'); end;

-- A run does not begin any more once its arrivals were taken back.
create trigger runs_arrivals before insert on runs
when exists (
  select 1 from arrival_runs l join arrivals a using (trigger, item, revision) where l.run_id = new.run_id and a.run_id <> new.run_id)
begin select raise(abort, 'runs: not the beginning: its arrivals were taken back'); end;
-- +goose StatementEnd
