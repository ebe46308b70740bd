-- +goose Up
-- +goose StatementBegin
-- Rows in targets of sinks that orders to forget delete there, and what became of each.
create table erasures (
  run_id   text collate "C" not null,
  sink     text collate "C" not null,
  line     bigint not null check (line >= 1),
  purge_id bigint not null references purges (purge_id),
  primary key (run_id, sink, line),
  foreign key (run_id, sink) references nodes (run_id, node)
);
create trigger keep before update or delete or truncate on erasures for each statement execute function refuse();

create function erasures_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from forgotten f where f.run_id = a.run_id and f.purge_id = a.purge_id)
      or exists (select 1 from forgettings d where d.purge_id = a.purge_id)
  ) then
    raise exception 'erasures: the order forgets no row of the run, or was carried out' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on erasures referencing new table as added for each statement execute function erasures_birth();

create table erased (
  run_id text collate "C" not null,
  sink   text collate "C" not null,
  line   bigint not null,
  fate   text collate "C" not null check (fate in ('deleted', 'gone', 'edited', 'replaced', 'unclear', 'left')),
  at_us  bigint not null check (at_us > 0),
  primary key (run_id, sink, line),
  foreign key (run_id, sink, line) references erasures (run_id, sink, line)
);
create trigger keep before update or delete or truncate on erased for each statement execute function refuse();

create or replace function forgettings_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.rows <> (select count(*) from forgotten f where f.purge_id = a.purge_id)) then
    raise exception 'forgettings: the order forgets another number of rows' using errcode = 'check_violation';
  end if;
  if exists (
    select 1 from added a join erasures e using (purge_id)
    where not exists (select 1 from erased d where d.run_id = e.run_id and d.sink = e.sink and d.line = e.line)
  ) then
    raise exception 'forgettings: the order has rows in targets to delete' using errcode = 'check_violation';
  end if;
  return null;
end $$;

-- Who may read the record, and purge, may do so here.
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
      execute format('grant select on erasures, erased to %s', given.role);
    elsif given.of = 'purges' then
      execute format('grant insert on erasures, erased to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
