-- +goose Up
-- +goose StatementBegin
-- What the document says must be true of a run, and what came of it.
create table policies (
  run_id    text collate "C" not null references runs (run_id),
  policy    text collate "C" not null check (policy <> ''),
  seq       bigint not null check (seq >= 0),
  assertion text collate "C" not null check (assertion <> ''),
  gate      text collate "C" not null check (gate in ('publish', 'warn', 'seal')),
  primary key (run_id, policy),
  unique (run_id, seq)
);
create trigger keep before update or delete or truncate on policies for each statement execute function refuse();

create table policy_results (
  run_id  text collate "C" not null,
  policy  text collate "C" not null,
  attempt bigint not null check (attempt >= 0),
  epoch   bigint not null check (epoch >= 0),
  result  text collate "C" not null check (result in ('passed', 'failed', 'error', 'waived')),
  detail  text collate "C" not null check (detail <> ''),
  figures text collate "C" not null check (figures::json is not null),
  actor   text collate "C" not null check ((actor <> '') = (result = 'waived')),
  at_us   bigint not null check (at_us > 0),
  primary key (run_id, policy, attempt),
  foreign key (run_id, policy) references policies (run_id, policy)
);
create trigger keep before update or delete or truncate on policy_results for each statement execute function refuse();

-- A policy that passed or was waived stands; only one that did not pass is evaluated again, or waived.
create function policy_results_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from runs r where r.run_id = a.run_id and r.epoch = a.epoch)
      or a.attempt = 0 and a.result = 'waived'
      or a.attempt > 0 and not exists (
        select 1 from policy_results p
        where p.run_id = a.run_id and p.policy = a.policy and p.attempt = a.attempt - 1 and p.result in ('failed', 'error'))
  ) then
    raise exception 'policy_results: the policy stands, or the result is not the next one' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on policy_results referencing new table as added for each statement execute function policy_results_birth();

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
    execute format('grant %s on policies, policy_results to %s', given.privilege, given.role);
  end loop;
end $$;
-- +goose StatementEnd
