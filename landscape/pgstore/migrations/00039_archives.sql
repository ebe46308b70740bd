-- +goose Up
-- +goose StatementBegin
-- Runs whose records are in a bundle elsewhere, and not here any more.
create table archives (
  run_id          text collate "C" not null references runs (run_id),
  location        text collate "C" not null check (location <> ''),
  bytes           bigint not null check (bytes > 0),
  sha256          text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$'),
  manifest_sha256 text collate "C" not null check (manifest_sha256 ~ '^[0-9a-f]{64}$'),
  root            bytea not null check (length(root) = 32),
  actor           text collate "C" not null check (actor <> ''),
  why             text collate "C" not null check (why <> ''),
  at_us           bigint not null check (at_us > 0),
  primary key (run_id)
);
create trigger keep before update or delete or truncate on archives for each statement execute function refuse();

create function archives_birth() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock(payload_lock());
  perform hold_run(a.run_id, false) from (select distinct run_id from added order by run_id) a;
  if exists (
    select 1 from added a
    where not exists (
        select 1 from runs r join run_seals s on s.run_id = r.run_id and s.epoch = r.epoch
        where r.run_id = a.run_id and (r.status in ('completed', 'completed_with_failures', 'empty') or r.final = 1)
          and s.root = a.root and not exists (select 1 from run_seals l where l.run_id = s.run_id and l.seq > s.seq))
      or exists (select 1 from forgotten f where f.run_id = a.run_id and not exists (select 1 from forgettings g where g.purge_id = f.purge_id))
  ) then
    raise exception 'archives: not a run that has ended and cannot be resumed, with this seal, or rows of it are being forgotten' using errcode = 'check_violation';
  end if;
  if exists (select 1 from added a join held_runs h on h.run_id = a.run_id) then
    raise exception 'payload in use: a run is held' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on archives referencing new table as added for each statement execute function archives_birth();

create function run_seals_archived() returns trigger language plpgsql set search_path from current as $$
begin
  perform hold_run(a.run_id, false) from (select distinct run_id from added order by run_id) a;
  if exists (select 1 from added a join archives t on t.run_id = a.run_id) then
    raise exception 'run_seals: append-only: the run is archived' using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
create trigger archived after insert on run_seals referencing new table as added for each statement execute function run_seals_archived();

-- Which payloads such a run refers to: they stay, and may be purged as those of other runs.
create table archived_payloads (
  run_id  text collate "C" not null references archives (run_id),
  payload text collate "C" not null,
  class   text collate "C" not null check (class in ('source', 'derived', 'kept')),
  primary key (run_id, payload, class)
);
create index archived_payloads_by_payload on archived_payloads (payload);
create trigger keep before update or delete or truncate on archived_payloads for each statement execute function refuse();

create function archived_payloads_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where not exists (select 1 from chunks c where a.class <> 'kept' and c.run_id = a.run_id and c.pack = a.payload and (c.fold is null) = (a.class = 'source'))
      and not exists (select 1 from folds f where a.class = 'derived' and f.run_id = a.run_id and f.state = a.payload)
      and not exists (select 1 from tables t where a.class = 'kept' and t.run_id = a.run_id and t.sha256 = a.payload)
  ) then
    raise exception 'archived_payloads: the run does not refer to it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger birth after insert on archived_payloads referencing new table as added for each statement execute function archived_payloads_birth();

create or replace view payload_refs as
select c.pack as payload, c.run_id, case when c.fold is null then 'source' else 'derived' end as class from chunks c
union all select f.state, f.run_id, 'derived' from folds f where f.state is not null
union all select t.sha256, t.run_id, 'kept' from tables t
union all select a.payload, a.run_id, a.class collate "default" from archived_payloads a;

-- The rows of forgotten records stay when their chunk is archived.
alter table forgotten drop constraint forgotten_run_id_source_chunk_fkey;

-- What is recorded of a run is removed in the transaction that archives it, and not without a note of the payloads that it refers to, which the column has
-- that the argument names.
create function archiving() returns trigger language plpgsql set search_path from current as $$
begin
  if not exists (select 1 from archives a where a.xmin = pg_current_xact_id()::xid) then
    raise exception '%: append-only', tg_table_name using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
