-- +goose Up
-- +goose StatementBegin
-- What a version of a pipeline consists of: a document and the files that it is compiled with. The manifest lists them; its SHA-256 is the key.
create table bundles (
  bundle_sha256   text collate "C" not null check (length(bundle_sha256) = 64),
  document_sha256 text collate "C" not null check (length(document_sha256) = 64),
  manifest        text collate "C" not null check (manifest::json is not null),
  files           bigint not null check (files > 0),
  bytes           bigint not null check (bytes >= 0),
  primary key (bundle_sha256)
);
create trigger keep before update or delete or truncate on bundles for each statement execute function refuse();

-- The versions of a pipeline, from 1. A pipeline has a bundle once.
create table pipeline_versions (
  pipeline      text collate "C" not null check (pipeline <> ''),
  version       bigint not null check (version >= 1),
  bundle_sha256 text collate "C" not null references bundles (bundle_sha256),
  actor         text collate "C" not null,
  message       text collate "C" not null,
  code          text collate "C" not null,
  host          text collate "C" not null,
  folder        text collate "C" not null,
  git_commit    text collate "C" not null,
  git_dirty     bigint not null check (git_dirty in (0, 1) and (git_dirty = 0 or git_commit <> '')),
  created_us    bigint not null check (created_us > 0),
  primary key (pipeline, version),
  unique (pipeline, bundle_sha256)
);
create trigger keep before update or delete or truncate on pipeline_versions for each statement execute function refuse();

create function pipeline_versions_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.version > 1 and not exists (
      select 1 from pipeline_versions v where v.pipeline = a.pipeline and v.version = a.version - 1)
  ) then
    raise exception 'pipeline_versions: a version has a bundle, and comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on pipeline_versions referencing new table as added
for each statement execute function pipeline_versions_birth();

-- Which version of a pipeline is current in an environment: the last row says so.
create table deployments (
  environment   text collate "C" not null check (environment <> ''),
  pipeline      text collate "C" not null,
  seq           bigint not null check (seq >= 0),
  action        text collate "C" not null check (action in ('deploy', 'promote', 'rollback', 'retire', 'restore')),
  version       bigint not null,
  other_version bigint not null check (other_version >= 0),
  actor         text collate "C" not null,
  why           text collate "C" not null,
  at_us         bigint not null check (at_us > 0),
  primary key (environment, pipeline, seq),
  foreign key (pipeline, version) references pipeline_versions (pipeline, version)
);
create trigger keep before update or delete or truncate on deployments for each statement execute function refuse();

create function deployments_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and (a.action not in ('deploy', 'promote') or a.other_version <> 0)
      or a.seq > 0 and not exists (
        select 1 from deployments d
        where d.environment = a.environment and d.pipeline = a.pipeline and d.seq = a.seq - 1 and d.version = a.other_version)
  ) then
    raise exception 'deployments: it is of a version that is there, and comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on deployments referencing new table as added for each statement execute function deployments_birth();

-- Of which deployed version a run is; 0 if it is of a file.
alter table runs add column version bigint not null default 0 check (version >= 0);

create function runs_version() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'UPDATE' then
    if new.version <> old.version then
      raise exception 'runs: only status, final, epoch, finished_us and reason change' using errcode = 'integrity_constraint_violation';
    end if;
  elsif new.version > 0 and not exists (
    select 1 from pipeline_versions v join bundles b using (bundle_sha256)
    where v.pipeline = new.pipeline and v.version = new.version and b.document_sha256 = new.document_sha256
  ) then
    raise exception 'runs: a run of a version has the document of that version' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger version before insert or update on runs for each row execute function runs_version();

-- One row per pipeline and environment: its current version.
create view current_versions as
select d.environment, d.pipeline, d.version, d.action, d.actor, d.why, d.at_us, v.bundle_sha256, b.document_sha256, v.message, v.git_commit, v.git_dirty
from deployments d
join pipeline_versions v on v.pipeline = d.pipeline and v.version = d.version
join bundles b on b.bundle_sha256 = v.bundle_sha256
where not exists (
  select 1 from deployments n where n.environment = d.environment and n.pipeline = d.pipeline and n.seq > d.seq);

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
    foreach relation in array array['bundles', 'pipeline_versions', 'deployments'] loop
      execute format('grant %s on %I to %s', given.privilege, relation, given.role);
    end loop;
    if given.privilege = 'SELECT' then
      execute format('grant select on current_versions to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
