-- +goose Up
-- +goose StatementBegin
-- What a version of a pipeline consists of: a document and the files that it is compiled with. The manifest lists them; its SHA-256 is the key.
create table bundles (
  bundle_sha256   text not null check (length(bundle_sha256) = 64),
  document_sha256 text not null check (length(document_sha256) = 64),
  manifest        text not null check (json_valid(manifest)),
  files           integer not null check (files > 0),
  bytes           integer not null check (bytes >= 0),
  primary key (bundle_sha256)
) strict, without rowid;
create trigger bundles_keep before update on bundles begin select raise(abort, 'bundles: append-only'); end;
create trigger bundles_stay before delete on bundles begin select raise(abort, 'bundles: append-only'); end;
create trigger bundles_once before insert on bundles when exists (select 1 from bundles t where t.bundle_sha256 = new.bundle_sha256)
begin select raise(abort, 'bundles: append-only: it is there already'); end;

-- The versions of a pipeline, from 1. A pipeline has a bundle once.
create table pipeline_versions (
  pipeline      text not null check (pipeline <> ''),
  version       integer not null check (version >= 1),
  bundle_sha256 text not null references bundles (bundle_sha256),
  actor         text not null,
  message       text not null,
  code          text not null,
  host          text not null,
  folder        text not null,
  git_commit    text not null,
  git_dirty     integer not null check (git_dirty in (0, 1) and (git_dirty = 0 or git_commit <> '')),
  created_us    integer not null check (created_us > 0),
  primary key (pipeline, version),
  unique (pipeline, bundle_sha256)
) strict, without rowid;
create trigger pipeline_versions_keep before update on pipeline_versions begin select raise(abort, 'pipeline_versions: append-only'); end;
create trigger pipeline_versions_stay before delete on pipeline_versions begin select raise(abort, 'pipeline_versions: append-only'); end;
create trigger pipeline_versions_once before insert on pipeline_versions when exists (
  select 1 from pipeline_versions t where t.pipeline = new.pipeline and (t.version = new.version or t.bundle_sha256 = new.bundle_sha256))
begin select raise(abort, 'pipeline_versions: append-only: it is there already'); end;

create trigger pipeline_versions_birth before insert on pipeline_versions
when not exists (select 1 from bundles b where b.bundle_sha256 = new.bundle_sha256)
  or new.version > 1 and not exists (select 1 from pipeline_versions v where v.pipeline = new.pipeline and v.version = new.version - 1)
begin select raise(abort, 'pipeline_versions: a version has a bundle, and comes after the one before it'); end;

-- Which version of a pipeline is current in an environment: the last row says so.
create table deployments (
  environment   text not null check (environment <> ''),
  pipeline      text not null,
  seq           integer not null check (seq >= 0),
  action        text not null check (action in ('deploy', 'promote', 'rollback', 'retire', 'restore')),
  version       integer not null,
  other_version integer not null check (other_version >= 0),
  actor         text not null,
  why           text not null,
  at_us         integer not null check (at_us > 0),
  primary key (environment, pipeline, seq)
) strict, without rowid;
create trigger deployments_keep before update on deployments begin select raise(abort, 'deployments: append-only'); end;
create trigger deployments_stay before delete on deployments begin select raise(abort, 'deployments: append-only'); end;
create trigger deployments_once before insert on deployments when exists (
  select 1 from deployments t where t.environment = new.environment and t.pipeline = new.pipeline and t.seq = new.seq)
begin select raise(abort, 'deployments: append-only: it is there already'); end;

create trigger deployments_birth before insert on deployments
when not exists (select 1 from pipeline_versions v where v.pipeline = new.pipeline and v.version = new.version)
  or new.seq = 0 and (new.action not in ('deploy', 'promote') or new.other_version <> 0)
  or new.seq > 0 and not exists (
    select 1 from deployments d
    where d.environment = new.environment and d.pipeline = new.pipeline and d.seq = new.seq - 1 and d.version = new.other_version)
begin select raise(abort, 'deployments: it is of a version that is there, and comes after the one before it'); end;

-- Of which deployed version a run is; 0 if it is of a file.
alter table runs add column version integer not null default 0 check (version >= 0);

drop trigger runs_keep;
create trigger runs_keep before update of
  run_id, pipeline, version, started_us, link, parent_run, code, actor, trigger, host, base_dir, document_file, document_sha256, plan_sha256,
  document, plan, params, refs on runs
begin select raise(abort, 'runs: only status, final, epoch, finished_us and reason change'); end;

create trigger runs_version before insert on runs
when new.version > 0 and not exists (
  select 1 from pipeline_versions v join bundles b using (bundle_sha256)
  where v.pipeline = new.pipeline and v.version = new.version and b.document_sha256 = new.document_sha256)
begin select raise(abort, 'runs: a run of a version has the document of that version'); end;

-- One row per pipeline and environment: its current version.
create view current_versions as
select d.environment, d.pipeline, d.version, d.action, d.actor, d.why, d.at_us, v.bundle_sha256, b.document_sha256, v.message, v.git_commit, v.git_dirty
from deployments d
join pipeline_versions v on v.pipeline = d.pipeline and v.version = d.version
join bundles b on b.bundle_sha256 = v.bundle_sha256
where not exists (
  select 1 from deployments n where n.environment = d.environment and n.pipeline = d.pipeline and n.seq > d.seq);
-- +goose StatementEnd
