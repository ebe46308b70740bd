-- +goose Up
-- +goose StatementBegin
-- What the workflow of a start is started with, for starts whose process may end before it does that: another one does.
alter table starts add column input text collate "C" not null default '' check (input = '' or input::json is not null);
create function starts_input() returns trigger language plpgsql set search_path from current as $$
begin
  if old.input <> new.input then
    raise exception 'starts: only slot, state, refusal, reason and decided_us change' using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger input before update on starts for each row execute function starts_input();
-- +goose StatementEnd
