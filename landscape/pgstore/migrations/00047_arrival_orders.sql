-- +goose Up
-- +goose StatementBegin
-- What people decided about what arrived: that it gets no run, or arrives again. What arrived last at a trigger is found by when that was.
create table arrival_orders (
  trigger  text collate "C" not null,
  item     text collate "C" not null,
  revision bigint not null,
  action   text collate "C" not null check (action in ('ignore', 'again')),
  actor    text collate "C" not null,
  why      text collate "C" not null,
  at_us    bigint not null check (at_us > 0),
  primary key (trigger, item, revision, action)
);
create trigger keep before update or delete or truncate on arrival_orders for each statement execute function refuse();

create function arrival_orders_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added n
    where not exists (
      select 1 from arrivals a
      where a.trigger = n.trigger and a.item = n.item and a.revision = n.revision and a.state = 'ready'
        and (n.action = 'ignore' or a.revision > 0 and a.changes = 0))
  ) then
    raise exception 'arrival_orders: append-only: not an arrival that waits' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on arrival_orders referencing new table as added for each statement execute function arrival_orders_birth();

create index arrivals_by_time on arrivals (trigger, arrived_us, item, revision);
create or replace function arrivals_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.trigger, old.item, old.revision, old.place, old.arrived_us) is distinct from (new.trigger, new.item, new.revision, new.place, new.arrived_us) then
    raise exception 'arrivals: only what became of an arrival changes' using errcode = 'integrity_constraint_violation';
  end if;
  if new.changes <> old.changes + 1
    or not (old.state = 'ready' and new.state in ('taken', 'gone', 'ignored') or old.state = 'taken' and new.state in ('done', 'ready', 'gone'))
    or new.state = 'taken' and not exists (
      select 1 from arrival_runs l where l.run_id = new.run_id and l.trigger = new.trigger and l.item = new.item and l.revision = new.revision)
    or new.state = 'done' and new.run_id <> old.run_id
    or new.state = 'done' and not exists (
      select 1 from runs r where r.run_id = old.run_id and r.status in ('completed', 'completed_with_failures', 'empty'))
    or old.state = 'taken' and new.state <> 'done' and exists (select 1 from runs r where r.run_id = old.run_id and r.final = 0)
    or new.state = 'ignored' and not exists (
      select 1 from arrival_orders o where o.trigger = new.trigger and o.item = new.item and o.revision = new.revision and o.action = 'ignore')
  then
    raise exception 'arrivals: illegal change of state' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

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
    execute format('grant %s on arrival_orders to %s', given.privilege, given.role);
  end loop;
end $$;
-- +goose StatementEnd
