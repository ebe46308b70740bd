-- +goose Up
-- +goose StatementBegin
-- Where events are delivered: the last row of each says so.
create table endpoints (
  endpoint    text collate "C" not null check (endpoint <> ''),
  seq         bigint not null check (seq >= 0),
  action      text collate "C" not null check (action in ('set', 'enable', 'disable', 'remove')),
  url         text collate "C" not null check (url <> ''),
  format      text collate "C" not null check (format in ('standard', 'openlineage')),
  ordering    text collate "C" not null check (ordering in ('strict', 'any')),
  kinds       text collate "C" not null check (kinds::json is not null),
  pipelines   text collate "C" not null check (pipelines::json is not null),
  environment text collate "C" not null,
  secrets     text collate "C" not null check (secrets::json is not null),
  disabled    bigint not null check (disabled in (0, 1)),
  actor       text collate "C" not null,
  why         text collate "C" not null,
  at_us       bigint not null check (at_us > 0),
  primary key (endpoint, seq)
);
create trigger keep before update or delete or truncate on endpoints for each statement execute function refuse();

create function endpoints_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and a.action <> 'set'
      or a.seq > 0 and not exists (select 1 from endpoints e where e.endpoint = a.endpoint and e.seq = a.seq - 1)
  ) then
    raise exception 'endpoints: append-only: a row comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on endpoints referencing new table as added for each statement execute function endpoints_birth();

-- How far the deliveries to endpoints are, and which process delivers.
create table endpoint_states (
  endpoint   text collate "C" not null,
  cursor     bigint not null check (cursor >= 0),
  holder     text collate "C" not null,
  until_us   bigint not null check (until_us >= 0),
  failing_us bigint not null check (failing_us >= 0),
  primary key (endpoint)
);
create trigger keep before delete or truncate on endpoint_states for each statement execute function refuse();
create function endpoint_states_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.endpoint <> old.endpoint or new.cursor < old.cursor
    or (new.cursor, new.holder, new.until_us, new.failing_us) = (old.cursor, old.holder, old.until_us, old.failing_us)
  then
    raise exception 'endpoint_states: append-only: only how far it is changes' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on endpoint_states for each row execute function endpoint_states_change();

-- Which endpoint is to get which event, and what became of that.
create table deliveries (
  endpoint text collate "C" not null,
  position bigint not null check (position > 0),
  state    text collate "C" not null check (state in ('due', 'ok', 'dead')),
  attempts bigint not null check (attempts >= 0),
  tries    bigint not null check (tries between 0 and attempts),
  next_us  bigint not null check (next_us > 0),
  status   bigint not null check (status between 0 and 999),
  error    text collate "C" not null,
  primary key (endpoint, position)
);
create index deliveries_by_state on deliveries (endpoint, state, position);
create trigger keep before truncate on deliveries for each statement execute function refuse();
create function deliveries_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (new.endpoint, new.position) is distinct from (old.endpoint, old.position) or new.attempts < old.attempts
    or (new.state, new.attempts, new.tries, new.next_us, new.status, new.error) is not distinct from (old.state, old.attempts, old.tries, old.next_us, old.status, old.error)
  then
    raise exception 'deliveries: append-only: only what became of it changes' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on deliveries for each row execute function deliveries_change();
create function deliveries_stay() returns trigger language plpgsql set search_path from current as $$
begin
  if old.position > (select h.dropped from outbox_head h) then
    raise exception 'deliveries: append-only: it is dropped with its event' using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;
create trigger stay before delete on deliveries for each row execute function deliveries_stay();

-- Every attempt at a delivery.
create table delivery_attempts (
  endpoint text collate "C" not null,
  position bigint not null,
  attempt  bigint not null check (attempt > 0),
  at_us    bigint not null check (at_us > 0),
  ms       bigint not null check (ms >= 0),
  status   bigint not null check (status between 0 and 999),
  error    text collate "C" not null,
  answer   text collate "C" not null,
  primary key (endpoint, position, attempt)
);
create trigger keep before update or truncate on delivery_attempts for each statement execute function refuse();
create function delivery_attempts_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.attempt > 1 and not exists (
    select 1 from delivery_attempts t where t.endpoint = a.endpoint and t.position = a.position and t.attempt = a.attempt - 1))
  then
    raise exception 'delivery_attempts: append-only: an attempt comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on delivery_attempts referencing new table as added for each statement execute function delivery_attempts_birth();
create function delivery_attempts_stay() returns trigger language plpgsql set search_path from current as $$
begin
  if old.position > (select h.dropped from outbox_head h) then
    raise exception 'delivery_attempts: append-only: it is dropped with its event' using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;
create trigger stay before delete on delivery_attempts for each row execute function delivery_attempts_stay();

create function move_endpoint_states(
  endpoint text, from_cursor bigint, from_holder text, from_until_us bigint, from_failing_us bigint, to_cursor bigint, to_holder text, to_until_us bigint, to_failing_us bigint
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update endpoint_states s
    set cursor = to_cursor, holder = to_holder, until_us = to_until_us, failing_us = to_failing_us
    where s.endpoint = move_endpoint_states.endpoint
      and (s.cursor, s.holder, s.until_us, s.failing_us)
        is not distinct from (from_cursor, from_holder, from_until_us, from_failing_us)
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_endpoint_states from public;

create function move_deliveries(
  endpoint text, "position" bigint, from_state text, from_attempts bigint, from_tries bigint, from_next_us bigint, from_status bigint, from_error text, to_state text, to_attempts bigint, to_tries bigint, to_next_us bigint, to_status bigint, to_error text
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update deliveries s
    set state = to_state, attempts = to_attempts, tries = to_tries, next_us = to_next_us, status = to_status, error = to_error
    where s.endpoint = move_deliveries.endpoint and s.position = move_deliveries.position
      and (s.state, s.attempts, s.tries, s.next_us, s.status, s.error)
        is not distinct from (from_state, from_attempts, from_tries, from_next_us, from_status, from_error)
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_deliveries from public;

create or replace function outbox_head_drop() returns trigger language plpgsql set search_path from current as $$
begin
  delete from delivery_attempts where position <= new.dropped;
  delete from deliveries where position <= new.dropped;
  delete from outbox where position between 1 and new.dropped;
  return null;
end $$;

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
    foreach relation in array array['endpoints', 'endpoint_states', 'deliveries', 'delivery_attempts'] loop
      execute format('grant %s on %I to %s', given.privilege, relation, given.role);
    end loop;
    if given.privilege = 'INSERT' then
      execute format('grant execute on function move_endpoint_states, move_deliveries to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
