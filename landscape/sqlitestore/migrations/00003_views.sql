-- +goose Up
-- +goose StatementBegin
-- SQLite gives << and | the same precedence, from the left: every << stands in parentheses.

-- One row per token: a source's record on its way. The way is null until the chunk went through the steps.
create view tokens as
select c.run_id, c.source, c.first_row + hi.n * 1024 + lo.n as row,
  c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) as token_id,
  c.chunk, hi.n * 1024 + lo.n as pack_index, w.way, k.sink as bound_for,
  case when w.way is null then 0 when k.sink in ('', '__quarantine__', '__discard__') then 1 else e.state is 'finalized' end as completed
from chunks c
left join passages p on p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk
cross join numbers hi
cross join numbers lo
left join chunk_ways w on w.run_id = p.run_id and w.source = p.source and w.chunk = p.chunk and w.code =
  case p.code_bytes
    when 1 then (select n from bytes where byte = substr(p.way_codes, hi.n * 1024 + lo.n + 1, 1))
    else ((select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
  end
left join ways k on k.run_id = w.run_id and k.way = w.way
left join effects e on e.run_id = c.run_id and e.sink = k.sink and e.source = c.source and e.chunk = c.chunk
where hi.n < (c.rows + 1023) / 1024 and lo.n < c.rows - hi.n * 1024;

-- One row per token: how it ended. Open tokens have no outcome yet.
create view token_outcomes as
select t.run_id, t.token_id, t.source, t.row, t.chunk, t.completed,
  iif(t.completed, k.outcome, null) as outcome, iif(t.completed, k.path, null) as path,
  nullif(k.sink, '') as sink, k.last_node, x.error_hash
from tokens t
left join ways k on k.run_id = t.run_id and k.way = t.way
left join errors x on x.run_id = t.run_id and x.source = t.source and x.row = t.row and x.node = k.last_node;

-- One row per record of a source.
create view rows as
select t.run_id, t.source, t.row, t.token_id, t.chunk, c.file,
  c.first_line + iif(r.lines is null, t.pack_index,
      ((select n from bytes where byte = substr(r.lines, 4 * (t.pack_index % 1024) + 1, 1)) << 24)
      | ((select n from bytes where byte = substr(r.lines, 4 * (t.pack_index % 1024) + 2, 1)) << 16)
      | ((select n from bytes where byte = substr(r.lines, 4 * (t.pack_index % 1024) + 3, 1)) << 8)
      | (select n from bytes where byte = substr(r.lines, 4 * (t.pack_index % 1024) + 4, 1))) as line,
  c.first_offset + (
      ((select n from bytes where byte = substr(r.offsets, 4 * (t.pack_index % 1024) + 1, 1)) << 24)
      | ((select n from bytes where byte = substr(r.offsets, 4 * (t.pack_index % 1024) + 2, 1)) << 16)
      | ((select n from bytes where byte = substr(r.offsets, 4 * (t.pack_index % 1024) + 3, 1)) << 8)
      | (select n from bytes where byte = substr(r.offsets, 4 * (t.pack_index % 1024) + 4, 1))) as byte_offset,
  ((select n from bytes where byte = substr(r.lengths, 4 * (t.pack_index % 1024) + 1, 1)) << 24)
      | ((select n from bytes where byte = substr(r.lengths, 4 * (t.pack_index % 1024) + 2, 1)) << 16)
      | ((select n from bytes where byte = substr(r.lengths, 4 * (t.pack_index % 1024) + 3, 1)) << 8)
      | (select n from bytes where byte = substr(r.lengths, 4 * (t.pack_index % 1024) + 4, 1)) as byte_length,
  lower(hex(substr(r.raw_hashes, 32 * (t.pack_index % 1024) + 1, 32))) as raw_hash,
  c.pack, t.pack_index, t.completed,
  iif(t.completed, k.outcome, null) as outcome, iif(t.completed, k.path, null) as path, nullif(k.sink, '') as sink
from tokens t
cross join chunks c on c.run_id = t.run_id and c.source = t.source and c.chunk = t.chunk
cross join chunk_rows r on r.run_id = t.run_id and r.source = t.source and r.chunk = t.chunk and r.slice = t.pack_index / 1024
left join ways k on k.run_id = t.run_id and k.way = t.way;

-- One row per token and node that it came to, in the order of seq. A sink's state is open until its target confirmed.
create view node_states as
select t.run_id, t.token_id, t.source, t.row, t.chunk, s.seq, s.node, n.kind, s.label,
  case
    when n.kind = 'sink' then iif(t.completed, 'completed', 'open')
    when k.outcome = 'failure' and s.node = k.last_node then 'failed'
    else 'completed'
  end as status,
  iif(s.seq = 0, (
    select lower(hex(substr(r.raw_hashes, 32 * (t.pack_index % 1024) + 1, 32)))
    from chunk_rows r where r.run_id = t.run_id and r.source = t.source and r.chunk = t.chunk and r.slice = t.pack_index / 1024
  ), (
    select lower(hex(substr(h.hashes, 1 + 32 * iif(h.slots is null, t.pack_index % 1024, -1 + (
      ((select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 2, 1)))), 32)))
    from way_steps b
    join nodes o on o.run_id = b.run_id and o.node = b.node and o.hashes = 'own'
    join hashes h on h.run_id = t.run_id and h.source = t.source and h.chunk = t.chunk and h.node = b.node and h.slice = t.pack_index / 1024
    where b.run_id = t.run_id and b.way = t.way and b.seq < s.seq
    order by b.seq desc limit 1)) as input_hash,
  iif(n.kind = 'sink' or k.outcome = 'failure' and s.node = k.last_node, null, (
    select lower(hex(substr(h.hashes, 1 + 32 * iif(h.slots is null, t.pack_index % 1024, -1 + (
      ((select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 2, 1)))), 32)))
    from way_steps b
    join nodes o on o.run_id = b.run_id and o.node = b.node and o.hashes = 'own'
    join hashes h on h.run_id = t.run_id and h.source = t.source and h.chunk = t.chunk and h.node = b.node and h.slice = t.pack_index / 1024
    where b.run_id = t.run_id and b.way = t.way and b.seq <= s.seq
    order by b.seq desc limit 1)) as output_hash
from tokens t
cross join ways k on k.run_id = t.run_id and k.way = t.way
cross join way_steps s on s.run_id = t.run_id and s.way = t.way
cross join nodes n on n.run_id = s.run_id and n.node = s.node;

-- One row per edge that a token took. What a filter dropped took none.
create view routing_events as
select t.run_id, t.token_id, t.source, t.row, s.seq, s.node, s.label,
  coalesce(b.node, iif(k.sink = '__quarantine__', 'quarantine', 'discard')) as to_node,
  case when k.outcome = 'failure' and s.node = k.last_node then 'error' when s.label <> '' then 'route' else 'flow' end as kind
from tokens t
cross join ways k on k.run_id = t.run_id and k.way = t.way
cross join way_steps s on s.run_id = t.run_id and s.way = t.way
left join way_steps b on b.run_id = s.run_id and b.way = s.way and b.seq = s.seq + 1
where b.node is not null or s.node = k.last_node and k.path <> 'filter_dropped';

-- One row per refused record that no sink got, with the reason and the record as read.
create view quarantined_rows as
select x.run_id, x.source || ':' || x.row as token_id, x.source, x.row, x.chunk, c.file, x.line, x.byte_offset,
  x.node, x.code, x.field, x.message, x.error_hash,
  iif(x.raw_is_text, cast(x.raw as text), null) as raw_text, x.raw, x.raw_bytes, x.at_us
from errors x
join chunks c on c.run_id = x.run_id and c.source = x.source and c.chunk = x.chunk
where x.sent_to = '__quarantine__';

-- One row per row that a sink's target confirmed; line_number counts from 1 and leaves a header out.
create view sink_rows as
select run_id, sink, line_number, token_id, source, row, chunk, ordinal
from (
  select e.run_id, e.sink, e.ordinal, e.state, t.token_id, t.source, t.row, t.chunk,
    row_number() over (partition by e.run_id, e.sink order by e.ordinal, t.row) as line_number
  from effects e
  cross join tokens t on t.run_id = e.run_id and t.source = e.source and t.chunk = e.chunk and t.bound_for = e.sink
  where e.kind = 'write' and e.ordinal is not null
)
where state = 'finalized';

-- One row per sink of a run: what it gets, what its target confirmed, what was published.
create view sink_totals as
select n.run_id, n.node as sink, n.guarantee,
  coalesce(sum(e.rows) filter (where e.kind = 'write'), 0) as planned_rows,
  coalesce(sum(e.rows) filter (where e.kind = 'write' and e.state = 'finalized'), 0) as finalized_rows,
  coalesce(sum(e.bytes) filter (where e.kind = 'write' and e.state = 'finalized'), 0) as finalized_bytes,
  a.path as artifact_path, a.bytes as artifact_bytes, a.sha256 as artifact_sha256, a.published_us
from nodes n
left join effects e on e.run_id = n.run_id and e.sink = n.node
left join artifacts a on a.run_id = n.run_id and a.sink = n.node
where n.kind = 'sink'
group by n.run_id, n.node;

-- One row per chunk and node: in_rows = out_rows + dropped_rows + diverted_rows. Rows leave a sink when its target confirmed them.
create view chunk_node_counts as
select w.run_id, w.source, w.chunk, s.node, n.seq, n.kind,
  sum(w.rows) as in_rows,
  sum(iif(n.kind = 'sink', iif(e.state = 'finalized', w.rows, 0), iif(s.node = k.last_node and (k.outcome = 'failure' or k.sink = ''), 0, w.rows))) as out_rows,
  sum(iif(s.node = k.last_node and k.outcome = 'success' and k.sink = '', w.rows, 0)) as dropped_rows,
  sum(iif(s.node = k.last_node and k.outcome = 'failure', w.rows, 0)) as diverted_rows
from chunk_ways w
join ways k on k.run_id = w.run_id and k.way = w.way
join way_steps s on s.run_id = w.run_id and s.way = w.way
join nodes n on n.run_id = s.run_id and n.node = s.node
left join effects e on e.run_id = w.run_id and e.sink = s.node and e.source = w.source and e.chunk = w.chunk
group by w.run_id, w.source, w.chunk, s.node;

-- One row per node that a row came to.
create view node_counts as
select run_id, node, seq, kind, sum(in_rows) as in_rows, sum(out_rows) as out_rows,
  sum(dropped_rows) as dropped_rows, sum(diverted_rows) as diverted_rows
from chunk_node_counts
group by run_id, node;

-- One row per run.
create view run_summary as
select r.run_id, r.pipeline, r.status, r.reason, r.started_us, r.finished_us,
  (select coalesce(sum(c.rows), 0) from chunks c where c.run_id = r.run_id) as rows_read,
  coalesce(sum(w.rows), 0) as rows_passed,
  coalesce(sum(w.rows) filter (where k.outcome = 'success'), 0) as rows_succeeded,
  coalesce(sum(w.rows) filter (where k.outcome = 'failure'), 0) as rows_failed,
  coalesce(sum(w.rows) filter (where k.sink = '__quarantine__'), 0) as rows_quarantined,
  coalesce(sum(w.rows) filter (where k.path = 'filter_dropped'), 0) as rows_filtered,
  coalesce(sum(w.rows) filter (where k.path in ('gate_discarded', 'sink_discarded')), 0) as rows_discarded
from runs r
left join chunk_ways w on w.run_id = r.run_id
left join ways k on k.run_id = w.run_id and k.way = w.way
group by r.run_id;
-- +goose StatementEnd
