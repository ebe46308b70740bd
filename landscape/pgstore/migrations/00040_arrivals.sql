-- +goose Up
-- +goose StatementBegin
-- What the triggers of deployed pipelines are: the last row of each says so.
create table triggers (
  trigger     text collate "C" not null,
  seq         bigint not null check (seq >= 0),
  environment text collate "C" not null check (environment <> ''),
  pipeline    text collate "C" not null check (pipeline <> ''),
  name        text collate "C" not null check (name <> ''),
  action      text collate "C" not null check (action in ('set', 'remove', 'pause', 'resume')),
  spec        text collate "C" not null check (spec::json is not null),
  version     bigint not null check (version >= 1),
  paused      bigint not null check (paused in (0, 1)),
  actor       text collate "C" not null,
  why         text collate "C" not null,
  at_us       bigint not null check (at_us > 0),
  primary key (trigger, seq),
  foreign key (pipeline, version) references pipeline_versions (pipeline, version),
  check (trigger = environment || '/' || pipeline || '/' || name)
);
create trigger keep before update or delete or truncate on triggers for each statement execute function refuse();

create function triggers_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and a.action <> 'set'
      or a.seq > 0 and not exists (select 1 from triggers t where t.trigger = a.trigger and t.seq = a.seq - 1)
  ) then
    raise exception 'triggers: it is of a version that is there, and comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on triggers referencing new table as added for each statement execute function triggers_birth();

-- How far each trigger has been looked after: whoever does something for it moves the turn.
create table watches (
  trigger    text collate "C" not null,
  turn       bigint not null check (turn >= 0),
  looked_us  bigint not null check (looked_us >= 0),
  unready    bigint not null check (unready >= 0),
  error      text collate "C" not null,
  changed_us bigint not null check (changed_us >= 0),
  primary key (trigger)
);
create trigger keep before delete or truncate on watches for each statement execute function refuse();

create function watches_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.turn <> 0 or a.looked_us <> 0 or not exists (select 1 from triggers t where t.trigger = a.trigger)
  ) then
    raise exception 'watches: not the beginning of the watch of a trigger' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on watches referencing new table as added for each statement execute function watches_birth();

create function watches_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.trigger <> old.trigger or new.turn <> old.turn + 1 then
    raise exception 'watches: illegal change: a turn comes after the one before it' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on watches for each row execute function watches_change();

create function move_watches(
  trigger text,
  from_turn bigint, from_looked_us bigint, from_unready bigint, from_error text, from_changed_us bigint,
  to_turn bigint, to_looked_us bigint, to_unready bigint, to_error text, to_changed_us bigint
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update watches w
    set turn = to_turn, looked_us = to_looked_us, unready = to_unready, error = to_error, changed_us = to_changed_us
    where w.trigger = move_watches.trigger
      and (w.turn, w.looked_us, w.unready, w.error, w.changed_us) = (from_turn, from_looked_us, from_unready, from_error, from_changed_us)
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_watches from public;

-- The files that triggers found, each revision once, and what became of them.
create table arrivals (
  trigger    text collate "C" not null,
  item       text collate "C" not null check (item <> ''),
  revision   bigint not null check (revision >= 0),
  place      text collate "C" not null check (place::json is not null),
  arrived_us bigint not null check (arrived_us > 0),
  changes    bigint not null check (changes >= 0),
  state      text collate "C" not null check (state in ('ready', 'taken', 'done', 'ignored', 'gone')),
  run_id     text collate "C" not null check ((run_id <> '') = (state in ('taken', 'done'))),
  reason     text collate "C" not null check (reason <> '' or state not in ('ignored', 'gone')),
  changed_us bigint not null check (changed_us > 0),
  primary key (trigger, item, revision)
);
create index arrivals_by_state on arrivals (trigger, state, arrived_us, item, revision);

-- Which arrivals are on the lists of which runs.
create table arrival_runs (
  run_id   text collate "C" not null check (run_id <> ''),
  place    bigint not null check (place >= 0),
  trigger  text collate "C" not null,
  item     text collate "C" not null,
  revision bigint not null,
  at_us    bigint not null check (at_us > 0),
  primary key (run_id, place),
  unique (trigger, item, revision, run_id)
);
create trigger keep before update or delete or truncate on arrival_runs for each statement execute function refuse();

create function arrival_runs_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added n
    where not exists (select 1 from starts s where s.run_id = n.run_id) or exists (select 1 from runs r where r.run_id = n.run_id)
      or not exists (select 1 from arrivals a where a.trigger = n.trigger and a.item = n.item and a.revision = n.revision and a.state = 'ready')
  ) then
    raise exception 'arrival_runs: append-only: not an arrival that waits, or a run that somebody asked for and that has not begun' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on arrival_runs referencing new table as added for each statement execute function arrival_runs_birth();

