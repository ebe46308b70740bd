-- +goose Up
-- +goose StatementBegin
-- How long things of a class are kept: the last that are in force count. Those that are not wait for several persons.
create table retention_periods (
  seq            bigint not null check (seq >= 0),
  periods_sha256 text collate "C" not null check (length(periods_sha256) = 64),
  periods        text collate "C" not null check (periods::json is not null),
  in_force       bigint not null check (in_force in (0, 1)),
  actor          text collate "C" not null check (actor <> ''),
  why            text collate "C" not null check (why <> ''),
  at_us          bigint not null check (at_us > 0),
  primary key (seq)
);
create trigger keep before update or delete or truncate on retention_periods for each statement execute function refuse();

create function retention_periods_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.seq > 0 and not exists (select 1 from retention_periods p where p.seq = a.seq - 1)) then
    raise exception 'retention_periods: append-only: not the next one' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on retention_periods referencing new table as added for each statement execute function retention_periods_birth();

-- What was deleted because it was due, by whom and why, and what could not be.
create table retention_turns (
  turn           bigint not null check (turn > 0),
  periods_sha256 text collate "C" not null,
  actor          text collate "C" not null check (actor <> ''),
  why            text collate "C" not null check (why <> ''),
  purge_id       bigint references purges (purge_id),
  payloads       bigint not null check (payloads >= 0),
  bytes          bigint not null check (bytes >= 0),
  events         bigint not null check (events >= 0),
  staged         bigint not null check (staged >= 0),
  left_due       bigint not null check (left_due >= 0),
  problem        text collate "C" not null,
  at_us          bigint not null check (at_us > 0),
  primary key (turn)
);
create trigger keep before update or delete or truncate on retention_turns for each statement execute function refuse();

create function retention_turns_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.turn > 1 and not exists (select 1 from retention_turns t where t.turn = a.turn - 1)) then
    raise exception 'retention_turns: append-only: a turn has the next number' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on retention_turns referencing new table as added for each statement execute function retention_turns_birth();

-- Who may read the record, purge, and work for runs, may do so here.
do $$
declare
  given record;
begin
  for given in
    select c.relname as of, a.grantee::regrole as role, a.privilege_type as privilege
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid in ('resumptions'::regclass, 'purges'::regclass) and a.grantee not in (0, c.relowner) and a.privilege_type in ('SELECT', 'INSERT')
  loop
    if given.privilege = 'SELECT' then
      execute format('grant select on retention_periods, retention_turns to %s', given.role);
    elsif given.of = 'purges' then
      execute format('grant insert on retention_periods to %s', given.role);
    else
      execute format('grant insert on retention_turns to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
