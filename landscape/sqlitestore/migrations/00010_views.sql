-- +goose Up
-- +goose StatementBegin
-- One row per run. rows_read and rows_passed are records of sources, the others tokens.
create view run_summary as
select run_id, pipeline, status, reason, started_us, finished_us, (
    select coalesce(sum(c.rows), 0) from chunks c
    join nodes n on n.run_id = c.run_id and n.node = c.source and n.kind = 'source'
    where c.run_id = r.run_id
  ) as rows_read,
  rows_passed, rows_succeeded + merged as rows_succeeded, rows_failed, rows_quarantined, rows_filtered, rows_discarded,
  tokens, tokens_transient + settled - merged as tokens_transient, tokens_held - settled as tokens_held
from (
  select r.run_id, r.pipeline, r.status, r.reason, r.started_us, r.finished_us,
    coalesce(sum(w.rows) filter (where l.name = '' and n.kind = 'source'), 0) as rows_passed,
    coalesce(sum(w.rows) filter (where k.outcome = 'success'), 0) as rows_succeeded,
    coalesce(sum(w.rows) filter (where k.outcome = 'failure'), 0) as rows_failed,
    coalesce(sum(w.rows) filter (where k.sink = '__quarantine__'), 0) as rows_quarantined,
    coalesce(sum(w.rows) filter (where k.path = 'filter_dropped'), 0) as rows_filtered,
    coalesce(sum(w.rows) filter (where k.path in ('gate_discarded', 'sink_discarded')), 0) as rows_discarded,
    coalesce(sum(w.rows), 0) as tokens,
    coalesce(sum(w.rows) filter (where k.outcome = 'transient'), 0) as tokens_transient,
    coalesce(sum(w.rows) filter (where k.path = 'buffered'), 0) as tokens_held,
    (select coalesce(sum(b.rows), 0) from batches b where b.run_id = r.run_id) as settled,
    (select coalesce(sum(b.rows), 0) from batches b where b.run_id = r.run_id and b.path = 'coalesced') as merged
  from runs r
  left join chunk_ways w on w.run_id = r.run_id
  left join ways k on k.run_id = w.run_id and k.way = w.way
  left join lanes l on l.run_id = w.run_id and l.lane = w.lane
  left join nodes n on n.run_id = w.run_id and n.node = w.source
  group by r.run_id
) r;

-- One row per run that comes of another one.
create view run_links as
select run_id, parent_run, link, (select count(*) from retried t where t.run_id = r.run_id) as retried_rows
from runs r
where link <> '';

-- One row per chunk of which a sink gets rows: what a resumption has to do there.
create view sink_chunks as
select run_id, sink, source, chunk, rows, bytes,
  case when state = 'finalized' then 'completed' when state = 'prepared' then 'missing' else 'unknown' end as state,
  fence as attempts, ordinal
from effects
where kind = 'write';
-- +goose StatementEnd
