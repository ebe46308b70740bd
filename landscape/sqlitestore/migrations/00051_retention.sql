-- +goose Up
-- +goose StatementBegin
-- How long things of a class are kept: the last that are in force count. Those that are not wait for several persons.
create table retention_periods (
  seq            integer not null check (seq >= 0),
  periods_sha256 text not null check (length(periods_sha256) = 64),
  periods        text not null check (json_valid(periods)),
  in_force       integer not null check (in_force in (0, 1)),
  actor          text not null check (actor <> ''),
  why            text not null check (why <> ''),
  at_us          integer not null check (at_us > 0),
  primary key (seq)
) strict;
create trigger retention_periods_keep before update on retention_periods begin select raise(abort, 'retention_periods: append-only'); end;
create trigger retention_periods_stay before delete on retention_periods begin select raise(abort, 'retention_periods: append-only'); end;
create trigger retention_periods_birth before insert on retention_periods when new.seq <> (select count(*) from retention_periods)
begin select raise(abort, 'retention_periods: append-only: not the next one'); end;

-- What was deleted because it was due, by whom and why, and what could not be.
create table retention_turns (
  turn           integer not null check (turn > 0),
  periods_sha256 text not null,
  actor          text not null check (actor <> ''),
  why            text not null check (why <> ''),
  purge_id       integer references purges (purge_id),
  payloads       integer not null check (payloads >= 0),
  bytes          integer not null check (bytes >= 0),
  events         integer not null check (events >= 0),
  staged         integer not null check (staged >= 0),
  left_due       integer not null check (left_due >= 0),
  problem        text not null,
  at_us          integer not null check (at_us > 0),
  primary key (turn)
) strict;
create trigger retention_turns_keep before update on retention_turns begin select raise(abort, 'retention_turns: append-only'); end;
create trigger retention_turns_stay before delete on retention_turns begin select raise(abort, 'retention_turns: append-only'); end;
create trigger retention_turns_birth before insert on retention_turns when new.turn is not (select coalesce(max(t.turn), 0) + 1 from retention_turns t)
begin select raise(abort, 'retention_turns: append-only: a turn has the next number'); end;
-- +goose StatementEnd
