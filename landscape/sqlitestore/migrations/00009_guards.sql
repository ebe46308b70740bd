-- +goose Up
-- +goose StatementBegin
-- The tables that were made anew, and the new ones, only grow. 00002 says why a guard refuses what is there already.
create trigger runs_stay before delete on runs begin select raise(abort, 'runs: append-only'); end;
create trigger effect_events_keep before update on effect_events begin select raise(abort, 'effect_events: append-only'); end;
create trigger effect_events_stay before delete on effect_events begin select raise(abort, 'effect_events: append-only'); end;
create trigger resumptions_keep before update on resumptions begin select raise(abort, 'resumptions: append-only'); end;
create trigger resumptions_stay before delete on resumptions begin select raise(abort, 'resumptions: append-only'); end;
create trigger retried_keep before update on retried begin select raise(abort, 'retried: append-only'); end;
create trigger retried_stay before delete on retried begin select raise(abort, 'retried: append-only'); end;

create trigger runs_once before insert on runs when exists (select 1 from runs t where t.run_id = new.run_id)
begin select raise(abort, 'runs: append-only: it is there already'); end;
create trigger effect_events_once before insert on effect_events when exists (select 1 from effect_events t where t.run_id = new.run_id and t.sink = new.sink and t.source = new.source and t.chunk = new.chunk and t.fence = new.fence and t.event = new.event and t.worker = new.worker and t.at_us = new.at_us)
begin select raise(abort, 'effect_events: append-only: it is there already'); end;
create trigger resumptions_once before insert on resumptions when exists (select 1 from resumptions t where t.run_id = new.run_id and t.epoch = new.epoch)
begin select raise(abort, 'resumptions: append-only: it is there already'); end;
create trigger retried_once before insert on retried when exists (select 1 from retried t where t.parent_run = new.parent_run and t.source = new.source and t.row = new.row)
begin select raise(abort, 'retried: append-only: it is there already'); end;

-- A run is born running, in epoch 0, of a run that is there or of none.
create trigger runs_birth before insert on runs
when new.status <> 'running' or new.epoch <> 0
  or new.parent_run <> '' and not exists (select 1 from runs p where p.run_id = new.parent_run)
begin select raise(abort, 'runs: a run begins as running, in epoch 0, of no run or of one that is there'); end;

create trigger runs_keep before update of
  run_id, pipeline, started_us, link, parent_run, code, actor, trigger, host, base_dir, document_file, document_sha256, plan_sha256,
  document, plan, params, refs on runs
begin select raise(abort, 'runs: only status, final, epoch, finished_us and reason change'); end;

-- A run ends out of running. It is taken up again in the next epoch, which is on record by then, even if it seems to run: unless all is
-- done, or it was cancelled for good. What is not done can be cancelled, and what is cancelled can be made final.
create trigger runs_status before update on runs
when old.final = 1 or not (
  new.epoch = old.epoch + 1 and new.status = 'running' and new.final = 0
    and old.status in ('running', 'failed', 'interrupted', 'blocked', 'cancelled')
    and exists (select 1 from resumptions r where r.run_id = new.run_id and r.epoch = new.epoch)
  or new.epoch = old.epoch and (
    old.status = 'running' and new.status <> 'running'
    or old.status in ('failed', 'interrupted', 'blocked') and new.status = 'cancelled'
    or old.status = 'cancelled' and new.status = 'cancelled' and new.final = 1 and new.finished_us is old.finished_us
  )
)
begin select raise(abort, 'runs: illegal change of status'); end;

-- What begins with a resumption is the next epoch of a run as it was.
create trigger resumptions_birth before insert on resumptions
when not exists (
  select 1 from runs r where r.run_id = new.run_id and r.epoch = new.epoch - 1 and r.status = new.was and r.final = 0)
begin select raise(abort, 'resumptions: not the next epoch of the run'); end;

-- A record is fed again by a run that says so, if it was refused and no sink got it.
create trigger retried_birth before insert on retried
when not exists (select 1 from runs r where r.run_id = new.run_id and r.parent_run = new.parent_run and r.link = 'retry')
  or not exists (
    select 1 from errors x where x.run_id = new.parent_run and x.source = new.source and x.row = new.row and x.sent_to = '__quarantine__')
begin select raise(abort, 'retried: not a quarantined record of the run that it is linked to'); end;

-- reserved > prepared > in_flight (again with every attempt) > finalized or blocked. Out of blocked leads what a person said.
drop trigger effects_state;
create trigger effects_state before update on effects
when not (
  old.state = 'reserved' and new.state = 'prepared'
  or old.state in ('prepared', 'in_flight') and new.state = 'in_flight' and new.fence = old.fence + 1
    and new.rows = old.rows and new.bytes = old.bytes
    and (old.ordinal is null or new.ordinal = old.ordinal and new.byte_offset = old.byte_offset)
  or old.state = 'in_flight' and new.state in ('finalized', 'blocked') and new.fence = old.fence
    and new.rows = old.rows and new.bytes = old.bytes
    and new.ordinal is old.ordinal and new.byte_offset is old.byte_offset
  or old.state = 'blocked' and new.state in ('finalized', 'in_flight') and new.fence = old.fence
    and new.rows = old.rows and new.bytes = old.bytes
    and new.ordinal is old.ordinal and new.byte_offset is old.byte_offset
    and exists (
      select 1 from effect_events v
      where v.run_id = new.run_id and v.sink = new.sink and v.source = new.source and v.chunk = new.chunk and v.fence = new.fence
        and v.event = 'resolved' and v.detail = iif(new.state = 'finalized', 'applied', 'not_applied'))
)
begin select raise(abort, 'effects: illegal change of state'); end;
-- +goose StatementEnd
