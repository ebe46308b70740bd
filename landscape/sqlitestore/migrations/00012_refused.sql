-- +goose Up
-- +goose StatementBegin
-- A target may take a part without some of its rows: it refuses them late, after their ways were on record. The effect counts them,
-- and an error of each of them stands at the sink; in the transaction that finalizes the effect. So a token was refused late if its
-- way leads to the sink at which an error of it stands.
alter table effects add column refused integer not null default 0
  check (refused between 0 and rows and (refused = 0 or kind = 'write' and state = 'finalized'));

-- An effect is born with nothing refused, and is finalized with what the target refused: the check and the guard of states leave no
-- other moment.
create trigger effects_unrefused before insert on effects when new.refused <> 0
begin select raise(abort, 'effects: not the beginning of an effect'); end;

create trigger effects_refused before update of refused on effects
when new.refused <> old.refused and new.refused <> (
    select count(*) from chunks c
    cross join errors x on x.run_id = c.run_id and x.source = c.source and x.row >= c.first_row and x.row < c.first_row + c.rows
    where c.run_id = new.run_id and c.source = new.source and c.chunk = new.chunk and x.node = new.sink and x.sent_to = '__quarantine__'
  ) - (
    select coalesce(sum(w.rows), 0) from chunk_ways w
    join ways k on k.run_id = w.run_id and k.way = w.way
    where w.run_id = new.run_id and w.source = new.source and w.chunk = new.chunk and k.last_node = new.sink and k.outcome = 'failure'
  )
begin select raise(abort, 'effects: other rows are refused than errors say'); end;

-- What a target refused is on record while its write ends, in quarantine; later nothing comes to it.
create trigger errors_late before insert on errors
when exists (
  select 1 from effects e
  where e.run_id = new.run_id and e.sink = new.node and e.source = new.source and e.chunk = new.chunk
    and (e.state not in ('in_flight', 'blocked') or new.sent_to <> '__quarantine__'))
begin select raise(abort, 'errors: the sink''s target did not refuse it'); end;

drop view run_summary;
drop view sink_chunks;
drop view chunk_node_counts;
drop view sink_totals;
drop view sink_rows;
drop view routing_events;
drop view node_states;
drop view rows;
drop view token_outcomes;
drop view tokens;

-- SQLite gives << and | the same precedence, from the left: every << stands in parentheses. A cross join keeps the order of
-- its tables.

-- One row per token: a row at a place in the graph. The way is null until the chunk went through the steps. A token that a
-- barrier took in is complete when its batch fired. Errors of a sink are looked for where its target refused rows, and nowhere else.
create view tokens as
select c.run_id, c.source, c.first_row + hi.n * 1024 + lo.n as row,
  c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || iif(l.name = '', '', '/' || l.name) as token_id,
  c.chunk, hi.n * 1024 + lo.n as pack_index, w.way, k.sink as bound_for,
  case
    when w.way is null then 0
    when k.path = 'buffered' then b.batch is not null
    when k.sink in ('', '__quarantine__', '__discard__') then 1
    else e.state is 'finalized'
  end as completed,
  l.lane, l.name as lane_name,
  iif(l.branch = '', null, c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || iif(f.name = '', '', '/' || f.name)) as fork_group_id,
  iif(k.path = 'buffered', k.last_node, null) as barrier,
  ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 1, 1)) << 24)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 2, 1)) << 16)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 3, 1)) << 8)
    | (select n from bytes where byte = substr(m.batches, 4 * lo.n + 4, 1)) as batch,
  m.node || ':' || (
    ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 1, 1)) << 24)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 2, 1)) << 16)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 3, 1)) << 8)
    | (select n from bytes where byte = substr(m.batches, 4 * lo.n + 4, 1))) as batch_id,
  z.node as refused_by
