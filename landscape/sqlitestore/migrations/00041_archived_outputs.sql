-- +goose Up
-- +goose StatementBegin
-- What an archived run published stays, with its nodes: other runs need to know who replaced what.
drop trigger nodes_stay;
create trigger nodes_stay before delete on nodes begin select raise(abort, 'nodes: append-only'); end;
drop trigger artifacts_stay;
create trigger artifacts_stay before delete on artifacts begin select raise(abort, 'artifacts: append-only'); end;
-- +goose StatementEnd
