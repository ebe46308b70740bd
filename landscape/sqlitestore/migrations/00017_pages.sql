-- +goose Up
-- Runs are asked for by their status and by their parent, and outputs by when they were published.
create index runs_by_status on runs (status, run_id);
create index runs_by_parent on runs (parent_run, run_id);
create index artifacts_published on artifacts (published_us, run_id, sink);
