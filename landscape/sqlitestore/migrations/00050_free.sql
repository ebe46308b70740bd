-- +goose Up
-- +goose StatementBegin
-- Whether a payload is in use is looked up by its digest; those that it replaced are looked for only if it replaced some. So a deletion takes as long whatever else is recorded.
drop trigger deletions_free;
create trigger deletions_free before insert on deletions
when exists (
  select 1 from payload_refs f join runs r using (run_id)
  where f.payload = new.payload and (
    exists (select 1 from held_runs h where h.run_id = r.run_id)
    or not exists (select 1 from purged_runs p where p.purge_id = new.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch)))
begin select raise(abort, 'deletions: payload in use: a run needs it, or is held'); end;
create trigger deletions_replacement before insert on deletions
when exists (select 1 from repacked p where p.replacement = new.payload) and exists (
  with recursive was (payload) as (
    select p.payload from repacked p where p.replacement = new.payload
    union select p.payload from repacked p join was on p.replacement = was.payload)
  select 1 from was join payload_refs f using (payload) join runs r using (run_id)
  where exists (select 1 from held_runs h where h.run_id = r.run_id)
    or not exists (select 1 from purged_runs p where p.purge_id = new.purge_id and p.run_id = r.run_id and p.class = f.class and p.epoch = r.epoch))
begin select raise(abort, 'deletions: payload in use: a run needs it, or is held'); end;
-- +goose StatementEnd
