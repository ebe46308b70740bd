-- +goose Up
-- +goose StatementBegin
-- Who stores what refers to a payload shares a lock until its transaction ends; who says that payloads may be deleted has it alone. So
-- of the two the second always sees what the first did.
create function payload_lock() returns bigint language sql stable set search_path from current as $$
  select hashtextextended('payloads ' || current_schema(), 0)
$$;

-- Runs of which nothing may be purged, each for a reason: one run, or those of a pipeline that began in a time.
create table holds (
  hold_id  bigint not null check (hold_id > 0),
  run_id   text collate "C" not null,
  pipeline text collate "C" not null check ((run_id = '') <> (pipeline = '')),
  from_us  bigint check (from_us is null or from_us >= 0 and pipeline <> ''),
  until_us bigint check (until_us is null or until_us > coalesce(from_us, 0) and pipeline <> ''),
  actor    text collate "C" not null check (actor <> ''),
  why      text collate "C" not null check (why <> ''),
  at_us    bigint not null check (at_us > 0),
  primary key (hold_id)
);
create trigger keep before update or delete or truncate on holds for each statement execute function refuse();

create function holds_birth() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock_shared(payload_lock());
  if exists (
    select 1 from added a
    where a.hold_id > (select count(*) from holds) or a.run_id <> '' and not exists (select 1 from runs r where r.run_id = a.run_id)
  ) then
    raise exception 'holds: append-only: a hold has the next number, and its run is recorded' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on holds referencing new table as added for each statement execute function holds_birth();

-- Which of them have ended.
create table hold_ends (
  hold_id bigint not null references holds (hold_id),
  actor   text collate "C" not null check (actor <> ''),
  why     text collate "C" not null check (why <> ''),
  at_us   bigint not null check (at_us > 0),
  primary key (hold_id)
);
create trigger keep before update or delete or truncate on hold_ends for each statement execute function refuse();

create view held_runs as
select r.run_id, h.hold_id, h.actor, h.why, h.at_us
from holds h
join runs r on r.run_id = h.run_id or r.pipeline = h.pipeline and r.started_us >= coalesce(h.from_us, 0) and (h.until_us is null or r.started_us < h.until_us)
where not exists (select 1 from hold_ends e where e.hold_id = h.hold_id);

-- Which payloads a run may need, and of which class they are: what was read, what can be computed of that again, or what is kept for ever.
create view payload_refs as
select c.pack as payload, c.run_id, case when c.fold is null then 'source' else 'derived' end as class from chunks c
union all select f.state, f.run_id, 'derived' from folds f where f.state is not null
union all select t.sha256, t.run_id, 'kept' from tables t;
create index chunks_by_pack on chunks (pack);
create index folds_by_state on folds (state) where state is not null;
create index tables_by_sha256 on tables (sha256);

-- Orders to delete payloads.
create table purges (
  purge_id bigint not null check (purge_id > 0),
  actor    text collate "C" not null check (actor <> ''),
  why      text collate "C" not null check (why <> ''),
  rules    text collate "C" not null check (rules::json is not null),
  at_us    bigint not null check (at_us > 0),
  primary key (purge_id)
);
create trigger keep before update or delete or truncate on purges for each statement execute function refuse();

create function purges_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.purge_id > (select count(*) from purges)) then
    raise exception 'purges: append-only: an order has the next number' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on purges referencing new table as added for each statement execute function purges_birth();

-- What such an order is about: the payloads of a class that a run may need, from when on it may do without.
create table purged_runs (
  purge_id bigint not null references purges (purge_id),
  run_id   text collate "C" not null references runs (run_id),
  class    text collate "C" not null check (class in ('source', 'derived')),
  epoch    bigint not null check (epoch >= 0),
  due_us   bigint not null check (due_us > 0),
  primary key (purge_id, run_id, class)
);
create trigger keep before update or delete or truncate on purged_runs for each statement execute function refuse();

create function purged_runs_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (
      select 1 from runs r join purges p on p.purge_id = a.purge_id
      where r.run_id = a.run_id and r.epoch = a.epoch and r.status <> 'running' and a.due_us >= r.finished_us and a.due_us <= p.at_us)
  ) then
    raise exception 'purged_runs: the run has not ended, or is not due' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on purged_runs referencing new table as added for each statement execute function purged_runs_birth();

-- Payloads that may be deleted from here on: nobody may refer to one until it is deleted and was stored again.
create table deletions (
  payload  text collate "C" not null check (payload ~ '^[0-9a-f]{64}$'),
  number   bigint not null check (number > 0),
  purge_id bigint not null references purges (purge_id),
  at_us    bigint not null check (at_us > 0),
  primary key (payload, number)
);
create trigger keep before update or delete or truncate on deletions for each statement execute function refuse();

-- Which of them are deleted.
create table deleted_payloads (
  payload text collate "C" not null,
  number  bigint not null,
  bytes   bigint not null check (bytes >= 0),
  at_us   bigint not null check (at_us > 0),
  primary key (payload, number),
  foreign key (payload, number) references deletions (payload, number)
);
create trigger keep before update or delete or truncate on deleted_payloads for each statement execute function refuse();

-- Which of those were stored again afterwards, for a run that reads the same once more.
create table returned_payloads (
  payload text collate "C" not null,
  number  bigint not null,
  run_id  text collate "C" not null,
  at_us   bigint not null check (at_us > 0),
  primary key (payload, number),
  foreign key (payload, number) references deleted_payloads (payload, number)
);
create trigger keep before update or delete or truncate on returned_payloads for each statement execute function refuse();

create function deletions_birth() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock(payload_lock());
  if exists (
    select 1 from added a
    where a.number <> (select count(*) from deletions t where t.payload = a.payload)
      or a.number > 1 and not exists (select 1 from returned_payloads t where t.payload = a.payload and t.number = a.number - 1)
  ) then
    raise exception 'deletions: append-only: it is being deleted, or is deleted, already' using errcode = 'check_violation';
  end if;
  if exists (
    select 1 from added a join payload_refs f using (payload) join runs r on r.run_id = f.run_id
    where exists (select 1 from held_runs h where h.run_id = r.run_id)
      or not exists (select 1 from purged_runs p where p.purge_id = a.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch)
  ) then
    raise exception 'deletions: payload in use: a run needs it, or is held' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on deletions referencing new table as added for each statement execute function deletions_birth();

-- Payloads that were purged and are not stored again.
create view purged_payloads as
select d.payload, d.number, d.purge_id, p.actor, p.why, e.bytes, d.at_us as begun_us, e.at_us as deleted_us
from deletions d
join purges p using (purge_id)
left join deleted_payloads e using (payload, number)
where not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number);

create function refer() returns trigger language plpgsql set search_path from current as $$
declare
  gone boolean;
begin
  perform pg_advisory_xact_lock_shared(payload_lock());
  execute format('select exists (select 1 from added a join purged_payloads p on p.payload = a.%I)', tg_argv[0]) into gone;
  if gone then
    raise exception 'payload purged: store it again' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger purged after insert on chunks referencing new table as added for each statement execute function refer('pack');
create trigger purged after insert on folds referencing new table as added for each statement execute function refer('state');
create trigger purged after insert on tables referencing new table as added for each statement execute function refer('sha256');

-- Who may read and write the record may do so here. A writer says that a payload is stored again, and nothing else of all this.
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
    if given.privilege = 'SELECT' then
      execute format('grant select on holds, hold_ends, held_runs, payload_refs, purges, purged_runs, deletions, deleted_payloads, returned_payloads, purged_payloads to %s', given.role);
    else
      execute format('grant insert on returned_payloads to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
