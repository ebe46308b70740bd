-- +goose Up
-- +goose StatementBegin
-- Schedules of deployed pipelines may be made by command, too: they are of no document, and stay until somebody deletes them.
alter table schedules add column origin text collate "C" not null default 'document' check (origin in ('document', 'command'));
alter table schedules alter column origin drop default;
alter table schedules drop constraint schedules_action_check;
alter table schedules add check (action in ('set', 'remove', 'pause', 'resume', 'create', 'delete'));
alter table schedules add check (action not in ('create', 'delete') or origin = 'command');

create or replace function schedules_birth() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (
    select 1 from added a
    where a.seq = 0 and a.action not in ('set', 'create')
      or a.seq > 0 and not exists (select 1 from schedules s where s.schedule = a.schedule and s.seq = a.seq - 1)
  ) then
    raise exception 'schedules: it is of a version that is there, and comes after the one before it' using errcode = 'check_violation';
  end if;
  return null;
end $$;
-- +goose StatementEnd
