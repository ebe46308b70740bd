-- +goose Up
-- +goose StatementBegin
-- SQLite gives << and | the same precedence, from the left: every << stands in parentheses. A cross join keeps the order of
-- its tables.

-- One row per token: a row at a place in the graph. The way is null until the chunk went through the steps. A token that a
-- barrier took in is complete when its batch fired.
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
    | (select n from bytes where byte = substr(m.batches, 4 * lo.n + 4, 1))) as batch_id
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
left join members m on m.run_id = c.run_id and m.node = iif(k.path = 'buffered', k.last_node, null)
  and m.source = c.source and m.chunk = c.chunk and m.lane = l.lane and m.slice = hi.n
left join batches b on b.run_id = m.run_id and b.node = m.node and b.batch =
  ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 1, 1)) << 24)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 2, 1)) << 16)
    | ((select n from bytes where byte = substr(m.batches, 4 * lo.n + 3, 1)) << 8)
    | (select n from bytes where byte = substr(m.batches, 4 * lo.n + 4, 1))
where (l.name = '' or p.chunk is not null) and hi.n < (c.rows + 1023) / 1024 and lo.n < c.rows - hi.n * 1024
  and (l.name = '' or w.way is not null);

-- Which lanes' tokens a coalesce takes in their own passage, as which branch, and the lane of what it makes of them. Of two
-- forks that the same coalesce joins, the inner one counts.
create view lane_joins as
select g.run_id, g.source, g.lane, b.branch, m.node, m.lane as merged_lane, m.parent as fork_lane
from lanes m
cross join lanes b on b.run_id = m.run_id and b.source = m.source and b.parent = m.parent and b.node = m.fork
cross join lanes g on g.run_id = m.run_id and g.source = m.source
  and (g.lane = b.lane or substr(g.name, 1, length(b.name) + 1) = b.name || '/')
where m.branch = '' and m.fork <> '' and not exists (
  select 1 from lanes n
  join lanes i on i.run_id = n.run_id and i.source = n.source and i.parent = n.parent and i.node = n.fork
  where n.run_id = m.run_id and n.source = m.source and n.node = m.node and n.branch = ''
    and substr(i.name, 1, length(b.name) + 1) = b.name || '/'
    and (g.lane = i.lane or substr(g.name, 1, length(i.name) + 1) = i.name || '/'));

-- One row per token: how it ended. Open tokens have no outcome yet. Each path has the group that it names, and no other.
create view token_outcomes as
select t.run_id, t.token_id, t.source, t.row, t.chunk, t.completed,
  case when not t.completed then null when t.barrier is null then k.outcome when b.path = 'coalesced' then 'success' else 'transient' end as outcome,
  case when t.barrier is not null then coalesce(b.path, 'buffered') when t.completed then k.path end as path,
  nullif(k.sink, '') as sink, k.last_node, x.error_hash, t.lane,
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
left join errors x on x.run_id = t.run_id and x.source = t.source and x.row = t.row and x.lane = t.lane and x.node = k.last_node;

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
  iif(t.completed, coalesce(nullif(k.outcome, ''), iif(b.path = 'coalesced', 'success', 'transient')), null) as outcome,
  iif(t.completed, coalesce(b.path, k.path), null) as path, nullif(k.sink, '') as sink
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
    when n.kind = 'sink' then iif(t.completed, 'completed', 'open')
    when k.outcome = 'failure' and s.node = k.last_node then 'failed'
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
  coalesce(e.to_node, b.node, iif(k.sink = '__quarantine__', 'quarantine', 'discard')) as to_node,
  case
    when e.label is not null then 'branch'
    when k.outcome = 'failure' and s.node = k.last_node then 'error'
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
where b.node is not null or e.label is not null
  or s.node = k.last_node and k.path not in ('filter_dropped', 'fork_parent', 'buffered', 'coalesced', 'branch_not_needed');

-- One row per token of a batch, in the order in which they came to the barrier. The batch may not have fired yet.
create view batch_members as
select run_id, node, batch, row_number() over (partition by run_id, node, batch order by fold, row, lane) - 1 as ordinal,
  token_id, source, row, lane, chunk, fold
