-- +goose Up
-- +goose StatementBegin
-- Who may use the API, and for what: the last row of each token says so.
create table access_tokens (
  token      text collate "C" not null check (token <> ''),
  seq        bigint not null check (seq >= 0),
  action     text collate "C" not null check (action in ('grant', 'revoke')),
  name       text collate "C" not null check (name <> ''),
  sha256     text collate "C" not null check (length(sha256) = 64),
  roles      text collate "C" not null check (roles::json is not null),
  pipelines  text collate "C" not null check (pipelines::json is not null),
  expires_us bigint not null check (expires_us >= 0),
  actor      text collate "C" not null,
  why        text collate "C" not null,
  at_us      bigint not null check (at_us > 0),
  primary key (token, seq)
);
create trigger keep before update or delete or truncate on access_tokens for each statement execute function refuse();

create function access_tokens_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where (a.seq = 0) <> (a.action = 'grant')
      or a.seq > 0 and not exists (select 1 from access_tokens t where t.token = a.token and t.seq = a.seq - 1 and t.sha256 = a.sha256 and t.action <> 'revoke')
  ) then
    raise exception 'access_tokens: append-only: a token is granted, and then revoked' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on access_tokens referencing new table as added for each statement execute function access_tokens_birth();

-- Who was shown values of rows.
create table disclosures (
  disclosure   text collate "C" not null check (disclosure <> ''),
  run_id       text collate "C" not null,
  actor        text collate "C" not null,
  access_token text collate "C" not null,
  what         text collate "C" not null check (what <> ''),
  subject      text collate "C" not null,
  at_us        bigint not null check (at_us > 0),
  primary key (disclosure)
);
create trigger keep before update or delete or truncate on disclosures for each statement execute function refuse();

-- Who may read and write the record may do so here.
do $$
declare
  given record;
  relation text;
begin
  for given in
    select a.grantee::regrole as role, a.privilege_type as privilege
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = 'resumptions'::regclass and a.grantee not in (0, c.relowner) and a.privilege_type in ('SELECT', 'INSERT')
  loop
    foreach relation in array array['access_tokens', 'disclosures'] loop
      execute format('grant %s on %I to %s', given.privilege, relation, given.role);
    end loop;
  end loop;
end $$;
-- +goose StatementEnd
