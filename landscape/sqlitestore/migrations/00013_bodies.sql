-- +goose Up
-- Nothing: in Postgres this version binds the functions of the views to their schema.
select 1;