from chunks c
cross join lanes l on l.run_id = c.run_id and l.source = c.source
left join lanes f on f.run_id = l.run_id and f.lane = l.parent
left join passages p on p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk and p.lane = l.lane
cross join numbers hi
cross join numbers lo
left join chunk_ways w on w.run_id = p.run_id and w.source = p.source and w.chunk = p.chunk and w.lane = p.lane and w.code =
  case p.code_bytes
    when 1 then (select n from bytes where byte = substr(p.way_codes, hi.n * 1024 + lo.n + 1, 1))
    else ((select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
  end
left join ways k on k.run_id = w.run_id and k.way = w.way
left join effects e on e.run_id = c.run_id and e.sink = k.sink and e.source = c.source and e.chunk = c.chunk
left join errors z on z.run_id = iif(e.refused > 0, e.run_id, null) and z.source = c.source and z.row = c.first_row + hi.n * 1024 + lo.n
  and z.lane = l.lane and z.node = e.sink
left join members m on m.run_id = c.run_id and m.node = iif(k.path = 'buffered', k.last_node, null)
  and m.source = c.source and m.chunk = c.chunk and m.lane = l.lane and m.slice = hi.n
left join batches b on b.run_id = m.run_id and b.node = m.node and b.batch =
  ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 1, 1)) << 24)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 2, 1)) << 16)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 3, 1)) << 8)
    | (select n from bytes where byte = substr(m.batches, 4 * lo.n + 4, 1))
where (l.name = '' or p.chunk is not null) and hi.n < (c.rows + 1023) / 1024 and lo.n < c.rows - hi.n * 1024
  and (l.name = '' or w.way is not null);

-- One row per token: how it ended. Open tokens have no outcome yet. Each path has the group that it names, and no other.
create view token_outcomes as
select t.run_id, t.token_id, t.source, t.row, t.chunk, t.completed,
  case
    when not t.completed then null
    when t.refused_by is not null then 'failure'
    when t.barrier is null then k.outcome
    when b.path = 'coalesced' then 'success'
    else 'transient'
  end as outcome,
  case
    when t.refused_by is not null then 'on_error_routed'
    when t.barrier is not null then coalesce(b.path, 'buffered')
    when t.completed then k.path
  end as path,
  iif(t.refused_by is null, nullif(k.sink, ''), '__quarantine__') as sink, coalesce(t.refused_by, k.last_node) as last_node, x.error_hash, t.lane,
  iif(k.path = 'fork_parent', t.token_id, null) as fork_group_id,
  case
    when b.path = 'coalesced' then (
      select g.node || ':' || g.out_row from merges g where g.run_id = b.run_id and g.node = b.node and g.batch = b.batch)
    when k.path = 'coalesced' then (
      select t.source || ':' || t.row || '/' || m.name
      from lane_joins g
      join lanes m on m.run_id = g.run_id and m.lane = g.merged_lane
      where g.run_id = t.run_id and g.source = t.source and g.lane = t.lane and g.node = k.last_node)
  end as join_group_id,
  iif(b.path = 'expand_parent', t.token_id, null) as expand_group_id,
  iif(coalesce(b.path, 'batch_consumed') = 'batch_consumed', t.batch_id, null) as batch_id
from tokens t
left join ways k on k.run_id = t.run_id and k.way = t.way
left join batches b on b.run_id = t.run_id and b.node = t.barrier and b.batch = t.batch
left join errors x on x.run_id = t.run_id and x.source = t.source and x.row = t.row and x.lane = t.lane and x.node = coalesce(t.refused_by, k.last_node);

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
  case
    when not t.completed then null
    when t.refused_by is not null then 'failure'
    else coalesce(nullif(k.outcome, ''), iif(b.path = 'coalesced', 'success', 'transient'))
  end as outcome,
  case when not t.completed then null when t.refused_by is not null then 'on_error_routed' else coalesce(b.path, k.path) end as path,
  iif(t.refused_by is null, nullif(k.sink, ''), '__quarantine__') as sink
from tokens t
cross join nodes n on n.run_id = t.run_id and n.node = t.source and n.kind = 'source'
cross join chunks c on c.run_id = t.run_id and c.source = t.source and c.chunk = t.chunk
cross join chunk_rows r on r.run_id = t.run_id and r.source = t.source and r.chunk = t.chunk and r.slice = t.pack_index / 1024
left join ways k on k.run_id = t.run_id and k.way = t.way
left join batches b on b.run_id = t.run_id and b.node = t.barrier and b.batch = t.batch
where t.lane_name = '';

