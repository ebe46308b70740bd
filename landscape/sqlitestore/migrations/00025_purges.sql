-- +goose Up
-- +goose StatementBegin
-- Runs of which nothing may be purged, each for a reason: one run, or those of a pipeline that began in a time.
create table holds (
  hold_id  integer not null check (hold_id > 0),
  run_id   text not null,
  pipeline text not null check ((run_id = '') <> (pipeline = '')),
  from_us  integer check (from_us is null or from_us >= 0 and pipeline <> ''),
  until_us integer check (until_us is null or until_us > coalesce(from_us, 0) and pipeline <> ''),
  actor    text not null check (actor <> ''),
  why      text not null check (why <> ''),
  at_us    integer not null check (at_us > 0),
  primary key (hold_id)
) strict;
create trigger holds_keep before update on holds begin select raise(abort, 'holds: append-only'); end;
create trigger holds_stay before delete on holds begin select raise(abort, 'holds: append-only'); end;
create trigger holds_birth before insert on holds
when new.hold_id is not (select coalesce(max(t.hold_id), 0) + 1 from holds t) or new.run_id <> '' and not exists (select 1 from runs r where r.run_id = new.run_id)
begin select raise(abort, 'holds: append-only: a hold has the next number, and its run is recorded'); end;

-- Which of them have ended.
create table hold_ends (
  hold_id integer not null references holds (hold_id),
  actor   text not null check (actor <> ''),
  why     text not null check (why <> ''),
  at_us   integer not null check (at_us > 0),
  primary key (hold_id)
) strict;
create trigger hold_ends_keep before update on hold_ends begin select raise(abort, 'hold_ends: append-only'); end;
create trigger hold_ends_stay before delete on hold_ends begin select raise(abort, 'hold_ends: append-only'); end;
create trigger hold_ends_once before insert on hold_ends when exists (select 1 from hold_ends t where t.hold_id = new.hold_id)
begin select raise(abort, 'hold_ends: append-only: it is there already'); end;

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
  purge_id integer not null check (purge_id > 0),
  actor    text not null check (actor <> ''),
  why      text not null check (why <> ''),
  rules    text not null check (json_valid(rules)),
  at_us    integer not null check (at_us > 0),
  primary key (purge_id)
) strict;
create trigger purges_keep before update on purges begin select raise(abort, 'purges: append-only'); end;
create trigger purges_stay before delete on purges begin select raise(abort, 'purges: append-only'); end;
create trigger purges_birth before insert on purges when new.purge_id is not (select coalesce(max(t.purge_id), 0) + 1 from purges t)
begin select raise(abort, 'purges: append-only: an order has the next number'); end;

-- What such an order is about: the payloads of a class that a run may need, from when on it may do without.
create table purged_runs (
  purge_id integer not null references purges (purge_id),
  run_id   text not null references runs (run_id),
  class    text not null check (class in ('source', 'derived')),
  epoch    integer not null check (epoch >= 0),
  due_us   integer not null check (due_us > 0),
  primary key (purge_id, run_id, class)
) strict, without rowid;
create trigger purged_runs_keep before update on purged_runs begin select raise(abort, 'purged_runs: append-only'); end;
create trigger purged_runs_stay before delete on purged_runs begin select raise(abort, 'purged_runs: append-only'); end;
create trigger purged_runs_once before insert on purged_runs
when exists (select 1 from purged_runs t where t.purge_id = new.purge_id and t.run_id = new.run_id and t.class = new.class)
begin select raise(abort, 'purged_runs: append-only: it is there already'); end;
create trigger purged_runs_birth before insert on purged_runs
when not exists (
    select 1 from runs r join purges p on p.purge_id = new.purge_id
    where r.run_id = new.run_id and r.epoch = new.epoch and r.status <> 'running' and new.due_us >= r.finished_us and new.due_us <= p.at_us)
begin select raise(abort, 'purged_runs: the run has not ended, or is not due'); end;