create function archived() returns trigger language plpgsql set search_path from current as $$
begin
  if not exists (select 1 from archives a where a.run_id = old.run_id and a.xmin = pg_current_xact_id()::xid)
    or tg_nargs = 1 and to_jsonb(old) ->> tg_argv[0] is not null
      and not exists (select 1 from archived_payloads p where p.run_id = old.run_id and p.payload = to_jsonb(old) ->> tg_argv[0])
  then
    raise exception '%: append-only', tg_table_name using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;

drop trigger keep on nodes;
create trigger keep before update or truncate on nodes for each statement execute function refuse();
create trigger archiving before delete on nodes for each statement execute function archiving();
create trigger archived before delete on nodes for each row execute function archived();
drop trigger keep on edges;
create trigger keep before update or truncate on edges for each statement execute function refuse();
create trigger archiving before delete on edges for each statement execute function archiving();
create trigger archived before delete on edges for each row execute function archived();
drop trigger keep on sources;
create trigger keep before update or truncate on sources for each statement execute function refuse();
create trigger archiving before delete on sources for each statement execute function archiving();
create trigger archived before delete on sources for each row execute function archived();
drop trigger keep on lanes;
create trigger keep before update or truncate on lanes for each statement execute function refuse();
create trigger archiving before delete on lanes for each statement execute function archiving();
create trigger archived before delete on lanes for each row execute function archived();
drop trigger keep on tables;
create trigger keep before update or truncate on tables for each statement execute function refuse();
create trigger archiving before delete on tables for each statement execute function archiving();
create trigger archived before delete on tables for each row execute function archived('sha256');
drop trigger keep on source_ends;
create trigger keep before update or truncate on source_ends for each statement execute function refuse();
create trigger archiving before delete on source_ends for each statement execute function archiving();
create trigger archived before delete on source_ends for each row execute function archived();
drop trigger keep on folds;
create trigger keep before update or truncate on folds for each statement execute function refuse();
create trigger archiving before delete on folds for each statement execute function archiving();
create trigger archived before delete on folds for each row execute function archived('state');
drop trigger keep on chunks;
create trigger keep before truncate on chunks for each statement execute function refuse();
create trigger archiving before delete on chunks for each statement execute function archiving();
create trigger archived before delete on chunks for each row execute function archived('pack');
drop trigger keep on chunk_rows;
create trigger keep before truncate on chunk_rows for each statement execute function refuse();
create trigger archiving before delete on chunk_rows for each statement execute function archiving();
create trigger archived before delete on chunk_rows for each row execute function archived();
drop trigger keep on passages;
create trigger keep before update or truncate on passages for each statement execute function refuse();
create trigger archiving before delete on passages for each statement execute function archiving();
create trigger archived before delete on passages for each row execute function archived();
drop trigger keep on ways;
create trigger keep before update or truncate on ways for each statement execute function refuse();
create trigger archiving before delete on ways for each statement execute function archiving();
create trigger archived before delete on ways for each row execute function archived();
drop trigger keep on way_steps;
create trigger keep before update or truncate on way_steps for each statement execute function refuse();
create trigger archiving before delete on way_steps for each statement execute function archiving();
create trigger archived before delete on way_steps for each row execute function archived();
drop trigger keep on chunk_ways;
create trigger keep before update or truncate on chunk_ways for each statement execute function refuse();
create trigger archiving before delete on chunk_ways for each statement execute function archiving();
create trigger archived before delete on chunk_ways for each row execute function archived();
drop trigger keep on way_totals;
create trigger keep before update or truncate on way_totals for each statement execute function refuse();
create trigger archiving before delete on way_totals for each statement execute function archiving();
create trigger archived before delete on way_totals for each row execute function archived();
drop trigger keep on hashes;
create trigger keep before truncate on hashes for each statement execute function refuse();
create trigger archiving before delete on hashes for each statement execute function archiving();
create trigger archived before delete on hashes for each row execute function archived();
drop trigger keep on errors;
create trigger keep before truncate on errors for each statement execute function refuse();
create trigger archiving before delete on errors for each statement execute function archiving();
create trigger archived before delete on errors for each row execute function archived();
drop trigger keep on keys;
create trigger keep before truncate on keys for each statement execute function refuse();
create trigger archiving before delete on keys for each statement execute function archiving();
create trigger archived before delete on keys for each row execute function archived();
drop trigger keep on claims;
create trigger keep before update or truncate on claims for each statement execute function refuse();
create trigger archiving before delete on claims for each statement execute function archiving();
create trigger archived before delete on claims for each row execute function archived();
drop trigger keep on repeats;
create trigger keep before update or truncate on repeats for each statement execute function refuse();
create trigger archiving before delete on repeats for each statement execute function archiving();
create trigger archived before delete on repeats for each row execute function archived();
drop trigger keep on feeds;
create trigger keep before update or truncate on feeds for each statement execute function refuse();
create trigger archiving before delete on feeds for each statement execute function archiving();
create trigger archived before delete on feeds for each row execute function archived();
drop trigger keep on merge_kinds;
create trigger keep before update or truncate on merge_kinds for each statement execute function refuse();
create trigger archiving before delete on merge_kinds for each statement execute function archiving();
create trigger archived before delete on merge_kinds for each row execute function archived();
drop trigger keep on joins;
create trigger keep before update or truncate on joins for each statement execute function refuse();
create trigger archiving before delete on joins for each statement execute function archiving();
create trigger archived before delete on joins for each row execute function archived();
drop trigger keep on chunk_joins;
create trigger keep before update or truncate on chunk_joins for each statement execute function refuse();
create trigger archiving before delete on chunk_joins for each statement execute function archiving();
create trigger archived before delete on chunk_joins for each row execute function archived();
drop trigger keep on batches;
create trigger keep before update or truncate on batches for each statement execute function refuse();
create trigger archiving before delete on batches for each statement execute function archiving();
create trigger archived before delete on batches for each row execute function archived();
drop trigger keep on members;
create trigger keep before update or truncate on members for each statement execute function refuse();
create trigger archiving before delete on members for each statement execute function archiving();
create trigger archived before delete on members for each row execute function archived();
drop trigger keep on merges;
create trigger keep before update or truncate on merges for each statement execute function refuse();
create trigger archiving before delete on merges for each statement execute function archiving();
create trigger archived before delete on merges for each row execute function archived();
drop trigger keep on parents;
create trigger keep before update or truncate on parents for each statement execute function refuse();
create trigger archiving before delete on parents for each statement execute function archiving();
create trigger archived before delete on parents for each row execute function archived();
drop trigger keep on resumptions;
create trigger keep before update or truncate on resumptions for each statement execute function refuse();
create trigger archiving before delete on resumptions for each statement execute function archiving();
create trigger archived before delete on resumptions for each row execute function archived();
drop trigger keep on executions;
create trigger keep before update or truncate on executions for each statement execute function refuse();
create trigger archiving before delete on executions for each statement execute function archiving();
create trigger archived before delete on executions for each row execute function archived();
drop trigger stay on effects;
create trigger stay before truncate on effects for each statement execute function refuse();
create trigger archiving before delete on effects for each statement execute function archiving();
create trigger archived before delete on effects for each row execute function archived();
drop trigger keep on effect_events;
create trigger keep before update or truncate on effect_events for each statement execute function refuse();
create trigger archiving before delete on effect_events for each statement execute function archiving();
create trigger archived before delete on effect_events for each row execute function archived();
drop trigger keep on late_totals;
create trigger keep before update or truncate on late_totals for each statement execute function refuse();
create trigger archiving before delete on late_totals for each statement execute function archiving();
create trigger archived before delete on late_totals for each row execute function archived();
drop trigger keep on artifacts;
create trigger keep before update or truncate on artifacts for each statement execute function refuse();
create trigger archiving before delete on artifacts for each statement execute function archiving();
create trigger archived before delete on artifacts for each row execute function archived();
drop trigger keep on actions;
create trigger keep before update or truncate on actions for each statement execute function refuse();
create trigger archiving before delete on actions for each statement execute function archiving();
create trigger archived before delete on actions for each row execute function archived();
drop trigger keep on run_events;
create trigger keep before update or truncate on run_events for each statement execute function refuse();
create trigger archiving before delete on run_events for each statement execute function archiving();
create trigger archived before delete on run_events for each row execute function archived();
drop trigger keep on policies;
create trigger keep before update or truncate on policies for each statement execute function refuse();
create trigger archiving before delete on policies for each statement execute function archiving();
create trigger archived before delete on policies for each row execute function archived();
drop trigger keep on policy_results;
create trigger keep before update or truncate on policy_results for each statement execute function refuse();
create trigger archiving before delete on policy_results for each statement execute function archiving();
create trigger archived before delete on policy_results for each row execute function archived();
drop trigger keep on chunk_seals;
create trigger keep before update or truncate on chunk_seals for each statement execute function refuse();
create trigger archiving before delete on chunk_seals for each statement execute function archiving();
create trigger archived before delete on chunk_seals for each row execute function archived();

