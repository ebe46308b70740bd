-- +goose Up
-- +goose StatementBegin
-- On which terms a run begins: how many places of which gates it holds while it is running, and wants while its start waits.
alter table starts add column terms text collate "C" not null default '' check (terms = '' or terms::json is not null);

drop function move_starts;
create function move_starts(
  run_id text, seq bigint,
  from_slot text, from_state text, from_refusal text, from_reason text, from_decided_us bigint, from_terms text,
  to_slot text, to_state text, to_refusal text, to_reason text, to_decided_us bigint, to_terms text
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update starts s
    set slot = to_slot, state = to_state, refusal = to_refusal, reason = to_reason, decided_us = to_decided_us, terms = to_terms
    where s.run_id = move_starts.run_id and s.seq = move_starts.seq
      and (s.slot, s.state, s.refusal, s.reason, s.decided_us, s.terms)
        is not distinct from (from_slot, from_state, from_refusal, from_reason, from_decided_us, from_terms)
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_starts from public;

-- What decisions about places move, so that of two that are made side by side the second is made again. Nothing is counted here.
create table gates (
  gate text collate "C" not null check (gate <> ''),
  turn bigint not null check (turn >= 0),
  primary key (gate)
);
create trigger keep before delete or truncate on gates for each statement execute function refuse();

create function gates_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.turn <> 0) then
    raise exception 'gates: not the beginning: the first turn is 0' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on gates referencing new table as added for each statement execute function gates_birth();

create function gates_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.gate <> old.gate or new.turn <> old.turn + 1 then
    raise exception 'gates: illegal change: a turn comes after the one before it' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on gates for each row execute function gates_change();

create function move_gates(gate text, from_turn bigint, to_turn bigint)
returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update gates g set turn = to_turn where g.gate = move_gates.gate and g.turn = from_turn returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_gates from public;

-- How many places a pool has: the last row says so.
create table limits (
  gate   text collate "C" not null check (gate like 'pool:_%'),
  seq    bigint not null check (seq >= 0),
  places bigint not null check (places >= 0),
  actor  text collate "C" not null,
  why    text collate "C" not null,
  at_us  bigint not null check (at_us > 0),
  primary key (gate, seq)
);
create trigger keep before update or delete or truncate on limits for each statement execute function refuse();

create function limits_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq > 0 and not exists (select 1 from limits l where l.gate = a.gate and l.seq = a.seq - 1)
  ) then
    raise exception 'limits: it comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on limits referencing new table as added for each statement execute function limits_birth();

-- Who may read and write the record may do so here.
do $$
declare
  given record;
begin
  for given in
    select a.grantee::regrole as role, a.privilege_type as privilege
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = 'resumptions'::regclass and a.grantee not in (0, c.relowner) and a.privilege_type in ('SELECT', 'INSERT')
  loop
    execute format('grant %s on gates, limits to %s', given.privilege, given.role);
    if given.privilege = 'INSERT' then
      execute format('grant execute on function move_starts to %s', given.role);
      execute format('grant execute on function move_gates to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
