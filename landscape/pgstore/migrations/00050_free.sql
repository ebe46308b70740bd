-- +goose Up
-- +goose StatementBegin
-- Whether a payload is in use is looked up by its digest; those that it replaced are looked for only if it replaced some.
create or replace function deletions_birth() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock(payload_lock());
  if exists (
    select 1 from added a
    where a.number <> (select count(*) from deletions t where t.payload = a.payload)
      or a.number > 1 and not exists (select 1 from returned_payloads t where t.payload = a.payload and t.number = a.number - 1)
  ) then
    raise exception 'deletions: append-only: it is being deleted, or is deleted, already' using errcode = 'check_violation';
  end if;
  if exists (
    select 1 from added a join payload_refs f on f.payload = a.payload join runs r on r.run_id = f.run_id
    where exists (select 1 from held_runs h where h.run_id = r.run_id)
      or not exists (select 1 from purged_runs p where p.purge_id = a.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch)
  ) then
    raise exception 'deletions: payload in use: a run needs it, or is held' using errcode = 'check_violation';
  end if;
  if exists (select 1 from added a join repacked p on p.replacement = a.payload) and exists (
    with recursive was (purge_id, payload) as (
      select a.purge_id, p.payload from added a join repacked p on p.replacement = a.payload
      union select was.purge_id, p.payload from repacked p join was on p.replacement = was.payload
    )
    select 1 from was join payload_refs f using (payload) join runs r on r.run_id = f.run_id
    where exists (select 1 from held_runs h where h.run_id = r.run_id)
      or not exists (select 1 from purged_runs p where p.purge_id = was.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch)
  ) then
    raise exception 'deletions: payload in use: a run needs it, or is held' using errcode = 'check_violation';
  end if;
  return null;
end $$;
-- +goose StatementEnd
