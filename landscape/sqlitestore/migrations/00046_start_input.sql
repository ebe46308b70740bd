-- +goose Up
-- +goose StatementBegin
-- What the workflow of a start is started with, for starts whose process may end before it does that: another one does.
alter table starts add column input text not null default '' check (input = '' or json_valid(input));
create trigger starts_input before update of input on starts
begin select raise(abort, 'starts: only slot, state, refusal, reason and decided_us change'); end;
-- +goose StatementEnd
