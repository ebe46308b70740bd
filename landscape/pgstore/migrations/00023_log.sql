-- +goose Up
-- +goose StatementBegin
-- The log: entries that say what became of runs, each a signed note, and a leaf of one tree. docs/log.md says what is in them.
create table log (
  position bigint not null check (position >= 0),
  about    text collate "C" not null check (about <> '' and (about = 'genesis') = (position = 0)),
  entry    text collate "C" not null check (octet_length(entry) between 1 and 1200),
  leaf     bytea not null check (octet_length(leaf) = 32),
  primary key (position)
);
create unique index log_about on log (about);

-- How long the log is. Who appends changes it in the same transaction.
create table log_head (
  id   bigint not null check (id = 0),
  size bigint not null check (size >= 0),
  primary key (id)
);
insert into log_head values (0, 0);

create trigger keep before update or delete or truncate on log for each statement execute function refuse();
create trigger keep before insert or delete or truncate on log_head for each statement execute function refuse();

create function log_birth() returns trigger language plpgsql set search_path from current as $$
begin
  update log_head set size = size + 1 where size = new.position;
  if not found then
    raise exception 'log: an entry comes after the last one' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on log for each row execute function log_birth();

create function log_head_change() returns trigger language plpgsql set search_path from current as $$
begin
  if new.id <> old.id or new.size <> old.size + 1 or not exists (select 1 from log t where t.position = old.size) then
    raise exception 'log_head: append-only: it counts the entries of the log' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger change before update on log_head for each row execute function log_head_change();

-- append_log appends an entry, unless the log has one about the same; who calls it holds the head until its transaction ends. It is the
-- only way in which a writer changes the log.
create function append_log(about text, entry text, leaf bytea) returns bigint language plpgsql security definer set search_path from current as $$
declare
  place bigint;
begin
  if exists (select 1 from log l where l.about = append_log.about) then
    return null;
  end if;
  select h.size into place from log_head h for update;
  if exists (select 1 from log l where l.about = append_log.about) then -- it came while this one waited
    return null;
  end if;
  insert into log values (place, append_log.about, append_log.entry, append_log.leaf);
  return place;
end $$;
revoke execute on function append_log from public;

-- What is kept of the tree of the log: the hashes of its entries and of whole subtrees.
create table log_hashes (
  number bigint not null check (number >= 0),
  hash   bytea not null check (octet_length(hash) = 32),
  primary key (number)
);
create trigger keep before update or delete or truncate on log_hashes for each statement execute function refuse();

-- The heads of the log that its notary signed.
create table log_heads (
  size  bigint not null check (size >= 1),
  root  bytea not null check (octet_length(root) = 32),
  note  text collate "C" not null check (note <> ''),
  at_us bigint not null check (at_us > 0),
  primary key (size)
);
create trigger keep before update or delete or truncate on log_heads for each statement execute function refuse();

create function log_heads_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where a.size > (select h.size from log_head h)) then
    raise exception 'log_heads: the log has fewer entries' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on log_heads referencing new table as added for each statement execute function log_heads_birth();

-- Which of them are at an anchor: a place that the owner of the landscape need not own.
create table anchored (
  anchor  text collate "C" not null check (anchor <> ''),
  size    bigint not null,
  at_us   bigint not null check (at_us > 0),
  receipt text collate "C" not null,
  primary key (anchor, size)
);
create trigger keep before update or delete or truncate on anchored for each statement execute function refuse();

create function anchored_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select 1 from added a where not exists (select 1 from log_heads h where h.size = a.size)) then
    raise exception 'anchored: no such head was signed' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on anchored referencing new table as added for each statement execute function anchored_birth();

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
    foreach relation in array array['log_hashes', 'log_heads', 'anchored'] loop
      execute format('grant %s on %I to %s', given.privilege, relation, given.role);
    end loop;
    if given.privilege = 'SELECT' then
      execute format('grant select on log, log_head to %s', given.role);
    else
      execute format('grant execute on function append_log to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
