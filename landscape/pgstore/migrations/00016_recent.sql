-- +goose Up
-- The runs that started last are listed first.
create index runs_started on runs (started_us, run_id);
