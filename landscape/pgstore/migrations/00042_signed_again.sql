-- +goose Up
-- +goose StatementBegin
-- A person signs a seal again in a role if the earlier signature does not count: whose keys count the landscape does not know.
alter table sign_offs drop constraint sign_offs_run_id_seal_person_role_key;
-- +goose StatementEnd
