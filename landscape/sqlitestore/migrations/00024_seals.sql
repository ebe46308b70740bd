-- +goose Up
-- +goose StatementBegin
-- Keys from which the salts of sealed records follow. That of a run has no source, and chunk -1.
create table salts (
  run_id text not null references runs (run_id),
  source text not null,
  chunk  integer not null check (chunk >= -1 and (chunk = -1) = (source = '')),
  keys   blob not null check (length(keys) > 0 and length(keys) % 16 = 0),
  primary key (run_id, source, chunk)
) strict, without rowid;
create trigger salts_keep before update on salts begin select raise(abort, 'salts: append-only'); end;
create trigger salts_stay before delete on salts begin select raise(abort, 'salts: append-only'); end;
create trigger salts_once before insert on salts when exists (select 1 from salts t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'salts: append-only: it is there already'); end;

-- What binds everything that was recorded of the rows of a chunk when it had gone through the steps.
create table chunk_seals (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  root   blob not null check (length(root) = 32),
  primary key (run_id, source, chunk),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
) strict, without rowid;
create trigger chunk_seals_keep before update on chunk_seals begin select raise(abort, 'chunk_seals: append-only'); end;
create trigger chunk_seals_stay before delete on chunk_seals begin select raise(abort, 'chunk_seals: append-only'); end;
create trigger chunk_seals_once before insert on chunk_seals when exists (select 1 from chunk_seals t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk)
begin select raise(abort, 'chunk_seals: append-only: it is there already'); end;

-- What binds every record of a run that ended.
create table run_seals (
  run_id text not null references runs (run_id),
  epoch  integer not null check (epoch >= 0),
  root   blob not null check (length(root) = 32),
  leaves integer not null check (leaves > 0),
  late   integer not null check (late in (0, 1)),
  tables text not null check (json_valid(tables)),
  marks  blob not null check (length(marks) = 4 * leaves),
  at_us  integer not null check (at_us > 0),
  primary key (run_id, epoch)
) strict, without rowid;
create trigger run_seals_keep before update on run_seals begin select raise(abort, 'run_seals: append-only'); end;
create trigger run_seals_stay before delete on run_seals begin select raise(abort, 'run_seals: append-only'); end;
create trigger run_seals_once before insert on run_seals when exists (select 1 from run_seals t where t.run_id = new.run_id and t.epoch = new.epoch)
begin select raise(abort, 'run_seals: append-only: it is there already'); end;
create trigger run_seals_birth before insert on run_seals
when not exists (select 1 from runs r where r.run_id = new.run_id and r.epoch = new.epoch and r.status <> 'running')
begin select raise(abort, 'run_seals: the run has not ended in this epoch'); end;
-- +goose StatementEnd