from (
  select m.run_id, m.node, m.source, c.first_row + m.slice * 1024 + i.n as row, m.lane, m.chunk, m.fold,
    m.source || ':' || (c.first_row + m.slice * 1024 + i.n) || iif(l.name = '', '', '/' || l.name) as token_id,
    ((select n from bytes where byte = substr(m.batches, 4 * i.n + 1, 1)) << 24)
      | ((select n from bytes where byte = substr(m.batches, 4 * i.n + 2, 1)) << 16)
      | ((select n from bytes where byte = substr(m.batches, 4 * i.n + 3, 1)) << 8)
      | (select n from bytes where byte = substr(m.batches, 4 * i.n + 4, 1)) as batch
  from members m
  cross join chunks c on c.run_id = m.run_id and c.source = m.source and c.chunk = m.chunk
  cross join lanes l on l.run_id = m.run_id and l.lane = m.lane
  cross join numbers i on i.n < length(m.batches) / 4
)
where batch > 0;

-- One row per row that came out of a barrier: the batch it came of, and the one token that it continues or was expanded from.
create view batch_rows as
select p.run_id, p.source as node, c.first_row + p.slice * 1024 + i.n as row,
  p.source || ':' || (c.first_row + p.slice * 1024 + i.n) as token_id,
  ((select n from bytes where byte = substr(p.batches, 4 * i.n + 1, 1)) << 24)
    | ((select n from bytes where byte = substr(p.batches, 4 * i.n + 2, 1)) << 16)
    | ((select n from bytes where byte = substr(p.batches, 4 * i.n + 3, 1)) << 8)
    | (select n from bytes where byte = substr(p.batches, 4 * i.n + 4, 1)) as batch,
  l.source || ':' || (
    ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 3, 1)) << 40)
    | ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 4, 1)) << 32)
    | ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 5, 1)) << 24)
    | ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 6, 1)) << 16)
    | ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 7, 1)) << 8)
    | (select n from bytes where byte = substr(p.tokens, 8 * i.n + 8, 1))) || iif(l.name = '', '', '/' || l.name) as parent_token_id,
  p.chunk, c.fold
from parents p
cross join chunks c on c.run_id = p.run_id and c.source = p.source and c.chunk = p.chunk
cross join numbers i on i.n < p.rows
left join lanes l on l.run_id = p.run_id and l.lane =
  ((select n from bytes where byte = substr(p.tokens, 8 * i.n + 1, 1)) << 8)
    | (select n from bytes where byte = substr(p.tokens, 8 * i.n + 2, 1));

-- One row per batch that fired. A window, unlike a group, lets a condition on run_id and node through.
create view batch_totals as
select run_id, node, batch, trigger, path, rows, opened_us, fired_us, out_rows, fold, of
from (
  select run_id, node, batch, trigger, path, rows, opened_us, fired_us, fold, of,
    sum(out_rows) over (partition by run_id, node, batch) as out_rows
  from (
    select run_id, node, batch, trigger, path, rows, opened_us, fired_us, 0 as out_rows, fold, of from batches
    union all
    select run_id, node, batch, null, null, null, null, null, 1, null, null from batch_rows
  )
)
where trigger is not null;

