-- +goose Up
-- +goose StatementBegin
-- How many persons a dangerous order needs, who proposes it included.
create table order_rules (
  verb    text not null check (verb <> ''),
  seq     integer not null check (seq >= 0),
  persons integer not null check (persons between 1 and 9),
  actor   text not null check (actor <> ''),
  why     text not null check (why <> ''),
  at_us   integer not null check (at_us > 0),
  primary key (verb, seq)
) strict, without rowid;
create trigger order_rules_keep before update on order_rules begin select raise(abort, 'order_rules: append-only'); end;
create trigger order_rules_stay before delete on order_rules begin select raise(abort, 'order_rules: append-only'); end;
create trigger order_rules_once before insert on order_rules when exists (select 1 from order_rules t where t.verb = new.verb and t.seq = new.seq)
begin select raise(abort, 'order_rules: append-only: it is there already'); end;
create trigger order_rules_birth before insert on order_rules when new.seq <> (select count(*) from order_rules r where r.verb = new.verb)
begin select raise(abort, 'order_rules: append-only: not the next one'); end;

-- What people proposed.
create table orders (
  run_id       text not null,
  order_sha256 text not null check (length(order_sha256) = 64),
  verb         text not null check (verb <> ''),
  person       text not null check (person <> ''),
  statement    text not null check (statement <> ''),
  signature    text not null check (signature <> ''),
  approver     text not null check (approver <> ''),
  expires_us   integer not null check (expires_us > at_us),
  at_us        integer not null check (at_us > 0),
  primary key (run_id, order_sha256)
) strict, without rowid;
create trigger orders_keep before update on orders begin select raise(abort, 'orders: append-only'); end;
create trigger orders_stay before delete on orders begin select raise(abort, 'orders: append-only'); end;
create trigger orders_once before insert on orders when exists (select 1 from orders t where t.order_sha256 = new.order_sha256)
begin select raise(abort, 'orders: append-only: it is there already'); end;
create trigger orders_birth before insert on orders when new.run_id <> '' and not exists (select 1 from runs r where r.run_id = new.run_id)
begin select raise(abort, 'orders: its run is not recorded'); end;

-- Who signed them besides.
create table order_approvals (
  run_id       text not null,
  order_sha256 text not null,
  seq          integer not null check (seq >= 0),
  kind         text not null check (kind in ('approval', 'review')),
  person       text not null check (person <> ''),
  statement    text not null check (statement <> ''),
  signature    text not null check (signature <> ''),
  approver     text not null check (approver <> ''),
  at_us        integer not null check (at_us > 0),
  primary key (run_id, order_sha256, seq),
  unique (run_id, order_sha256, kind, person),
  foreign key (run_id, order_sha256) references orders (run_id, order_sha256)
) strict, without rowid;
create trigger order_approvals_keep before update on order_approvals begin select raise(abort, 'order_approvals: append-only'); end;
create trigger order_approvals_stay before delete on order_approvals begin select raise(abort, 'order_approvals: append-only'); end;
create trigger order_approvals_once before insert on order_approvals when exists (
  select 1 from order_approvals t where t.run_id = new.run_id and t.order_sha256 = new.order_sha256 and (t.seq = new.seq or t.kind = new.kind and t.person = new.person))
begin select raise(abort, 'order_approvals: append-only: it is there already'); end;

-- Who proposes an order does not approve it; what was executed is only reviewed.
create trigger order_approvals_birth before insert on order_approvals
when new.seq <> (select count(*) from order_approvals a where a.run_id = new.run_id and a.order_sha256 = new.order_sha256)
  or exists (select 1 from orders o where o.run_id = new.run_id and o.order_sha256 = new.order_sha256 and o.person = new.person)
  or (new.kind = 'review') <> exists (select 1 from order_executions x where x.run_id = new.run_id and x.order_sha256 = new.order_sha256)
begin select raise(abort, 'order_approvals: append-only: not the next one, of who proposed the order, or an approval of what was executed'); end;

-- What became of them.
create table order_executions (
  run_id       text not null,
  order_sha256 text not null,
  persons      integer not null check (persons > 0),
  emergency    integer not null check (emergency in (0, 1)),
  why          text not null check ((why <> '') = (emergency = 1)),
  purge_id     integer references purges (purge_id),
  actor        text not null check (actor <> ''),
  at_us        integer not null check (at_us > 0),
  primary key (run_id, order_sha256),
  foreign key (run_id, order_sha256) references orders (run_id, order_sha256)
) strict, without rowid;
create trigger order_executions_keep before update on order_executions begin select raise(abort, 'order_executions: append-only'); end;
create trigger order_executions_stay before delete on order_executions begin select raise(abort, 'order_executions: append-only'); end;
create trigger order_executions_once before insert on order_executions when exists (
  select 1 from order_executions t where t.run_id = new.run_id and t.order_sha256 = new.order_sha256)
begin select raise(abort, 'order_executions: append-only: it is there already'); end;

-- As many persons signed as are counted, and as many as the rule says, unless somebody broke the glass.
create trigger order_executions_birth before insert on order_executions
when new.persons > 1 + (select count(*) from order_approvals a where a.run_id = new.run_id and a.order_sha256 = new.order_sha256)
  or new.emergency = 0 and new.persons < (
    select r.persons from orders o join order_rules r using (verb)
    where o.run_id = new.run_id and o.order_sha256 = new.order_sha256
    order by r.seq desc limit 1)
begin select raise(abort, 'order_executions: fewer persons signed'); end;
-- +goose StatementEnd
