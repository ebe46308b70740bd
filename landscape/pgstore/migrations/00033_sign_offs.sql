-- +goose Up
-- +goose StatementBegin
-- What people signed about runs that ended.
create table sign_offs (
  run_id    text collate "C" not null,
  seq       bigint not null check (seq >= 0),
  seal      bigint not null,
  person    text collate "C" not null check (person <> ''),
  role      text collate "C" not null check (role <> ''),
  statement text collate "C" not null check (statement <> ''),
  signature text collate "C" not null check (signature <> ''),
  approver  text collate "C" not null check (approver <> ''),
  at_us     bigint not null check (at_us > 0),
  primary key (run_id, seq),
  unique (run_id, seal, person, role),
  foreign key (run_id, seal) references run_seals (run_id, seq)
);
create trigger keep before update or delete or truncate on sign_offs for each statement execute function refuse();

-- What is signed is the last seal of a run that has ended.
create function sign_offs_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq > 0 and not exists (select 1 from sign_offs s where s.run_id = a.run_id and s.seq = a.seq - 1)
      or not exists (
        select 1 from run_seals s join runs r using (run_id)
        where s.run_id = a.run_id and s.seq = a.seal and s.epoch = r.epoch and r.status <> 'running'
          and not exists (select 1 from run_seals l where l.run_id = s.run_id and l.seq > s.seq))
  ) then
    raise exception 'sign_offs: append-only: not the next one, or not of the last seal of a run that has ended' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on sign_offs referencing new table as added for each statement execute function sign_offs_birth();

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
    execute format('grant %s on sign_offs to %s', given.privilege, given.role);
  end loop;
end $$;
-- +goose StatementEnd
