-- +goose Up
-- +goose StatementBegin
-- A run may be sealed more than once in an epoch: when it is stopped, and cancelled after that. No release made a seal of a run before this.
drop table run_seals;
-- What binds every record of a run that ended.
create table run_seals (
  run_id text not null references runs (run_id),
  seq    integer not null check (seq >= 0),
  epoch  integer not null check (epoch >= 0),
  root   blob not null check (length(root) = 32),
  leaves integer not null check (leaves > 0),
  late   integer not null check (late in (0, 1)),
  tables text not null check (json_valid(tables)),
  marks  blob not null check (length(marks) = 4 * leaves),
  at_us  integer not null check (at_us > 0),
  primary key (run_id, seq)
) strict, without rowid;
create trigger run_seals_keep before update on run_seals begin select raise(abort, 'run_seals: append-only'); end;
create trigger run_seals_stay before delete on run_seals begin select raise(abort, 'run_seals: append-only'); end;
create trigger run_seals_once before insert on run_seals when exists (select 1 from run_seals t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'run_seals: append-only: it is there already'); end;
create trigger run_seals_birth before insert on run_seals
when not exists (select 1 from runs r where r.run_id = new.run_id and r.epoch = new.epoch and r.status <> 'running')
begin select raise(abort, 'run_seals: the run has not ended in this epoch'); end;
create trigger run_seals_next before insert on run_seals
when new.seq > (select count(*) from run_seals t where t.run_id = new.run_id)
begin select raise(abort, 'run_seals: a seal comes after the one before it'); end;
-- +goose StatementEnd
