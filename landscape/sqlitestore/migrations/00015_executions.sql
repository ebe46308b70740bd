-- +goose Up
-- +goose StatementBegin
-- Which workflow executions work for a run in an epoch, and what Temporal knows of how they began. An execution that is not here has no
-- right to work in an epoch that has some.
create table executions (
  run_id    text not null references runs (run_id),
  epoch     integer not null check (epoch >= 0),
  seq       integer not null check (seq >= 0),
  execution text not null check (execution <> ''),
  workflow  text not null check (workflow <> ''),
  namespace text not null,
  identity  text not null,
  principal text not null,
  parent    text not null,
  schedule  text not null,
  at_us     integer not null check (at_us > 0),
  primary key (run_id, epoch, seq)
) strict, without rowid;
create trigger executions_keep before update on executions begin select raise(abort, 'executions: append-only'); end;
create trigger executions_stay before delete on executions begin select raise(abort, 'executions: append-only'); end;
create trigger executions_once before insert on executions when exists (select 1 from executions t where t.run_id = new.run_id and t.epoch = new.epoch and t.seq = new.seq)
begin select raise(abort, 'executions: append-only: it is there already'); end;

-- The first execution of an epoch comes with the run or with the resumption, the others one after the other.
create trigger executions_birth before insert on executions
when new.seq = 0 and new.epoch > 0 and not exists (
    select 1 from resumptions r where r.run_id = new.run_id and r.epoch = new.epoch and r.claim = new.execution)
  or new.seq > 0 and not exists (
    select 1 from executions e where e.run_id = new.run_id and e.epoch = new.epoch and e.seq = new.seq - 1)
begin select raise(abort, 'executions: it neither begins the epoch nor continues an execution'); end;
-- +goose StatementEnd