-- One row per token and node that it came to, in the order of seq; what a branch's token did before the fork is its parent's.
-- A sink's state is open until its target confirmed, a barrier's is held until the token's batch fired.
create view node_states as
select t.run_id, t.token_id, t.source, t.row, t.chunk, s.seq, s.node, n.kind, s.label,
  case
    when s.node = t.refused_by or k.outcome = 'failure' and s.node = k.last_node then 'failed'
    when n.kind = 'sink' then iif(t.completed, 'completed', 'open')
    when s.node = t.barrier and not t.completed then 'held'
    else 'completed'
  end as status,
  iif(s.seq = 0, iif(n.kind = 'source', (
    select lower(hex(substr(r.raw_hashes, 32 * (t.pack_index % 1024) + 1, 32)))
    from chunk_rows r where r.run_id = t.run_id and r.source = t.source and r.chunk = t.chunk and r.slice = t.pack_index / 1024
  ), null), (
    select iif(o.hashes = 'record', (
      select lower(hex(substr(r.raw_hashes, 32 * (t.pack_index % 1024) + 1, 32)))
      from chunk_rows r where r.run_id = t.run_id and r.source = t.source and r.chunk = t.chunk and r.slice = t.pack_index / 1024
    ), (
      select lower(hex(substr(h.hashes, 1 + 32 * iif(h.slots is null, t.pack_index % 1024, -1 + nullif(
        ((select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 1, 1)) << 8)
        | (select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 2, 1)), 0)), 32)))
      from hashes h
      where h.run_id = t.run_id and h.source = t.source and h.chunk = t.chunk and h.lane = b.lane and h.node = b.node and h.slice = t.pack_index / 1024
    ))
    from way_steps b
    join nodes o on o.run_id = b.run_id and o.node = b.node and o.hashes <> 'input'
    where b.run_id = t.run_id and b.way = t.way and b.seq < s.seq and not (k.outcome = 'failure' and b.node = k.last_node)
    order by b.seq desc limit 1)) as input_hash,
  iif(n.kind = 'sink' or s.node = k.last_node and (k.outcome = 'failure' or k.path in ('buffered', 'coalesced', 'branch_not_needed')), null, (
    select iif(o.hashes = 'record', (
      select lower(hex(substr(r.raw_hashes, 32 * (t.pack_index % 1024) + 1, 32)))
      from chunk_rows r where r.run_id = t.run_id and r.source = t.source and r.chunk = t.chunk and r.slice = t.pack_index / 1024
    ), (
      select lower(hex(substr(h.hashes, 1 + 32 * iif(h.slots is null, t.pack_index % 1024, -1 + nullif(
        ((select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 1, 1)) << 8)
        | (select n from bytes where byte = substr(h.slots, 2 * (t.pack_index % 1024) + 2, 1)), 0)), 32)))
      from hashes h
      where h.run_id = t.run_id and h.source = t.source and h.chunk = t.chunk and h.lane = b.lane and h.node = b.node and h.slice = t.pack_index / 1024
    ))
    from way_steps b
    join nodes o on o.run_id = b.run_id and o.node = b.node and o.hashes <> 'input'
    where b.run_id = t.run_id and b.way = t.way and b.seq <= s.seq and not (k.outcome = 'failure' and b.node = k.last_node)
    order by b.seq desc limit 1)) as output_hash,
  t.lane
from tokens t
cross join ways k on k.run_id = t.run_id and k.way = t.way
cross join way_steps s on s.run_id = t.run_id and s.way = t.way and s.seq >= k.first_seq
cross join nodes n on n.run_id = s.run_id and n.node = s.node;