-- A purger removes by this function, and in no other way.
create function remove_run(run_id text) returns void language plpgsql security definer set search_path from current as $$
begin
  if exists (select 1 from archives a where a.run_id = remove_run.run_id and a.xmin <> pg_current_xact_id()::xid) then
    return; -- it was removed when it was archived
  end if;
  delete from chunk_seals t where t.run_id = remove_run.run_id;
  delete from policy_results t where t.run_id = remove_run.run_id;
  delete from policies t where t.run_id = remove_run.run_id;
  delete from run_events t where t.run_id = remove_run.run_id;
  delete from actions t where t.run_id = remove_run.run_id;
  delete from artifacts t where t.run_id = remove_run.run_id;
  delete from late_totals t where t.run_id = remove_run.run_id;
  delete from effect_events t where t.run_id = remove_run.run_id;
  delete from effects t where t.run_id = remove_run.run_id;
  delete from executions t where t.run_id = remove_run.run_id;
  delete from resumptions t where t.run_id = remove_run.run_id;
  delete from parents t where t.run_id = remove_run.run_id;
  delete from merges t where t.run_id = remove_run.run_id;
  delete from members t where t.run_id = remove_run.run_id;
  delete from batches t where t.run_id = remove_run.run_id;
  delete from chunk_joins t where t.run_id = remove_run.run_id;
  delete from joins t where t.run_id = remove_run.run_id;
  delete from merge_kinds t where t.run_id = remove_run.run_id;
  delete from feeds t where t.run_id = remove_run.run_id;
  delete from repeats t where t.run_id = remove_run.run_id;
  delete from claims t where t.run_id = remove_run.run_id;
  delete from keys t where t.run_id = remove_run.run_id;
  delete from errors t where t.run_id = remove_run.run_id;
  delete from hashes t where t.run_id = remove_run.run_id;
  delete from way_totals t where t.run_id = remove_run.run_id;
  delete from chunk_ways t where t.run_id = remove_run.run_id;
  delete from way_steps t where t.run_id = remove_run.run_id;
  delete from ways t where t.run_id = remove_run.run_id;
  delete from passages t where t.run_id = remove_run.run_id;
  delete from chunk_rows t where t.run_id = remove_run.run_id;
  delete from chunks t where t.run_id = remove_run.run_id;
  delete from folds t where t.run_id = remove_run.run_id;
  delete from source_ends t where t.run_id = remove_run.run_id;
  delete from tables t where t.run_id = remove_run.run_id;
  delete from lanes t where t.run_id = remove_run.run_id;
  delete from sources t where t.run_id = remove_run.run_id;
  delete from edges t where t.run_id = remove_run.run_id;
  delete from nodes t where t.run_id = remove_run.run_id;
end $$;
revoke execute on function remove_run from public;

-- Who may read the record, and purge, may do so here.
do $$
declare
  given record;
begin
  for given in
    select c.relname as of, a.grantee::regrole as role, a.privilege_type as privilege
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid in ('resumptions'::regclass, 'purges'::regclass) and a.grantee not in (0, c.relowner) and a.privilege_type in ('SELECT', 'INSERT')
  loop
    if given.privilege = 'SELECT' then
      execute format('grant select on archives, archived_payloads to %s', given.role);
    elsif given.of = 'purges' then
      execute format('grant insert on archives, archived_payloads to %s', given.role);
      execute format('grant execute on function remove_run to %s', given.role);
    end if;
  end loop;
end $$;
-- +goose StatementEnd
