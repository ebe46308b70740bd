-- +goose Up
-- +goose StatementBegin
-- Triggers after other pipelines go through the outbox: up to which position. Who read what a run published is found by the output.
alter table watches add column position integer not null default 0 check (position >= 0);
drop trigger watches_birth;
create trigger watches_birth before insert on watches
when new.turn <> 0 or new.looked_us <> 0 or new.position <> 0 or not exists (select 1 from triggers t where t.trigger = new.trigger)
begin select raise(abort, 'watches: not the beginning of the watch of a trigger'); end;
drop trigger watches_change;
create trigger watches_change before update on watches
when new.trigger <> old.trigger or new.turn <> old.turn + 1 or new.position < old.position
begin select raise(abort, 'watches: illegal change: a turn comes after the one before it, and no position before it'); end;

create index arrival_runs_by_item on arrival_runs (item, run_id, place);
-- +goose StatementEnd
