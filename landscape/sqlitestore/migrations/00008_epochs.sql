-- +goose Up
-- +goose StatementBegin
-- Foreign keys are off while this runs. Runs that were recorded before there were epochs are in epoch 0.

drop view run_summary;

-- What changes and what lists show comes first: it is read without the pages of the long texts.
create table runs_next (
  run_id          text primary key check (run_id <> ''),
  epoch           integer not null check (epoch >= 0),
  pipeline        text not null check (pipeline <> ''),
  status          text not null check (status in ('running', 'completed', 'completed_with_failures', 'empty', 'failed', 'interrupted', 'blocked', 'cancelled')),
  final           integer not null check (final in (0, 1)),
  started_us      integer not null check (started_us > 0),
  finished_us     integer,
  reason          text not null,
  link            text not null check (link in ('', 'fork', 'retry')),
  parent_run      text not null check (parent_run <> run_id),
  code            text not null,
  actor           text not null,
  trigger         text not null,
  host            text not null,
  base_dir        text not null,
  document_file   text not null,
  document_sha256 text not null check (length(document_sha256) = 64 and document_sha256 not glob '*[^0-9a-f]*'),
  plan_sha256     text not null check (length(plan_sha256) = 64 and plan_sha256 not glob '*[^0-9a-f]*'),
  document        text not null,
  plan            text not null check (json_valid(plan)),
  params          text not null check (json_valid(params)),
  refs            text not null check (json_valid(refs)),
  check ((status = 'running') = (finished_us is null)),
  check (final = 0 or status = 'cancelled'),
  check ((link = '') = (parent_run = ''))
) strict, without rowid;
insert into runs_next
select run_id, 0, pipeline, status, 0, started_us, finished_us, reason, '', '', code, actor, trigger, host, base_dir, '', document_sha256,
  plan_sha256, document, plan, params, refs
from runs;
drop table runs;
alter table runs_next rename to runs;

-- Who took a run up again: one row for each epoch but the first.
create table resumptions (
  run_id text not null references runs (run_id),
  epoch  integer not null check (epoch >= 1),
  claim  text not null check (claim <> ''),
  was    text not null check (was in ('running', 'failed', 'interrupted', 'blocked', 'cancelled')),
  actor  text not null,
  why    text not null,
  code   text not null,
  host   text not null,
  at_us  integer not null check (at_us > 0),
  primary key (run_id, epoch)
) strict, without rowid;

-- Records that a linked run feeds again. The key is the record's: no two runs feed the same one.
create table retried (
  parent_run text not null references runs (run_id),
  source     text not null,
  row        integer not null check (row >= 1),
  run_id     text not null references runs (run_id),
  primary key (parent_run, source, row)
) strict, without rowid;
create index retried_by_run on retried (run_id);

alter table folds add column turn integer check (turn >= 0);
alter table folds add column deadline_us integer check (deadline_us > 0);

create table effect_events_next (
  run_id text not null,
  sink   text not null,
  source text not null,
  chunk  integer not null,
  fence  integer not null check (fence >= 0),
  event  text not null check (event in ('began', 'finalized', 'fenced', 'failed', 'reconciled', 'resolved')),
  worker text not null,
  at_us  integer not null check (at_us > 0),
  detail text not null,
  primary key (run_id, sink, source, chunk, fence, event, worker, at_us),
  foreign key (run_id, sink, source, chunk) references effects (run_id, sink, source, chunk),
  check (event <> 'resolved' or detail in ('applied', 'not_applied'))
) strict, without rowid;
insert into effect_events_next select run_id, sink, source, chunk, fence, event, worker, at_us, detail from effect_events;
drop table effect_events;
alter table effect_events_next rename to effect_events;

create table orphans (count integer constraint "records point to others that are not there: see pragma foreign_key_check" check (count = 0));
insert into orphans select count(*) from pragma_foreign_key_check;
drop table orphans;
-- +goose StatementEnd
