-- +goose Up
-- +goose StatementBegin
-- A run may be sealed more than once in an epoch: when it is stopped, and cancelled after that. No release made a seal of a run before this.
drop table run_seals;
-- What binds every record of a run that ended.
create table run_seals (
  run_id text collate "C" not null references runs (run_id),
  seq    bigint not null check (seq >= 0),
  epoch  bigint not null check (epoch >= 0),
  root   bytea not null check (length(root) = 32),
  leaves bigint not null check (leaves > 0),
  late   bigint not null check (late in (0, 1)),
  tables text collate "C" not null check (tables::json is not null),
  marks  bytea not null check (length(marks) = 4 * leaves),
  at_us  bigint not null check (at_us > 0),
  primary key (run_id, seq)
);
create trigger keep before update or delete or truncate on run_seals for each statement execute function refuse();

create or replace function run_seals_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from runs r where r.run_id = a.run_id and r.epoch = a.epoch and r.status <> 'running')
  ) then
    raise exception 'run_seals: the run has not ended in this epoch' using errcode = 'check_violation';
  end if;
  if exists (
    select 1 from added a
    where a.seq > 0 and not exists (select 1 from run_seals s where s.run_id = a.run_id and s.seq = a.seq - 1)
  ) then
    raise exception 'run_seals: a seal comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on run_seals referencing new table as added for each statement execute function run_seals_birth();

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
    execute format('grant %s on run_seals to %s', given.privilege, given.role);
  end loop;
end $$;
-- +goose StatementEnd
