-- +goose Up
-- +goose StatementBegin
-- What people decided about what arrived: that it gets no run, or arrives again. What arrived last at a trigger is found by when that was.
create table arrival_orders (
  trigger  text not null,
  item     text not null,
  revision integer not null,
  action   text not null check (action in ('ignore', 'again')),
  actor    text not null,
  why      text not null,
  at_us    integer not null check (at_us > 0),
  primary key (trigger, item, revision, action)
) strict, without rowid;
create trigger arrival_orders_keep before update on arrival_orders begin select raise(abort, 'arrival_orders: append-only'); end;
create trigger arrival_orders_stay before delete on arrival_orders begin select raise(abort, 'arrival_orders: append-only'); end;
create trigger arrival_orders_once before insert on arrival_orders
when exists (select 1 from arrival_orders t where t.trigger = new.trigger and t.item = new.item and t.revision = new.revision and t.action = new.action)
begin select raise(abort, 'arrival_orders: append-only: it is there already'); end;
create trigger arrival_orders_birth before insert on arrival_orders
when not exists (
  select 1 from arrivals a
  where a.trigger = new.trigger and a.item = new.item and a.revision = new.revision and a.state = 'ready'
    and (new.action = 'ignore' or a.revision > 0 and a.changes = 0))
begin select raise(abort, 'arrival_orders: append-only: not an arrival that waits'); end;

create index arrivals_by_time on arrivals (trigger, arrived_us, item, revision);
drop trigger arrivals_change;
create trigger arrivals_change before update on arrivals
when new.changes <> old.changes + 1
  or not (old.state = 'ready' and new.state in ('taken', 'gone', 'ignored') or old.state = 'taken' and new.state in ('done', 'ready', 'gone'))
  or new.state = 'taken' and not exists (
    select 1 from arrival_runs l where l.run_id = new.run_id and l.trigger = new.trigger and l.item = new.item and l.revision = new.revision)
  or new.state = 'done' and new.run_id <> old.run_id
  or new.state = 'done' and not exists (
    select 1 from runs r where r.run_id = old.run_id and r.status in ('completed', 'completed_with_failures', 'empty'))
  or old.state = 'taken' and new.state <> 'done' and exists (select 1 from runs r where r.run_id = old.run_id and r.final = 0)
  or new.state = 'ignored' and not exists (
    select 1 from arrival_orders o where o.trigger = new.trigger and o.item = new.item and o.revision = new.revision and o.action = 'ignore')
begin select raise(abort, 'arrivals: illegal change of state'); end;
drop trigger arrivals_keep; -- what is made last is asked first: it says more
create trigger arrivals_keep before update of trigger, item, revision, place, arrived_us, payload on arrivals
begin select raise(abort, 'arrivals: only what became of an arrival changes'); end;
-- +goose StatementEnd