-- One row per edge that a token took, and for a fork's parent one per branch. A token that ended at a node took none there.
create view routing_events as
select t.run_id, t.token_id, t.source, t.row, s.seq, s.node, coalesce(e.label, s.label) as label,
  coalesce(e.to_node, b.node, iif(k.sink = '__quarantine__' or s.node = t.refused_by, 'quarantine', 'discard')) as to_node,
  case
    when e.label is not null then 'branch'
    when s.node = t.refused_by or k.outcome = 'failure' and s.node = k.last_node then 'error'
    when n.operation = 'gate' then 'route'
    else 'flow'
  end as kind,
  t.lane
from tokens t
cross join ways k on k.run_id = t.run_id and k.way = t.way
cross join way_steps s on s.run_id = t.run_id and s.way = t.way and s.seq >= k.first_seq
cross join nodes n on n.run_id = s.run_id and n.node = s.node
left join way_steps b on b.run_id = s.run_id and b.way = s.way and b.seq = s.seq + 1
left join edges e on e.run_id = s.run_id and e.from_node = iif(k.path = 'fork_parent' and s.node = k.last_node, s.node, null) and e.kind = 'route'
where b.node is not null or e.label is not null or s.node = t.refused_by
  or s.node = k.last_node and k.path not in ('filter_dropped', 'fork_parent', 'buffered', 'coalesced', 'branch_not_needed');

-- One row per row that a sink's target confirmed and holds; line_number counts from 1 and leaves a header out.
create view sink_rows as
select run_id, sink, line_number, token_id, source, row, chunk, ordinal, lane
from (
  select e.run_id, e.sink, e.ordinal, e.state, t.token_id, t.source, t.row, t.chunk, t.lane,
    row_number() over (partition by e.run_id, e.sink order by e.ordinal, t.row, t.lane) as line_number
  from effects e
  cross join tokens t on t.run_id = e.run_id and t.source = e.source and t.chunk = e.chunk and t.bound_for = e.sink
  where e.kind = 'write' and e.ordinal is not null and t.refused_by is null
)
where state = 'finalized';

-- One row per sink of a run: what it gets, what its target confirmed and holds, what it refused, what was
-- published.
create view sink_totals as
select n.run_id, n.node as sink, n.guarantee,
  coalesce(sum(e.rows) filter (where e.kind = 'write'), 0) as planned_rows,
  coalesce(sum(e.rows - e.refused) filter (where e.kind = 'write' and e.state = 'finalized'), 0) as finalized_rows,
  coalesce(sum(e.bytes) filter (where e.kind = 'write' and e.state = 'finalized'), 0) as finalized_bytes,
  coalesce(sum(e.refused), 0) as refused_rows,
  a.path as artifact_path, a.bytes as artifact_bytes, a.sha256 as artifact_sha256, a.published_us
from nodes n
left join effects e on e.run_id = n.run_id and e.sink = n.node
left join artifacts a on a.run_id = n.run_id and a.sink = n.node
where n.kind = 'sink'
group by n.run_id, n.node;

-- One row per chunk and node: in_rows + created_rows = out_rows + dropped_rows + diverted_rows + consumed_rows + held_rows. Rows
-- leave a sink when its target confirmed them; what it refused is diverted there. The step before a branch's first own one is the fork that made it. What came to
-- a barrier is held until its batch fired.
create view chunk_node_counts as
select run_id, source, chunk, node, seq, kind, in_rows, out_rows, dropped_rows, diverted_rows, created_rows,
  ended_rows + fired_rows as consumed_rows, taken_rows - fired_rows as held_rows
