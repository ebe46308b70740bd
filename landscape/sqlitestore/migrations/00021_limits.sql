-- +goose Up
-- +goose StatementBegin
-- On which terms a run begins: how many places of which gates it holds while it is running, and wants while its start waits.
alter table starts add column terms text not null default '' check (terms = '' or json_valid(terms));

-- What decisions about places move, so that of two that are made side by side the second is made again. Nothing is counted here.
create table gates (
  gate text not null check (gate <> ''),
  turn integer not null check (turn >= 0),
  primary key (gate)
) strict, without rowid;
create trigger gates_stay before delete on gates begin select raise(abort, 'gates: append-only'); end;
create trigger gates_once before insert on gates when exists (select 1 from gates t where t.gate = new.gate)
begin select raise(abort, 'gates: append-only: it is there already'); end;
create trigger gates_birth before insert on gates when new.turn <> 0
begin select raise(abort, 'gates: not the beginning: the first turn is 0'); end;
create trigger gates_change before update on gates when new.gate <> old.gate or new.turn <> old.turn + 1
begin select raise(abort, 'gates: illegal change: a turn comes after the one before it'); end;

-- How many places a pool has: the last row says so.
create table limits (
  gate   text not null check (gate glob 'pool:?*'),
  seq    integer not null check (seq >= 0),
  places integer not null check (places >= 0),
  actor  text not null,
  why    text not null,
  at_us  integer not null check (at_us > 0),
  primary key (gate, seq)
) strict, without rowid;
create trigger limits_keep before update on limits begin select raise(abort, 'limits: append-only'); end;
create trigger limits_stay before delete on limits begin select raise(abort, 'limits: append-only'); end;
create trigger limits_once before insert on limits when exists (select 1 from limits t where t.gate = new.gate and t.seq = new.seq)
begin select raise(abort, 'limits: append-only: it is there already'); end;
create trigger limits_birth before insert on limits
when new.seq > 0 and not exists (select 1 from limits t where t.gate = new.gate and t.seq = new.seq - 1)
begin select raise(abort, 'limits: it comes after the one before it'); end;
-- +goose StatementEnd