-- Payloads that may be deleted from here on: nobody may refer to one until it is deleted and was stored again.
create table deletions (
  payload  text not null check (length(payload) = 64 and payload not glob '*[^0-9a-f]*'),
  number   integer not null check (number > 0),
  purge_id integer not null references purges (purge_id),
  at_us    integer not null check (at_us > 0),
  primary key (payload, number)
) strict, without rowid;
create trigger deletions_keep before update on deletions begin select raise(abort, 'deletions: append-only'); end;
create trigger deletions_stay before delete on deletions begin select raise(abort, 'deletions: append-only'); end;
create trigger deletions_birth before insert on deletions
when new.number <> (select count(*) + 1 from deletions t where t.payload = new.payload)
  or new.number > 1 and not exists (select 1 from returned_payloads t where t.payload = new.payload and t.number = new.number - 1)
begin select raise(abort, 'deletions: append-only: it is being deleted, or is deleted, already'); end;
create trigger deletions_free before insert on deletions
when exists (
  select 1 from payload_refs f join runs r using (run_id)
  where f.payload = new.payload and (
    exists (select 1 from held_runs h where h.run_id = r.run_id)
    or not exists (select 1 from purged_runs p where p.purge_id = new.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch)))
begin select raise(abort, 'deletions: payload in use: a run needs it, or is held'); end;

-- Which of them are deleted.
create table deleted_payloads (
  payload text not null,
  number  integer not null,
  bytes   integer not null check (bytes >= 0),
  at_us   integer not null check (at_us > 0),
  primary key (payload, number),
  foreign key (payload, number) references deletions (payload, number)
) strict, without rowid;
create trigger deleted_payloads_keep before update on deleted_payloads begin select raise(abort, 'deleted_payloads: append-only'); end;
create trigger deleted_payloads_stay before delete on deleted_payloads begin select raise(abort, 'deleted_payloads: append-only'); end;
create trigger deleted_payloads_once before insert on deleted_payloads when exists (select 1 from deleted_payloads t where t.payload = new.payload and t.number = new.number)
begin select raise(abort, 'deleted_payloads: append-only: it is there already'); end;

-- Which of those were stored again afterwards, for a run that reads the same once more.
create table returned_payloads (
  payload text not null,
  number  integer not null,
  run_id  text not null,
  at_us   integer not null check (at_us > 0),
  primary key (payload, number),
  foreign key (payload, number) references deleted_payloads (payload, number)
) strict, without rowid;
create trigger returned_payloads_keep before update on returned_payloads begin select raise(abort, 'returned_payloads: append-only'); end;
create trigger returned_payloads_stay before delete on returned_payloads begin select raise(abort, 'returned_payloads: append-only'); end;
create trigger returned_payloads_once before insert on returned_payloads when exists (select 1 from returned_payloads t where t.payload = new.payload and t.number = new.number)
begin select raise(abort, 'returned_payloads: append-only: it is there already'); end;

-- Payloads that were purged and are not stored again.
create view purged_payloads as
select d.payload, d.number, d.purge_id, p.actor, p.why, e.bytes, d.at_us as begun_us, e.at_us as deleted_us
from deletions d
join purges p using (purge_id)
left join deleted_payloads e using (payload, number)
where not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number);

create trigger chunks_purged before insert on chunks
when exists (select 1 from deletions d where d.payload = new.pack and not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number))
begin select raise(abort, 'payload purged: store it again'); end;
create trigger folds_purged before insert on folds
when new.state is not null and exists (select 1 from deletions d where d.payload = new.state and not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number))
begin select raise(abort, 'payload purged: store it again'); end;
create trigger tables_purged before insert on tables
when exists (select 1 from deletions d where d.payload = new.sha256 and not exists (select 1 from returned_payloads t where t.payload = d.payload and t.number = d.number))
begin select raise(abort, 'payload purged: store it again'); end;
-- +goose StatementEnd