from (
  select w.run_id, w.source, w.chunk, s.node, n.seq, n.kind,
    sum(iif(s.seq < k.first_seq or s.seq = 0 and n.kind = 'step', 0, w.rows)) as in_rows,
    sum(case
      when n.kind = 'sink' and s.node <> k.last_node then iif(e.state = 'finalized', w.rows, 0)
      when s.seq >= k.first_seq and s.node = k.last_node and k.path not in ('default_flow', 'gate_routed') then 0
      else w.rows
    end) - coalesce(max(e.refused), 0) as out_rows,
    sum(iif(s.seq >= k.first_seq and s.node = k.last_node and k.path in ('filter_dropped', 'gate_discarded'), w.rows, 0)) as dropped_rows,
    sum(iif(s.seq >= k.first_seq and s.node = k.last_node and k.outcome = 'failure', w.rows, 0)) + coalesce(max(e.refused), 0) as diverted_rows,
    sum(iif(s.seq < k.first_seq or s.seq = 0 and n.kind = 'step', w.rows, 0)) as created_rows,
    sum(iif(s.seq >= k.first_seq and s.node = k.last_node and k.path in ('fork_parent', 'coalesced', 'branch_not_needed'), w.rows, 0)) as ended_rows,
    sum(iif(s.seq >= k.first_seq and s.node = k.last_node and k.path = 'buffered', w.rows, 0)) as taken_rows,
    iif(n.hashes <> 'record', 0, (
      select coalesce(sum(iif(exists (
        select 1 from folds f where f.run_id = m.run_id and f.node = m.node and f.kind = 'end'
      ), m.rows, (
        select count(*) from numbers i
        cross join batches b on b.run_id = m.run_id and b.node = m.node and b.batch =
          ((select n from bytes where byte = substr(m.batches, 4 * i.n + 1, 1)) << 24)
          | ((select n from bytes where byte = substr(m.batches, 4 * i.n + 2, 1)) << 16)
          | ((select n from bytes where byte = substr(m.batches, 4 * i.n + 3, 1)) << 8)
          | (select n from bytes where byte = substr(m.batches, 4 * i.n + 4, 1))
        where i.n < length(m.batches) / 4
      ))), 0)
      from members m
      where m.run_id = w.run_id and m.node = s.node and m.source = w.source and m.chunk = w.chunk
    )) as fired_rows
  from chunk_ways w
  join ways k on k.run_id = w.run_id and k.way = w.way
  join way_steps s on s.run_id = w.run_id and s.way = w.way and s.seq >= k.first_seq - 1
  join nodes n on n.run_id = s.run_id and n.node = s.node
  left join effects e on e.run_id = w.run_id and e.sink = s.node and e.source = w.source and e.chunk = w.chunk
  group by w.run_id, w.source, w.chunk, s.node
);

-- One row per run. rows_read and rows_passed are records of sources, the others tokens. What a sink's target refused had
-- failed before if the sink gets what others refused.
create view run_summary as
select run_id, pipeline, status, reason, started_us, finished_us, (
    select coalesce(sum(c.rows), 0) from chunks c
    join nodes n on n.run_id = c.run_id and n.node = c.source and n.kind = 'source'
    where c.run_id = r.run_id
  ) as rows_read,
  rows_passed, rows_succeeded + merged - refused + refused_twice as rows_succeeded, rows_failed + refused - refused_twice as rows_failed,
  rows_quarantined + refused as rows_quarantined, rows_filtered, rows_discarded,
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
    (select coalesce(sum(b.rows), 0) from batches b where b.run_id = r.run_id and b.path = 'coalesced') as merged,
    (select coalesce(sum(e.refused), 0) from effects e where e.run_id = r.run_id) as refused,
    (
      select coalesce(sum(e.refused), 0) from effects e
      where e.run_id = r.run_id and e.refused > 0 and e.sink in (select f.sink from ways f where f.run_id = e.run_id and f.outcome = 'failure')
    ) as refused_twice
  from runs r
  left join chunk_ways w on w.run_id = r.run_id
  left join ways k on k.run_id = w.run_id and k.way = w.way
  left join lanes l on l.run_id = w.run_id and l.lane = w.lane
  left join nodes n on n.run_id = w.run_id and n.node = w.source
  group by r.run_id
) r;

-- One row per chunk of which a sink gets rows: what a resumption has to do there.
create view sink_chunks as
select run_id, sink, source, chunk, rows, bytes,
  case when state = 'finalized' then 'completed' when state = 'prepared' then 'missing' else 'unknown' end as state,
  fence as attempts, ordinal, refused
from effects
where kind = 'write';
-- +goose StatementEnd
