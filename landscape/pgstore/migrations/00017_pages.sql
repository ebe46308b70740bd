-- +goose Up
-- Runs are asked for by their status and by their parent, outputs by when they were published, and chunks by a row.
create index runs_by_status on runs (status, run_id);
create index runs_by_parent on runs (parent_run, run_id);
create index artifacts_published on artifacts (published_us, run_id, sink);
create index chunks_by_row on chunks (run_id, source, first_row);
