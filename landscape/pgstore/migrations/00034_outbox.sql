-- +goose Up
-- +goose StatementBegin
-- What happened, as it is told to others: each event is recorded in the transaction of what it tells.
create table outbox (
  about       text collate "C" not null check (about <> ''),
  event       text collate "C" not null check (event <> ''),
  kind        text collate "C" not null check (kind <> ''),
  subject     text collate "C" not null check (subject <> ''),
  seq         bigint not null check (seq >= 0),
  run_id      text collate "C" not null,
  pipeline    text collate "C" not null,
  environment text collate "C" not null,
  body        text collate "C" not null check (body::json is not null and octet_length(body) <= 20480),
  at_us       bigint not null check (at_us > 0),
  position    bigint not null check (position >= 0),
  primary key (about)
);
create index outbox_in_order on outbox (position, about);
create unique index outbox_position on outbox (position) where position > 0;
create trigger keep before truncate on outbox for each statement execute function refuse();

-- How many events have a position, and up to which they were dropped.
create table outbox_head (
  id      bigint not null check (id = 0),
  size    bigint not null check (size >= 0),
  dropped bigint not null check (dropped between 0 and size),
  primary key (id)
);
insert into outbox_head values (0, 0, 0);
create trigger keep before insert or delete or truncate on outbox_head for each statement execute function refuse();

create function outbox_head_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.id <> old.id or new.size < old.size or new.dropped < old.dropped or (new.size, new.dropped) = (old.size, old.dropped) then
    raise exception 'outbox_head: append-only: positions are given and events dropped in order' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on outbox_head for each row execute function outbox_head_change();

create function outbox_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.position <> 0) then
    raise exception 'outbox: append-only: an event gets its position later' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on outbox referencing new table as added for each statement execute function outbox_birth();

create function outbox_change() returns trigger language plpgsql set search_path from current as $$
begin
  if (old.about, old.event, old.kind, old.subject, old.seq, old.run_id, old.pipeline, old.environment, old.body, old.at_us)
    is distinct from (new.about, new.event, new.kind, new.subject, new.seq, new.run_id, new.pipeline, new.environment, new.body, new.at_us)
    or old.position <> 0 or new.position not between 1 and (select h.size from outbox_head h)
  then
    raise exception 'outbox: append-only: only its position is set, once' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on outbox for each row execute function outbox_change();

create function outbox_stay() returns trigger language plpgsql set search_path from current as $$
begin
  if old.position = 0 or old.position > (select h.dropped from outbox_head h) then
    raise exception 'outbox: append-only: events are dropped by the head, in order' using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;
create trigger stay before delete on outbox for each row execute function outbox_stay();

create function outbox_head_drop() returns trigger language plpgsql set search_path from current as $$
begin
  delete from outbox where position between 1 and new.dropped;
  return null;
end $$;
create trigger dropping after update on outbox_head for each row when (new.dropped > old.dropped) execute function outbox_head_drop();

create function move_outbox(about text, from_position bigint, to_position bigint)
returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update outbox o set position = to_position
    where o.about = move_outbox.about and o.position = from_position
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_outbox from public;

create function move_outbox_head(id bigint, from_size bigint, from_dropped bigint, to_size bigint, to_dropped bigint)
returns bigint language sql security definer set search_path from current as $$
  with moved as (
    update outbox_head h set size = to_size, dropped = to_dropped
    where h.id = move_outbox_head.id and (h.size, h.dropped) = (from_size, from_dropped)
    returning 1
  )
  select count(*) from moved
$$;
revoke execute on function move_outbox_head from public;

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
    execute format('grant %s on outbox to %s', given.privilege, given.role);
    if given.privilege = 'SELECT' then
      execute format('grant select on outbox_head to %s', given.role);
    else
      execute format('grant execute on function move_outbox, move_outbox_head to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