create trigger keep before delete or truncate on arrivals for each statement execute function refuse();

create function arrivals_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added n
    where n.changes <> 0 or n.state not in ('ready', 'ignored') or not exists (select 1 from triggers t where t.trigger = n.trigger)
      or n.revision > 0 and not exists (select 1 from arrivals a where a.trigger = n.trigger and a.item = n.item and a.revision = n.revision - 1)
  ) then
    raise exception 'arrivals: append-only: an arrival at a trigger is ready or ignored at first, and comes after the revision before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on arrivals referencing new table as added for each statement execute function arrivals_birth();

create function arrivals_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.trigger, old.item, old.revision, old.place, old.arrived_us) is distinct from (new.trigger, new.item, new.revision, new.place, new.arrived_us) then
    raise exception 'arrivals: only what became of an arrival changes' using errcode = 'integrity_constraint_violation';
  end if;
  if new.changes <> old.changes + 1
    or not (old.state = 'ready' and new.state in ('taken', 'gone') or old.state = 'taken' and new.state in ('done', 'ready', 'gone'))
    or new.state = 'taken' and not exists (
      select 1 from arrival_runs l where l.run_id = new.run_id and l.trigger = new.trigger and l.item = new.item and l.revision = new.revision)
    or new.state = 'done' and new.run_id <> old.run_id
    or new.state = 'done' and not exists (
      select 1 from runs r where r.run_id = old.run_id and r.status in ('completed', 'completed_with_failures', 'empty'))
    or old.state = 'taken' and new.state <> 'done' and exists (select 1 from runs r where r.run_id = old.run_id and r.final = 0)
  then
    raise exception 'arrivals: illegal change of state' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on arrivals for each row execute function arrivals_change();

create function move_arrivals(
  trigger text, item text, revision bigint,
  from_changes bigint, from_state text, from_run_id text, from_reason text, from_changed_us bigint,
  to_changes bigint, to_state text, to_run_id text, to_reason text, to_changed_us bigint
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update arrivals a
    set changes = to_changes, state = to_state, run_id = to_run_id, reason = to_reason, changed_us = to_changed_us
    where a.trigger = move_arrivals.trigger and a.item = move_arrivals.item and a.revision = move_arrivals.revision
      and (a.changes, a.state, a.run_id, a.reason, a.changed_us) = (from_changes, from_state, from_run_id, from_reason, from_changed_us)
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_arrivals from public;

-- A run does not begin any more once its arrivals were taken back.
create function runs_arrivals() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added n join arrival_runs l on l.run_id = n.run_id join arrivals a on (a.trigger, a.item, a.revision) = (l.trigger, l.item, l.revision)
    where a.run_id <> n.run_id
  ) then
    raise exception 'runs: not the beginning: its arrivals were taken back' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger arrivals after insert on runs referencing new table as added for each statement execute function runs_arrivals();

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
    foreach relation in array array['triggers', 'watches', 'arrivals', 'arrival_runs'] loop
      execute format('grant %s on %I to %s', given.privilege, relation, given.role);
    end loop;
    if given.privilege = 'INSERT' then
      execute format('grant execute on function move_watches, move_arrivals to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
