-- +goose Up
-- +goose StatementBegin
-- How many persons a dangerous order needs, who proposes it included.
create table order_rules (
  verb    text collate "C" not null check (verb <> ''),
  seq     bigint not null check (seq >= 0),
  persons bigint not null check (persons between 1 and 9),
  actor   text collate "C" not null check (actor <> ''),
  why     text collate "C" not null check (why <> ''),
  at_us   bigint not null check (at_us > 0),
  primary key (verb, seq)
);
create trigger keep before update or delete or truncate on order_rules for each statement execute function refuse();

create function order_rules_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.seq > 0 and not exists (select 1 from order_rules r where r.verb = a.verb and r.seq = a.seq - 1)) then
    raise exception 'order_rules: append-only: not the next one' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on order_rules referencing new table as added for each statement execute function order_rules_birth();

-- What people proposed.
create table orders (
  run_id       text collate "C" not null,
  order_sha256 text collate "C" not null unique check (length(order_sha256) = 64),
  verb         text collate "C" not null check (verb <> ''),
  person       text collate "C" not null check (person <> ''),
  statement    text collate "C" not null check (statement <> ''),
  signature    text collate "C" not null check (signature <> ''),
  approver     text collate "C" not null check (approver <> ''),
  expires_us   bigint not null check (expires_us > at_us),
  at_us        bigint not null check (at_us > 0),
  primary key (run_id, order_sha256)
);
create trigger keep before update or delete or truncate on orders for each statement execute function refuse();

create function orders_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.run_id <> '' and not exists (select 1 from runs r where r.run_id = a.run_id)) then
    raise exception 'orders: its run is not recorded' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on orders referencing new table as added for each statement execute function orders_birth();

-- Who signed them besides.
create table order_approvals (
  run_id       text collate "C" not null,
  order_sha256 text collate "C" not null,
  seq          bigint not null check (seq >= 0),
  kind         text collate "C" not null check (kind in ('approval', 'review')),
  person       text collate "C" not null check (person <> ''),
  statement    text collate "C" not null check (statement <> ''),
  signature    text collate "C" not null check (signature <> ''),
  approver     text collate "C" not null check (approver <> ''),
  at_us        bigint not null check (at_us > 0),
  primary key (run_id, order_sha256, seq),
  unique (run_id, order_sha256, kind, person),
  foreign key (run_id, order_sha256) references orders (run_id, order_sha256)
);
create trigger keep before update or delete or truncate on order_approvals for each statement execute function refuse();

-- What became of them.
create table order_executions (
  run_id       text collate "C" not null,
  order_sha256 text collate "C" not null,
  persons      bigint not null check (persons > 0),
  emergency    bigint not null check (emergency in (0, 1)),
  why          text collate "C" not null check ((why <> '') = (emergency = 1)),
  purge_id     bigint references purges (purge_id),
  actor        text collate "C" not null check (actor <> ''),
  at_us        bigint not null check (at_us > 0),
  primary key (run_id, order_sha256),
  foreign key (run_id, order_sha256) references orders (run_id, order_sha256)
);
create trigger keep before update or delete or truncate on order_executions for each statement execute function refuse();

-- Who proposes an order does not approve it; what was executed is only reviewed.
create function order_approvals_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    join orders o using (run_id, order_sha256)
    where a.seq > 0 and not exists (
        select 1 from order_approvals b where b.run_id = a.run_id and b.order_sha256 = a.order_sha256 and b.seq = a.seq - 1)
      or o.person = a.person
      or (a.kind = 'review') <> exists (select 1 from order_executions x where x.run_id = a.run_id and x.order_sha256 = a.order_sha256)
  ) then
    raise exception 'order_approvals: append-only: not the next one, of who proposed the order, or an approval of what was executed' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on order_approvals referencing new table as added for each statement execute function order_approvals_birth();

-- As many persons signed as are counted, and as many as the rule says, unless somebody broke the glass.
create function order_executions_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added x
    join orders o using (run_id, order_sha256)
    where x.persons > 1 + (select count(*) from order_approvals a where a.run_id = x.run_id and a.order_sha256 = x.order_sha256)
      or x.emergency = 0 and x.persons < (select r.persons from order_rules r where r.verb = o.verb order by r.seq desc limit 1)
  ) then
    raise exception 'order_executions: fewer persons signed' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on order_executions referencing new table as added for each statement execute function order_executions_birth();

-- Who may read and write the record may do so here.
do $$
declare
  given record;
  name  text;
begin
  for given in
    select a.grantee::regrole as role, a.privilege_type as privilege
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = 'resumptions'::regclass and a.grantee not in (0, c.relowner) and a.privilege_type in ('SELECT', 'INSERT')
  loop
    foreach name in array array['order_rules', 'orders', 'order_approvals', 'order_executions'] loop
      execute format('grant %s on %I to %s', given.privilege, name, given.role);
    end loop;
  end loop;
end $$;
-- +goose StatementEnd
