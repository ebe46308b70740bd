-- +goose Up
-- +goose StatementBegin
-- Which workflow executions work for a run in an epoch, and what Temporal knows of how they began. An execution that is not here has no
-- right to work in an epoch that has some.
create table executions (
  run_id    text collate "C" not null references runs (run_id),
  epoch     bigint not null check (epoch >= 0),
  seq       bigint not null check (seq >= 0),
  execution text collate "C" not null check (execution <> ''),
  workflow  text collate "C" not null check (workflow <> ''),
  namespace text collate "C" not null,
  identity  text collate "C" not null,
  principal text collate "C" not null,
  parent    text collate "C" not null,
  schedule  text collate "C" not null,
  at_us     bigint not null check (at_us > 0),
  primary key (run_id, epoch, seq)
);
create trigger keep before update or delete or truncate on executions for each statement execute function refuse();

-- The first execution of an epoch comes with the run or with the resumption, the others one after the other.
create function executions_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and a.epoch > 0 and not exists (
        select 1 from resumptions r where r.run_id = a.run_id and r.epoch = a.epoch and r.claim = a.execution)
      or a.seq > 0 and not exists (
        select 1 from executions e where e.run_id = a.run_id and e.epoch = a.epoch and e.seq = a.seq - 1)
  ) then
    raise exception 'executions: it neither begins the epoch nor continues an execution' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on executions referencing new table as added for each statement execute function executions_birth();

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
    execute format('grant %s on executions to %s', given.privilege, given.role);
  end loop;
end $$;
-- +goose StatementEnd
