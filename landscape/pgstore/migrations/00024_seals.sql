-- +goose Up
-- +goose StatementBegin
-- Keys from which the salts of sealed records follow. That of a run has no source, and chunk -1.
create table salts (
  run_id text collate "C" not null references runs (run_id),
  source text collate "C" not null,
  chunk  bigint not null check (chunk >= -1 and (chunk = -1) = (source = '')),
  keys   bytea not null check (length(keys) > 0 and length(keys) % 16 = 0),
  primary key (run_id, source, chunk)
);
create trigger keep before update or delete or truncate on salts for each statement execute function refuse();

-- What binds everything that was recorded of the rows of a chunk when it had gone through the steps.
create table chunk_seals (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  root   bytea not null check (length(root) = 32),
  primary key (run_id, source, chunk),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
);
create trigger keep before update or delete or truncate on chunk_seals for each statement execute function refuse();

-- What binds every record of a run that ended.
create table run_seals (
  run_id text collate "C" not null references runs (run_id),
  epoch  bigint not null check (epoch >= 0),
  root   bytea not null check (length(root) = 32),
  leaves bigint not null check (leaves > 0),
  late   bigint not null check (late in (0, 1)),
  tables text collate "C" not null check (tables::json is not null),
  marks  bytea not null check (length(marks) = 4 * leaves),
  at_us  bigint not null check (at_us > 0),
  primary key (run_id, epoch)
);
create trigger keep before update or delete or truncate on run_seals for each statement execute function refuse();

create function run_seals_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from runs r where r.run_id = a.run_id and r.epoch = a.epoch and r.status <> 'running')
  ) then
    raise exception 'run_seals: the run has not ended in this epoch' using errcode = 'check_violation';
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
    execute format('grant %s on salts, chunk_seals, run_seals to %s', given.privilege, given.role);
  end loop;
end $$;
-- +goose StatementEnd