-- One row per fork parent and coalesce that decided about its branches: why, and what it made of them.
create view coalesce_events as
select c.run_id, k.node, c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || iif(f.name = '', '', '/' || f.name) as fork_group_id,
  iif(k.result = 'nothing', null, c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || '/' || l.name) as merged_token_id,
  k.policy, k.merge as merge_strategy, k.quorum, k.timeout_ms, k.expected as branches_expected, k.arrived as branches_arrived,
  k.lost as branches_lost, k.not_needed as branches_not_needed,
  (
    select json_group_array(json(arrival)) from (
      select json_object('branch', a.value, 'token_id', c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || '/' || (
        select g.name
        from lane_joins n
        cross join lanes g on g.run_id = n.run_id and g.lane = n.lane
        cross join passages p on p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk and p.lane = n.lane
        cross join chunk_ways v on v.run_id = p.run_id and v.source = p.source and v.chunk = p.chunk and v.lane = p.lane and v.code =
          case p.code_bytes
            when 1 then (select n from bytes where byte = substr(p.way_codes, hi.n * 1024 + lo.n + 1, 1))
            else ((select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
              | (select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
          end
        cross join ways y on y.run_id = v.run_id and y.way = v.way and y.path = 'coalesced' and y.last_node = k.node
        where n.run_id = c.run_id and n.source = c.source and n.merged_lane = j.lane and n.branch = a.value
      ), 'offset_ms', 0) as arrival
      from json_each(k.arrived) a
      order by a.key)
  ) as arrival_order,
  0 as wait_ms, k.fired_by, k.collisions, k.origins as field_origins, k.result, k.code,
  iif(k.result <> 'merged', null, (
    select lower(hex(substr(h.hashes, 1 + 32 * iif(h.slots is null, lo.n, -1 + nullif(
      ((select n from bytes where byte = substr(h.slots, 2 * lo.n + 1, 1)) << 8)
      | (select n from bytes where byte = substr(h.slots, 2 * lo.n + 2, 1)), 0)), 32)))
    from hashes h
    where h.run_id = c.run_id and h.source = c.source and h.chunk = c.chunk and h.lane = j.lane and h.node = k.node and h.slice = hi.n
  )) as merged_hash,
  null as batch_id, c.source, c.first_row + hi.n * 1024 + lo.n as row, l.parent as lane
from joins j
cross join chunks c on c.run_id = j.run_id and c.source = j.source and c.chunk = j.chunk
cross join lanes l on l.run_id = j.run_id and l.lane = j.lane
cross join lanes f on f.run_id = l.run_id and f.lane = l.parent
cross join numbers hi
cross join numbers lo
cross join chunk_joins w on w.run_id = j.run_id and w.source = j.source and w.chunk = j.chunk and w.lane = j.lane and w.code =
  case j.code_bytes
    when 1 then (select n from bytes where byte = substr(j.codes, hi.n * 1024 + lo.n + 1, 1))
    else ((select n from bytes where byte = substr(j.codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(j.codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
  end
cross join merge_kinds k on k.run_id = w.run_id and k.kind = w.kind
where hi.n < (c.rows + 1023) / 1024 and lo.n < c.rows - hi.n * 1024
union all
select g.run_id, g.node, g.source || ':' || g.row || iif(f.name = '', '', '/' || f.name), g.node || ':' || g.out_row,
  k.policy, k.merge, k.quorum, k.timeout_ms, k.expected, k.arrived, k.lost, k.not_needed,
  (
    select json_group_array(json(arrival)) from (
      select json_object('branch', json_extract(a.value, '$.branch'), 'token_id', json_extract(a.value, '$.token'),
        'offset_ms', json_extract(a.value, '$.offset_ms')) as arrival
      from json_each(g.arrivals) a
      order by a.key)
  ),
  g.wait_ms, k.fired_by, k.collisions, k.origins, k.result, k.code,
  iif(k.result <> 'merged', null, (
    select lower(hex(substr(r.raw_hashes, 32 * ((g.out_row - c.first_row) % 1024) + 1, 32)))
    from chunks c
    join chunk_rows r on r.run_id = c.run_id and r.source = c.source and r.chunk = c.chunk and r.slice = (g.out_row - c.first_row) / 1024
    where c.run_id = g.run_id and c.source = g.node and g.out_row >= c.first_row and g.out_row < c.first_row + c.rows
  )),
  g.node || ':' || g.batch, g.source, g.row, g.lane
from merges g
cross join lanes f on f.run_id = g.run_id and f.lane = g.lane
cross join merge_kinds k on k.run_id = g.run_id and k.kind = g.kind;

-- One row per token and token that it came from: the parent of a branch, the branches of a merged row, the row that was
-- expanded, the rows of a batch, or the one row that goes on.
create view token_parents as
select t.run_id, t.token_id, 0 as ordinal, t.fork_group_id as parent_token_id, 'fork' as relation, t.source, t.row, t.lane
from tokens t
where t.fork_group_id is not null
union all
select c.run_id, c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || '/' || l.name, a.key,
  c.source || ':' || (c.first_row + hi.n * 1024 + lo.n) || '/' || g.name, 'coalesce', c.source, c.first_row + hi.n * 1024 + lo.n, j.lane
from joins j
cross join chunks c on c.run_id = j.run_id and c.source = j.source and c.chunk = j.chunk
cross join lanes l on l.run_id = j.run_id and l.lane = j.lane
cross join numbers hi
cross join numbers lo
cross join chunk_joins w on w.run_id = j.run_id and w.source = j.source and w.chunk = j.chunk and w.lane = j.lane and w.code =
  case j.code_bytes
    when 1 then (select n from bytes where byte = substr(j.codes, hi.n * 1024 + lo.n + 1, 1))
    else ((select n from bytes where byte = substr(j.codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(j.codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
  end
cross join merge_kinds k on k.run_id = w.run_id and k.kind = w.kind
cross join json_each(k.arrived) a
cross join lane_joins n on n.run_id = c.run_id and n.source = c.source and n.merged_lane = j.lane and n.branch = a.value
cross join lanes g on g.run_id = n.run_id and g.lane = n.lane
cross join passages p on p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk and p.lane = n.lane
cross join chunk_ways v on v.run_id = p.run_id and v.source = p.source and v.chunk = p.chunk and v.lane = p.lane and v.code =
  case p.code_bytes
    when 1 then (select n from bytes where byte = substr(p.way_codes, hi.n * 1024 + lo.n + 1, 1))
    else ((select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
      | (select n from bytes where byte = substr(p.way_codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
  end
cross join ways y on y.run_id = v.run_id and y.way = v.way and y.path = 'coalesced' and y.last_node = k.node
where hi.n < (c.rows + 1023) / 1024 and lo.n < c.rows - hi.n * 1024
union all
select g.run_id, g.node || ':' || g.out_row, a.key, json_extract(a.value, '$.token'), 'coalesce', g.node, g.out_row, l.lane
from merges g
cross join lanes l on l.run_id = g.run_id and l.source = g.node and l.name = ''
cross join json_each(g.arrivals) a
union all
select r.run_id, r.token_id, 0, r.parent_token_id, iif(n.operation = 'expand', 'expand', 'continue'), r.node, r.row, l.lane
from batch_rows r
cross join lanes l on l.run_id = r.run_id and l.source = r.node and l.name = ''
cross join nodes n on n.run_id = r.run_id and n.node = r.node
where r.parent_token_id is not null
union all
select r.run_id, r.token_id, m.ordinal, m.token_id, 'batch', r.node, r.row, l.lane
from batch_rows r
cross join lanes l on l.run_id = r.run_id and l.source = r.node and l.name = ''
cross join nodes n on n.run_id = r.run_id and n.node = r.node and n.operation <> 'coalesce'
cross join batch_members m on m.run_id = r.run_id and m.node = r.node and m.batch = r.batch
where r.parent_token_id is null;

-- One row per refused token that no sink got, with the reason and the record as read.
create view quarantined_rows as
select x.run_id, x.source || ':' || x.row || iif(l.name = '', '', '/' || l.name) as token_id, x.source, x.row, x.chunk, c.file, x.line, x.byte_offset,
  x.node, x.code, x.field, x.message, x.error_hash,
  iif(x.raw_is_text, cast(x.raw as text), null) as raw_text, x.raw, x.raw_bytes, x.at_us, x.lane
from errors x
join chunks c on c.run_id = x.run_id and c.source = x.source and c.chunk = x.chunk
join lanes l on l.run_id = x.run_id and l.lane = x.lane
where x.sent_to = '__quarantine__';

-- One row per row that a sink's target confirmed; line_number counts from 1 and leaves a header out.
create view sink_rows as
select run_id, sink, line_number, token_id, source, row, chunk, ordinal, lane
from (
  select e.run_id, e.sink, e.ordinal, e.state, t.token_id, t.source, t.row, t.chunk, t.lane,
    row_number() over (partition by e.run_id, e.sink order by e.ordinal, t.row, t.lane) as line_number
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

-- One row per chunk and node: in_rows + created_rows = out_rows + dropped_rows + diverted_rows + consumed_rows + held_rows. Rows
-- leave a sink when its target confirmed them. The step before a branch's first own one is the fork that made it. What came to
-- a barrier is held until its batch fired.
create view chunk_node_counts as
select run_id, source, chunk, node, seq, kind, in_rows, out_rows, dropped_rows, diverted_rows, created_rows,
  ended_rows + fired_rows as consumed_rows, taken_rows - fired_rows as held_rows
from (
  select w.run_id, w.source, w.chunk, s.node, n.seq, n.kind,
    sum(iif(s.seq < k.first_seq or s.seq = 0 and n.kind = 'step', 0, w.rows)) as in_rows,
    sum(case
      when n.kind = 'sink' then iif(e.state = 'finalized', w.rows, 0)
      when s.seq >= k.first_seq and s.node = k.last_node and k.path not in ('default_flow', 'gate_routed') then 0
      else w.rows
    end) as out_rows,
    sum(iif(s.seq >= k.first_seq and s.node = k.last_node and k.path in ('filter_dropped', 'gate_discarded'), w.rows, 0)) as dropped_rows,
    sum(iif(s.seq >= k.first_seq and s.node = k.last_node and k.outcome = 'failure', w.rows, 0)) as diverted_rows,
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

-- One row per node that a row came to. Windows, unlike groups, let a condition on run_id through.
create view node_counts as
select distinct run_id, node, seq, kind, sum(in_rows) over by_node as in_rows, sum(out_rows) over by_node as out_rows,
  sum(dropped_rows) over by_node as dropped_rows, sum(diverted_rows) over by_node as diverted_rows,
  sum(created_rows) over by_node as created_rows, sum(consumed_rows) over by_node as consumed_rows, sum(held_rows) over by_node as held_rows
from chunk_node_counts
window by_node as (partition by run_id, node);

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
-- +goose StatementEnd
