-- +goose Up
-- +goose StatementBegin
-- Triggers after other pipelines go through the outbox: up to which position. Who read what a run published is found by the output.
alter table watches add column position bigint not null default 0 check (position >= 0);
create index arrival_runs_by_item on arrival_runs (item, run_id, place);

create or replace function watches_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.turn <> 0 or a.looked_us <> 0 or a.position <> 0 or not exists (select 1 from triggers t where t.trigger = a.trigger)
  ) then
    raise exception 'watches: not the beginning of the watch of a trigger' using errcode = 'check_violation';
  end if;
  return null;
end $$;

create or replace function watches_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.trigger <> old.trigger or new.turn <> old.turn + 1 or new.position < old.position then
    raise exception 'watches: illegal change: a turn comes after the one before it, and no position before it' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

drop function move_watches;
create function move_watches(
  trigger text,
  from_turn bigint, from_looked_us bigint, from_unready bigint, from_error text, from_position bigint, from_changed_us bigint,
  to_turn bigint, to_looked_us bigint, to_unready bigint, to_error text, to_position bigint, to_changed_us bigint
) returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update watches w
    set turn = to_turn, looked_us = to_looked_us, unready = to_unready, error = to_error, position = to_position, changed_us = to_changed_us
    where w.trigger = move_watches.trigger
      and (w.turn, w.looked_us, w.unready, w.error, w.position, w.changed_us) = (from_turn, from_looked_us, from_unready, from_error, from_position, from_changed_us)
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_watches from public;

-- Who may write the record may do so here.
do $$
declare
  given record;
begin
  for given in
    select a.grantee::regrole as role
    from pg_proc p
    cross join lateral aclexplode(p.proacl) a
    where p.oid = 'move_arrivals'::regproc and a.grantee not in (0, p.proowner)
  loop
    execute format('grant execute on function move_watches to %s', given.role);
  end loop;
end $$;
-- +goose StatementEnd
