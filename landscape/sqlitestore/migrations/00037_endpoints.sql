-- +goose Up
-- +goose StatementBegin
-- Where events are delivered: the last row of each says so.
create table endpoints (
  endpoint    text not null check (endpoint <> ''),
  seq         integer not null check (seq >= 0),
  action      text not null check (action in ('set', 'enable', 'disable', 'remove')),
  url         text not null check (url <> ''),
  format      text not null check (format in ('standard', 'openlineage')),
  ordering    text not null check (ordering in ('strict', 'any')),
  kinds       text not null check (json_valid(kinds)),
  pipelines   text not null check (json_valid(pipelines)),
  environment text not null,
  secrets     text not null check (json_valid(secrets)),
  disabled    integer not null check (disabled in (0, 1)),
  actor       text not null,
  why         text not null,
  at_us       integer not null check (at_us > 0),
  primary key (endpoint, seq)
) strict, without rowid;
create trigger endpoints_keep before update on endpoints begin select raise(abort, 'endpoints: append-only'); end;
create trigger endpoints_stay before delete on endpoints begin select raise(abort, 'endpoints: append-only'); end;
create trigger endpoints_once before insert on endpoints when exists (select 1 from endpoints t where t.endpoint = new.endpoint and t.seq = new.seq)
begin select raise(abort, 'endpoints: append-only: it is there already'); end;
create trigger endpoints_birth before insert on endpoints
when new.seq = 0 and new.action <> 'set'
  or new.seq > 0 and not exists (select 1 from endpoints e where e.endpoint = new.endpoint and e.seq = new.seq - 1)
begin select raise(abort, 'endpoints: append-only: a row comes after the one before it'); end;

-- How far the deliveries to endpoints are, and which process delivers.
create table endpoint_states (
  endpoint   text not null,
  cursor     integer not null check (cursor >= 0),
  holder     text not null,
  until_us   integer not null check (until_us >= 0),
  failing_us integer not null check (failing_us >= 0),
  primary key (endpoint)
) strict, without rowid;
create trigger endpoint_states_stay before delete on endpoint_states begin select raise(abort, 'endpoint_states: append-only'); end;
create trigger endpoint_states_once before insert on endpoint_states when exists (select 1 from endpoint_states t where t.endpoint = new.endpoint)
begin select raise(abort, 'endpoint_states: append-only: it is there already'); end;
create trigger endpoint_states_keep before update of endpoint on endpoint_states begin select raise(abort, 'endpoint_states: append-only: only how far it is changes'); end;
create trigger endpoint_states_change before update on endpoint_states when new.cursor < old.cursor
begin select raise(abort, 'endpoint_states: append-only: only how far it is changes'); end;

-- Which endpoint is to get which event, and what became of that.
create table deliveries (
  endpoint text not null,
  position integer not null check (position > 0),
  state    text not null check (state in ('due', 'ok', 'dead')),
  attempts integer not null check (attempts >= 0),
  tries    integer not null check (tries between 0 and attempts),
  next_us  integer not null check (next_us > 0),
  status   integer not null check (status between 0 and 999),
  error    text not null,
  primary key (endpoint, position)
) strict, without rowid;
create index deliveries_by_state on deliveries (endpoint, state, position);
create trigger deliveries_once before insert on deliveries when exists (select 1 from deliveries t where t.endpoint = new.endpoint and t.position = new.position)
begin select raise(abort, 'deliveries: append-only: it is there already'); end;
create trigger deliveries_keep before update of endpoint, position on deliveries begin select raise(abort, 'deliveries: append-only: only what became of it changes'); end;
create trigger deliveries_change before update on deliveries when new.attempts < old.attempts
begin select raise(abort, 'deliveries: append-only: only what became of it changes'); end;
create trigger deliveries_stay before delete on deliveries when old.position > (select h.dropped from outbox_head h)
begin select raise(abort, 'deliveries: append-only: it is dropped with its event'); end;

-- Every attempt at a delivery.
create table delivery_attempts (
  endpoint text not null,
  position integer not null,
  attempt  integer not null check (attempt > 0),
  at_us    integer not null check (at_us > 0),
  ms       integer not null check (ms >= 0),
  status   integer not null check (status between 0 and 999),
  error    text not null,
  answer   text not null,
  primary key (endpoint, position, attempt)
) strict, without rowid;
create trigger delivery_attempts_keep before update on delivery_attempts begin select raise(abort, 'delivery_attempts: append-only'); end;
create trigger delivery_attempts_once before insert on delivery_attempts when exists (select 1 from delivery_attempts t where t.endpoint = new.endpoint and t.position = new.position and t.attempt = new.attempt)
begin select raise(abort, 'delivery_attempts: append-only: it is there already'); end;
create trigger delivery_attempts_birth before insert on delivery_attempts when new.attempt > 1 and not exists (
  select 1 from delivery_attempts t where t.endpoint = new.endpoint and t.position = new.position and t.attempt = new.attempt - 1)
begin select raise(abort, 'delivery_attempts: append-only: an attempt comes after the one before it'); end;
create trigger delivery_attempts_stay before delete on delivery_attempts when old.position > (select h.dropped from outbox_head h)
begin select raise(abort, 'delivery_attempts: append-only: it is dropped with its event'); end;

drop trigger outbox_head_drop;
create trigger outbox_head_drop after update on outbox_head when new.dropped > old.dropped begin
  delete from delivery_attempts where position <= new.dropped;
  delete from deliveries where position <= new.dropped;
  delete from outbox where position between 1 and new.dropped;
end;
-- +goose StatementEnd
