-- +goose Up
-- +goose StatementBegin
-- What the outputs of runs were found to be when their targets were read again.
create table attestations (
  run_id      text collate "C" not null references runs (run_id),
  seq         bigint not null check (seq >= 0),
  sink        text collate "C" not null check (sink <> ''),
  path        text collate "C" not null check (path <> ''),
  unit        text collate "C" not null check (unit in ('pieces', 'rows')),
  sample      bigint not null check (sample >= 0),
  looked_at   bigint not null check (looked_at = equal + changed + missing + replaced + unknown),
  equal       bigint not null check (equal >= 0),
  changed     bigint not null check (changed >= 0),
  missing     bigint not null check (missing >= 0),
  replaced    bigint not null check (replaced >= 0),
  unknown     bigint not null check (unknown >= 0),
  result      text collate "C" not null check (result in ('equal', 'changed', 'missing', 'replaced', 'unknown')),
  replaced_by text collate "C" not null,
  findings    text collate "C" not null check (findings::json is not null),
  actor       text collate "C" not null check (actor <> ''),
  at_us       bigint not null check (at_us > 0),
  primary key (run_id, seq, sink)
);
create trigger keep before update or delete or truncate on attestations for each statement execute function refuse();

-- Only what a run published can be looked at, and no number is left out.
create function attestations_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added n
    where not exists (select 1 from artifacts a where a.run_id = n.run_id and a.sink = n.sink and a.path = n.path)
      or n.seq > 0 and not exists (select 1 from attestations t where t.run_id = n.run_id and t.seq = n.seq - 1)
  ) then
    raise exception 'attestations: the run published no such output, or the number is not the next one' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on attestations referencing new table as added for each statement execute function attestations_birth();

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
    execute format('grant %s on attestations to %s', given.privilege, given.role);
  end loop;
end $$;
-- +goose StatementEnd
