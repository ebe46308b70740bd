-- +goose Up
-- +goose StatementBegin
-- The views of SQLite's version 12: the same names, columns and answers. What is packed is cut up by slices of 1,024 rows: "offset 0" keeps
-- a slice apart, so that it is read from its page once and not once for each of its rows.
--
-- The planner cannot know how many rows are packed. So nothing that is unpacked is joined to what it could be looked up in for each row, in an
-- order that the planner chooses: ways and kinds of merges are collected in a list for each chunk, records that few rows have are looked up
-- under a condition ("limit 1" keeps that so), and what is left is a left join that stays one ("coalesce" in conditions and columns), with the
-- unpacked rows on its left.

-- What numbers are in a column: the number i of 2 or 4 bytes each, NULL behind the end.
create function u16(packed bytea, i bigint) returns bigint language sql immutable parallel safe as $$
  select case when octet_length(packed) >= 2 * i + 2 then
    (get_byte(packed, (2 * i)::int) << 8 | get_byte(packed, (2 * i)::int + 1))::bigint
  end
$$;

create function u32(packed bytea, i bigint) returns bigint language sql immutable parallel safe as $$
  select case when octet_length(packed) >= 4 * i + 4 then
    (get_byte(packed, (4 * i)::int)::bigint << 24) | (get_byte(packed, (4 * i)::int + 1) << 16)
      | (get_byte(packed, (4 * i)::int + 2) << 8) | get_byte(packed, (4 * i)::int + 3)
  end
$$;

-- code_at is the number i of width bytes each.
create function code_at(packed bytea, width bigint, i bigint) returns bigint language sql immutable parallel safe as $$
  select case when width = 1 and octet_length(packed) > i then get_byte(packed, i::int)::bigint
    when width = 2 then u16(packed, i) end
$$;

-- hash_at is the hash of row i of a slice: with slots there are hashes only of the rows that have one.
create function hash_at(hashes bytea, slots bytea, i bigint) returns text language sql immutable parallel safe as $$
  select encode(substr(hashes, 32 * (case when slots is null then i else nullif(u16(slots, i), 0) - 1 end)::int + 1, 32), 'hex')
$$;

-- What SQLite calls by these names: so that a question is the same in both.
create function hex(raw bytea) returns text language sql immutable parallel safe as $$ select upper(encode(raw, 'hex')) $$;

create function datetime(seconds bigint, modifier text) returns text language sql stable parallel safe as $$
  select case when modifier = 'unixepoch' then to_char(to_timestamp(seconds) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') end
$$;

-- What the views of tokens are made of: 1,024 rows of a chunk in one lane, and the ways that the lane's rows of this chunk went. The way of row i
-- is at the same place in ways as its code is in way_codes.
create view slices as
select c.run_id, c.source, c.chunk, g.slice, l.lane, l.name as lane_name, case when l.name = '' then '' else '/' || l.name end as suffix, l.branch,
  case when f.name = '' then '' else '/' || f.name end as fork_suffix,
  c.first_row + 1024 * g.slice as first_row, least(1024, c.rows - 1024 * g.slice) as rows,
  d.width, d.codes, w.codes as way_codes, w.ways, w.finalized, w.refused, m.nodes as barriers, m.batches
from chunks c
join lanes l on l.run_id = c.run_id and l.source = c.source
left join lanes f on f.run_id = l.run_id and f.lane = l.parent
left join passages p on p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk and p.lane = l.lane
cross join lateral (
  select array_agg(w.code) as codes, array_agg(k) as ways,
    array_agg(e.state is not distinct from 'finalized') as finalized, array_agg(coalesce(e.refused, 0) > 0) as refused
  from chunk_ways w
  join ways k on k.run_id = w.run_id and k.way = w.way and k.lane = w.lane
  left join effects e on e.run_id = w.run_id and e.sink = k.sink and e.source = w.source and e.chunk = w.chunk
  where w.run_id = c.run_id and w.source = c.source and w.chunk = c.chunk and w.lane = l.lane
) w
cross join lateral generate_series(0::bigint, (c.rows + 1023) / 1024 - 1) g (slice)
cross join lateral (
  select p.code_bytes as width, substr(p.way_codes, (1024 * p.code_bytes * g.slice)::int + 1, 1024 * p.code_bytes::int) as codes
  offset 0
) d
cross join lateral (
  select array_agg(m.node) as nodes, array_agg(m.batches) as batches
  from members m
  where m.run_id = c.run_id and m.source = c.source and m.chunk = c.chunk and m.lane = l.lane and m.slice = g.slice
) m
where l.name = '' or p.chunk is not null;

-- One row per token.
create view tokens as
select s.run_id, s.source, s.first_row + i.n as row, s.source || ':' || (s.first_row + i.n) || s.suffix as token_id,
  s.chunk, 1024 * s.slice + i.n as pack_index, (a.k).way, (a.k).sink as bound_for,
  case
    when (a.k).way is null then 0
    when (a.k).path = 'buffered' then exists (
      select 1 from batches b where b.run_id = s.run_id and b.node = (a.k).last_node and b.batch = t.batch)::int
    when (a.k).sink in ('', '__quarantine__', '__discard__') then 1
    else s.finalized[a.place]::int
  end::bigint as completed,
  s.lane, s.lane_name,
  case when s.branch <> '' then s.source || ':' || (s.first_row + i.n) || s.fork_suffix end as fork_group_id,
  case when (a.k).path = 'buffered' then (a.k).last_node end as barrier, t.batch, (a.k).last_node || ':' || t.batch as batch_id,
  z.node as refused_by
from slices s
cross join lateral generate_series(0::bigint, s.rows - 1) i (n)
cross join lateral (select array_position(s.way_codes, code_at(s.codes, s.width, i.n)) as place offset 0) p
cross join lateral (select p.place, s.ways[p.place] as k offset 0) a
cross join lateral (
  select case when (a.k).path = 'buffered' then u32(s.batches[array_position(s.barriers, (a.k).last_node)], i.n) end as batch
  offset 0
) t
left join lateral (
  select z.node
  from errors z
  where s.refused[a.place] and z.run_id = s.run_id and z.source = s.source and z.row = s.first_row + i.n and z.lane = s.lane and z.node = (a.k).sink
  limit 1
) z on true
where s.lane_name = '' or (a.k).way is not null;

-- Which lanes' tokens a coalesce takes in their own passage.
create view lane_joins as
select g.run_id, g.source, g.lane, b.branch, m.node, m.lane as merged_lane, m.parent as fork_lane
from lanes m
join lanes b on b.run_id = m.run_id and b.source = m.source and b.parent = m.parent and b.node = m.fork
join lanes g on g.run_id = m.run_id and g.source = m.source
  and (g.lane = b.lane or substr(g.name, 1, length(b.name) + 1) = b.name || '/')
where m.branch = '' and m.fork <> '' and not exists (
  select 1 from lanes n
  join lanes i on i.run_id = n.run_id and i.source = n.source and i.parent = n.parent and i.node = n.fork
  where n.run_id = m.run_id and n.source = m.source and n.node = m.node and n.branch = ''
    and substr(i.name, 1, length(b.name) + 1) = b.name || '/'
    and (g.lane = i.lane or substr(g.name, 1, length(i.name) + 1) = i.name || '/'));

-- How each token ended.
create view token_outcomes as
select t.run_id, t.token_id, t.source, t.row, t.chunk, t.completed,
  case
    when t.completed = 0 then null
    when t.refused_by is not null then 'failure'
    when t.barrier is null then k.outcome
    when b.path = 'coalesced' then 'success'
    else 'transient'
  end as outcome,
  case
    when t.refused_by is not null then 'on_error_routed'
    when t.barrier is not null then coalesce(b.path, 'buffered')
    when t.completed = 1 then k.path
  end as path,
  case when t.refused_by is null then nullif(k.sink, '') else '__quarantine__' end as sink, coalesce(t.refused_by, k.last_node) as last_node,
  x.error_hash, t.lane,
  case when k.path = 'fork_parent' then t.token_id end as fork_group_id,
  case
    when b.path = 'coalesced' then (
      select g.node || ':' || g.out_row from merges g where g.run_id = b.run_id and g.node = b.node and g.batch = b.batch)
    when k.path = 'coalesced' then t.source || ':' || t.row || '/' || m.name
  end as join_group_id,
  case when b.path = 'expand_parent' then t.token_id end as expand_group_id,
  case when coalesce(b.path, 'batch_consumed') = 'batch_consumed' then t.batch_id end as batch_id
from tokens t
left join ways k on k.run_id = t.run_id and k.way = t.way
left join lane_joins g on g.run_id = t.run_id and g.source = t.source and g.lane = t.lane and g.node = k.last_node and k.path = 'coalesced'
left join lanes m on m.run_id = g.run_id and m.lane = g.merged_lane
left join lateral (
  select b.run_id, b.node, b.batch, b.path from batches b where t.batch is not null and b.run_id = t.run_id and b.node = t.barrier and b.batch = t.batch limit 1
) b on true
left join lateral (
  select x.error_hash
  from errors x
  where (k.outcome = 'failure' or t.refused_by is not null) and x.run_id = t.run_id and x.source = t.source and x.row = t.row and x.lane = t.lane
    and x.node = coalesce(t.refused_by, k.last_node)
  limit 1
) x on true;

-- One row per record of a source.
create view rows as
select s.run_id, s.source, s.first_row + i.n as row, s.source || ':' || (s.first_row + i.n) as token_id, s.chunk, c.file,
  c.first_line + case when r.lines is null then 1024 * s.slice + i.n else u32(r.lines, i.n) end as line,
  c.first_offset + u32(r.offsets, i.n) as byte_offset, u32(r.lengths, i.n) as byte_length,
  encode(substr(r.raw_hashes, 32 * i.n::int + 1, 32), 'hex') as raw_hash,
  c.pack, 1024 * s.slice + i.n as pack_index,
  t.completed,
  case
    when t.completed = 0 then null
    when z.node is not null then 'failure'
    else coalesce(nullif((a.k).outcome, ''), case when b.path = 'coalesced' then 'success' else 'transient' end)
  end as outcome,
  case when t.completed = 0 then null when z.node is not null then 'on_error_routed' else coalesce(b.path, (a.k).path) end as path,
  case when z.node is null then nullif((a.k).sink, '') else '__quarantine__' end as sink
from slices s
join nodes n on n.run_id = s.run_id and n.node = s.source and n.kind = 'source'
join chunks c on c.run_id = s.run_id and c.source = s.source and c.chunk = s.chunk
join lateral (
  select substr(q.offsets, 1) as offsets, substr(q.lengths, 1) as lengths, substr(q.lines, 1) as lines, substr(q.raw_hashes, 1) as raw_hashes
  from chunk_rows q
  where q.run_id = s.run_id and q.source = s.source and q.chunk = s.chunk and q.slice = s.slice
  offset 0
) r on true
cross join lateral generate_series(0::bigint, s.rows - 1) i (n)
cross join lateral (select array_position(s.way_codes, code_at(s.codes, s.width, i.n)) as place offset 0) p
cross join lateral (select p.place, s.ways[p.place] as k offset 0) a
left join lateral (
  select b.path
  from batches b
  where (a.k).path = 'buffered' and b.run_id = s.run_id and b.node = (a.k).last_node
    and b.batch = u32(s.batches[array_position(s.barriers, (a.k).last_node)], i.n)
  limit 1
) b on true
left join lateral (
  select z.node
  from errors z
  where s.refused[a.place] and z.run_id = s.run_id and z.source = s.source and z.row = s.first_row + i.n and z.lane = s.lane and z.node = (a.k).sink
  limit 1
) z on true
cross join lateral (
  select case
    when (a.k).way is null then 0
    when (a.k).path = 'buffered' then (b.path is not null)::int
    when (a.k).sink in ('', '__quarantine__', '__discard__') then 1
    else s.finalized[a.place]::int
  end::bigint as completed
) t
where s.lane_name = '';

-- One row per way and node that it comes to, and where the hashes of what goes into the node and comes out of it are.
create view way_places as
select s.run_id, s.way, s.seq, s.node, s.label, n.kind, came.hashes as in_hashes, came.place as in_place, went.hashes as out_hashes, went.place as out_place
from ways k
join way_steps s on s.run_id = k.run_id and s.way = k.way and s.seq >= k.first_seq
join nodes n on n.run_id = s.run_id and n.node = s.node
left join lateral (
  select o.hashes, y.lane || '/' || y.node as place
  from way_steps y
  join nodes o on o.run_id = y.run_id and o.node = y.node and o.hashes <> 'input'
  where y.run_id = s.run_id and y.way = s.way and y.seq < s.seq and not (k.outcome = 'failure' and y.node = k.last_node)
  order by y.seq desc limit 1
) came on true
left join lateral (
  select o.hashes, y.lane || '/' || y.node as place
  from way_steps y
  join nodes o on o.run_id = y.run_id and o.node = y.node and o.hashes <> 'input'
  where y.run_id = s.run_id and y.way = s.way and y.seq <= s.seq and not (k.outcome = 'failure' and y.node = k.last_node)
  order by y.seq desc limit 1
) went on true;

-- One row per token and node that it came to. Where the hashes of a step are is looked for once for each way of a slice, and not for each token.
create view node_states as
select s.run_id, s.source || ':' || (s.first_row + i.n) || s.suffix as token_id, s.source, s.first_row + i.n as row, s.chunk, coalesce(y.seq, 0) as seq,
  coalesce(y.node, '') as node, coalesce(y.kind, '') as kind, coalesce(y.label, '') as label,
  case
    when y.node = z.node or (a.k).outcome = 'failure' and y.node = (a.k).last_node then 'failed'
    when y.kind = 'sink' then case when (a.k).sink not in ('', '__quarantine__', '__discard__') and s.finalized[a.place] then 'completed' else 'open' end
    when (a.k).path = 'buffered' and y.node = (a.k).last_node and b.batch is null then 'held'
    else 'completed'
  end as status,
  case
    when y.seq > 0 then case y.in_hashes when 'record' then encode(substr(r.raw_hashes, 32 * i.n::int + 1, 32), 'hex')
      else hash_at(h.hashes[array_position(h.places, y.in_place)], h.slots[array_position(h.places, y.in_place)], i.n) end
    when y.kind = 'source' then encode(substr(r.raw_hashes, 32 * i.n::int + 1, 32), 'hex')
  end as input_hash,
  case when not (y.kind = 'sink' or y.node = (a.k).last_node and ((a.k).outcome = 'failure' or (a.k).path in ('buffered', 'coalesced', 'branch_not_needed'))) then
    case y.out_hashes when 'record' then encode(substr(r.raw_hashes, 32 * i.n::int + 1, 32), 'hex')
      else hash_at(h.hashes[array_position(h.places, y.out_place)], h.slots[array_position(h.places, y.out_place)], i.n) end
  end as output_hash,
  s.lane
from slices s
cross join lateral (
  select array_agg(h.lane || '/' || h.node) as places, array_agg(h.hashes) as hashes, array_agg(h.slots) as slots
  from hashes h
  where h.run_id = s.run_id and h.source = s.source and h.chunk = s.chunk and h.slice = s.slice
) h
left join lateral (
  select substr(q.raw_hashes, 1) as raw_hashes
  from chunk_rows q
  where q.run_id = s.run_id and q.source = s.source and q.chunk = s.chunk and q.slice = s.slice
  offset 0
) r on true
cross join lateral generate_series(0::bigint, s.rows - 1) i (n)
cross join lateral (select array_position(s.way_codes, code_at(s.codes, s.width, i.n)) as place offset 0) p
cross join lateral (select p.place, s.ways[p.place] as k offset 0) a
left join lateral (
  select b.batch
  from batches b
  where (a.k).path = 'buffered' and b.run_id = s.run_id and b.node = (a.k).last_node
    and b.batch = u32(s.batches[array_position(s.barriers, (a.k).last_node)], i.n)
  limit 1
) b on true
left join lateral (
  select z.node
  from errors z
  where s.refused[a.place] and z.run_id = s.run_id and z.source = s.source and z.row = s.first_row + i.n and z.lane = s.lane and z.node = (a.k).sink
  limit 1
) z on true
left join way_places y on y.run_id = s.run_id and y.way = (a.k).way
where coalesce(y.node, '') <> '';

-- One row per way and edge of the graph that it takes. At a sink, where it ends, to_node is null: only what the sink's target refused goes on from there.
create view way_edges as
select s.run_id, s.way, s.seq, s.node, coalesce(e.label, s.label) as label,
  case
    when e.label is not null then e.to_node
    when b.node is not null then b.node
    when s.node = k.last_node and k.path not in ('filter_dropped', 'fork_parent', 'buffered', 'coalesced', 'branch_not_needed')
      then case when k.sink = '__quarantine__' then 'quarantine' else 'discard' end
  end as to_node,
  case
    when e.label is not null then 'branch'
    when k.outcome = 'failure' and s.node = k.last_node then 'error'
    when n.operation = 'gate' then 'route'
    else 'flow'
  end as kind
from ways k
join way_steps s on s.run_id = k.run_id and s.way = k.way and s.seq >= k.first_seq
join nodes n on n.run_id = s.run_id and n.node = s.node
left join way_steps b on b.run_id = s.run_id and b.way = s.way and b.seq = s.seq + 1
left join edges e on e.run_id = s.run_id and e.from_node = s.node and e.kind = 'route' and k.path = 'fork_parent' and s.node = k.last_node;

-- One row per edge that a token took.
create view routing_events as
select t.run_id, t.token_id, t.source, t.row, coalesce(w.seq, 0) as seq, coalesce(w.node, '') as node, coalesce(w.label, '') as label,
  coalesce(w.to_node, 'quarantine') as to_node,
  case when w.node = t.refused_by then 'error' else w.kind end as kind, t.lane
from tokens t
left join way_edges w on w.run_id = t.run_id and w.way = t.way
where coalesce(w.to_node, case when w.node = t.refused_by then w.node end, '') <> '';

-- One row per token that a barrier took.
create view batch_members as
select run_id, node, batch, row_number() over (partition by run_id, node, batch order by fold, row, lane) - 1 as ordinal,
  token_id, source, row, lane, chunk, fold
from (
  select m.run_id, m.node, m.source, c.first_row + 1024 * m.slice + i.n as row, m.lane, m.chunk, m.fold,
    m.source || ':' || (c.first_row + 1024 * m.slice + i.n) || case when l.name = '' then '' else '/' || l.name end as token_id,
    u32(d.batches, i.n) as batch
  from members m
  join chunks c on c.run_id = m.run_id and c.source = m.source and c.chunk = m.chunk
  join lanes l on l.run_id = m.run_id and l.lane = m.lane
  cross join lateral (select substr(m.batches, 1) as batches offset 0) d
  cross join lateral generate_series(0::bigint, octet_length(d.batches)::bigint / 4 - 1) i (n)
) x
where batch > 0;

-- One row per row that came out of a barrier.
create view batch_rows as
select p.run_id, p.source as node, c.first_row + 1024 * p.slice + i.n as row,
  p.source || ':' || (c.first_row + 1024 * p.slice + i.n) as token_id,
  u32(d.batches, i.n) as batch,
  l.source || ':' || (u16(d.tokens, 4 * i.n + 1) << 32 | u32(d.tokens, 2 * i.n + 1)) || case when l.name = '' then '' else '/' || l.name end
    as parent_token_id,
  p.chunk, c.fold
from parents p
join chunks c on c.run_id = p.run_id and c.source = p.source and c.chunk = p.chunk
cross join lateral (select substr(p.batches, 1) as batches, substr(p.tokens, 1) as tokens offset 0) d
cross join lateral generate_series(0::bigint, p.rows - 1) i (n)
left join lanes l on l.run_id = p.run_id and l.lane = u16(d.tokens, 4 * i.n);

-- One row per batch that fired.
create view batch_totals as
select b.run_id, b.node, b.batch, b.trigger, b.path, b.rows, b.opened_us, b.fired_us, coalesce(r.out_rows, 0) as out_rows, b.fold, b.of
from batches b
left join (select run_id, node, batch, count(*) as out_rows from batch_rows group by run_id, node, batch) r
  on r.run_id = b.run_id and r.node = b.node and r.batch = b.batch;

-- One row per forked token and coalesce that decided about its branches.
create view coalesce_events as
select c.run_id, (m.k).node, c.source || ':' || (c.first_row + 1024 * g.slice + i.n) || case when f.name = '' then '' else '/' || f.name end as fork_group_id,
  case when (m.k).result <> 'nothing' then c.source || ':' || (c.first_row + 1024 * g.slice + i.n) || '/' || l.name end as merged_token_id,
  (m.k).policy, (m.k).merge as merge_strategy, (m.k).quorum, (m.k).timeout_ms, (m.k).expected as branches_expected, (m.k).arrived as branches_arrived,
  (m.k).lost as branches_lost, (m.k).not_needed as branches_not_needed,
  (
    select '[' || coalesce(string_agg('{"branch":' || to_json(a.branch) || ',"token_id":' || coalesce(to_json(
      c.source || ':' || (c.first_row + 1024 * g.slice + i.n) || '/' || (
      select u.name
      from unnest(v.branches, v.lanes, v.names, v.widths, v.codes) u (branch, lane, name, width, codes)
      join chunk_ways z on z.run_id = c.run_id and z.source = c.source and z.chunk = c.chunk and z.lane = u.lane
        and z.code = code_at(u.codes, u.width, i.n)
      join ways x on x.run_id = z.run_id and x.way = z.way and x.path = 'coalesced' and x.last_node = (m.k).node
      where u.branch = a.branch
      limit 1))::text, 'null') || ',"offset_ms":0}', ',' order by a.place), '') || ']'
    from json_array_elements_text((m.k).arrived::json) with ordinality a (branch, place)
  ) as arrival_order,
  0::bigint as wait_ms, (m.k).fired_by, (m.k).collisions, (m.k).origins as field_origins, (m.k).result, (m.k).code,
  case when (m.k).result = 'merged' then hash_at(o.hashes[array_position(o.nodes, (m.k).node)], o.slots[array_position(o.nodes, (m.k).node)], i.n) end
    as merged_hash,
  null as batch_id, c.source, c.first_row + 1024 * g.slice + i.n as row, l.parent as lane
from joins j
join chunks c on c.run_id = j.run_id and c.source = j.source and c.chunk = j.chunk
join lanes l on l.run_id = j.run_id and l.lane = j.lane
join lanes f on f.run_id = l.run_id and f.lane = l.parent
cross join lateral (
  select array_agg(w.code) as codes, array_agg(k) as kinds
  from chunk_joins w
  join merge_kinds k on k.run_id = w.run_id and k.kind = w.kind
  where w.run_id = j.run_id and w.source = j.source and w.chunk = j.chunk and w.lane = j.lane
) w
cross join lateral generate_series(0::bigint, (c.rows + 1023) / 1024 - 1) g (slice)
cross join lateral (
  select j.code_bytes as width, substr(j.codes, (1024 * j.code_bytes * g.slice)::int + 1, 1024 * j.code_bytes::int) as codes
  offset 0
) d
cross join lateral (
  select array_agg(n.branch) as branches, array_agg(q.lane) as lanes, array_agg(y.name) as names, array_agg(q.code_bytes) as widths,
    array_agg(substr(q.way_codes, (1024 * q.code_bytes * g.slice)::int + 1, 1024 * q.code_bytes::int)) as codes
  from lane_joins n
  join lanes y on y.run_id = n.run_id and y.lane = n.lane
  join passages q on q.run_id = n.run_id and q.source = n.source and q.chunk = c.chunk and q.lane = n.lane
  where n.run_id = c.run_id and n.source = c.source and n.merged_lane = j.lane
) v
cross join lateral (
  select array_agg(h.node) as nodes, array_agg(h.hashes) as hashes, array_agg(h.slots) as slots
  from hashes h
  where h.run_id = c.run_id and h.source = c.source and h.chunk = c.chunk and h.lane = j.lane and h.slice = g.slice
) o
cross join lateral generate_series(0::bigint, least(1023, c.rows - 1024 * g.slice - 1)) i (n)
cross join lateral (select w.kinds[array_position(w.codes, code_at(d.codes, d.width, i.n))] as k offset 0) m
where m.k is distinct from null
union all
select g.run_id, g.node, g.source || ':' || g.row || case when f.name = '' then '' else '/' || f.name end, g.node || ':' || g.out_row,
  k.policy, k.merge, k.quorum, k.timeout_ms, k.expected, k.arrived, k.lost, k.not_needed,
  (
    select '[' || coalesce(string_agg('{"branch":' || coalesce((a.arrival -> 'branch')::text, 'null') || ',"token_id":' || coalesce((a.arrival -> 'token')::text, 'null')
      || ',"offset_ms":' || coalesce((a.arrival -> 'offset_ms')::text, 'null') || '}', ',' order by a.place), '') || ']'
    from json_array_elements(g.arrivals::json) with ordinality a (arrival, place)
  ),
  g.wait_ms, k.fired_by, k.collisions, k.origins, k.result, k.code,
  case when k.result = 'merged' then (
    select encode(substr(r.raw_hashes, 32 * ((g.out_row - c.first_row) % 1024)::int + 1, 32), 'hex')
    from chunks c
    join chunk_rows r on r.run_id = c.run_id and r.source = c.source and r.chunk = c.chunk and r.slice = (g.out_row - c.first_row) / 1024
    where c.run_id = g.run_id and c.source = g.node and g.out_row >= c.first_row and g.out_row < c.first_row + c.rows
  ) end,
  g.node || ':' || g.batch, g.source, g.row, g.lane
from merges g
join lanes f on f.run_id = g.run_id and f.lane = g.lane
join merge_kinds k on k.run_id = g.run_id and k.kind = g.kind;

-- One row per token and token that it came from.
create view token_parents as
select t.run_id, t.token_id, 0::bigint as ordinal, t.fork_group_id as parent_token_id, 'fork' as relation, t.source, t.row, t.lane
from tokens t
where t.fork_group_id is not null
union all
select s.run_id, s.source || ':' || (s.first_row + i.n) || '/' || l.name, a.ordinal, s.source || ':' || (s.first_row + i.n) || s.suffix, 'coalesce',
  s.source, s.first_row + i.n, l.lane
from slices s
cross join lateral (
  select g.branch, g.node, l.lane, l.name
  from lane_joins g
  join lanes l on l.run_id = g.run_id and l.lane = g.merged_lane
  where g.run_id = s.run_id and g.source = s.source and g.lane = s.lane
  offset 0
) l
join joins j on j.run_id = s.run_id and j.source = s.source and j.chunk = s.chunk and j.lane = l.lane
cross join lateral (
  select array_agg(w.code) as codes, array_agg((
    select b.place - 1 from json_array_elements_text(k.arrived::json) with ordinality b (branch, place) where b.branch = l.branch)) as ordinals
  from chunk_joins w
  join merge_kinds k on k.run_id = w.run_id and k.kind = w.kind
  where w.run_id = j.run_id and w.source = j.source and w.chunk = j.chunk and w.lane = j.lane
) w
cross join lateral (
  select j.code_bytes as width, substr(j.codes, (1024 * j.code_bytes * s.slice)::int + 1, 1024 * j.code_bytes::int) as codes
  offset 0
) d
cross join lateral generate_series(0::bigint, s.rows - 1) i (n)
cross join lateral (
  select s.ways[array_position(s.way_codes, code_at(s.codes, s.width, i.n))] as k, w.ordinals[array_position(w.codes, code_at(d.codes, d.width, i.n))] as ordinal
  offset 0
) a
where (a.k).path = 'coalesced' and (a.k).last_node = l.node and a.ordinal is not null
union all
select g.run_id, g.node || ':' || g.out_row, a.place - 1, a.arrival ->> 'token', 'coalesce', g.node, g.out_row, l.lane
from merges g
join lanes l on l.run_id = g.run_id and l.source = g.node and l.name = ''
cross join lateral json_array_elements(g.arrivals::json) with ordinality a (arrival, place)
union all
select r.run_id, r.token_id, 0, r.parent_token_id, case when n.operation = 'expand' then 'expand' else 'continue' end, r.node, r.row, l.lane
from batch_rows r
left join lanes l on l.run_id = r.run_id and l.source = r.node and l.name = ''
left join nodes n on n.run_id = r.run_id and n.node = r.node
where r.parent_token_id is not null
union all
select b.run_id, r.token_id, m.place - 1, m.token_id, 'batch', b.node, r.row, l.lane
from (
  select x.run_id, x.node, x.batch, array_agg(x.token_id order by x.place) filter (where x.place >= 0) as members,
    array_agg(x.token_id order by x.row) filter (where x.place < 0) as made, array_agg(x.row order by x.row) filter (where x.place < 0) as rows
  from (
    select run_id, node, batch, token_id, ordinal as place, row from batch_members
    union all
    select run_id, node, batch, token_id, -1, row from batch_rows where parent_token_id is null
  ) x
  group by x.run_id, x.node, x.batch
) b
left join lanes l on l.run_id = b.run_id and l.source = b.node and l.name = ''
left join nodes n on n.run_id = b.run_id and n.node = b.node
cross join lateral unnest(b.made, b.rows) r (token_id, row)
cross join lateral unnest(b.members) with ordinality m (token_id, place)
where coalesce(n.operation, '') <> 'coalesce';

-- One row per refused token that no sink got.
create view quarantined_rows as
select x.run_id, x.source || ':' || x.row || case when l.name = '' then '' else '/' || l.name end as token_id, x.source, x.row, x.chunk,
  c.file, x.line, x.byte_offset, x.node, x.code, x.field, x.message, x.error_hash,
  case when x.raw_is_text = 1 then convert_from(x.raw, 'UTF8') end as raw_text, x.raw, x.raw_bytes, x.at_us, x.lane
from errors x
join chunks c on c.run_id = x.run_id and c.source = x.source and c.chunk = x.chunk
join lanes l on l.run_id = x.run_id and l.lane = x.lane
where x.sent_to = '__quarantine__';

-- One row per row that a sink's target confirmed.
create view sink_rows as
select run_id, sink, line_number, token_id, source, row, chunk, ordinal, lane
from (
  select e.run_id, e.sink, e.ordinal, e.state, t.token_id, t.source, t.row, t.chunk, t.lane,
    row_number() over (partition by e.run_id, e.sink order by e.ordinal, t.row, t.lane) as line_number
  from effects e
  join tokens t on t.run_id = e.run_id and t.source = e.source and t.chunk = e.chunk and t.bound_for = e.sink
  where e.kind = 'write' and e.ordinal is not null and t.refused_by is null
) x
where state = 'finalized';

-- One row per sink of a run.
create view sink_totals as
select n.run_id, n.node as sink, n.guarantee,
  coalesce(sum(e.rows) filter (where e.kind = 'write'), 0)::bigint as planned_rows,
  coalesce(sum(e.rows - e.refused) filter (where e.kind = 'write' and e.state = 'finalized'), 0)::bigint as finalized_rows,
  coalesce(sum(e.bytes) filter (where e.kind = 'write' and e.state = 'finalized'), 0)::bigint as finalized_bytes,
  coalesce(sum(e.refused), 0)::bigint as refused_rows,
  a.path as artifact_path, a.bytes as artifact_bytes, a.sha256 as artifact_sha256, a.published_us
from nodes n
left join effects e on e.run_id = n.run_id and e.sink = n.node
left join artifacts a on a.run_id = n.run_id and a.sink = n.node
where n.kind = 'sink'
group by n.run_id, n.node, n.guarantee, a.path, a.bytes, a.sha256, a.published_us;

-- One row per chunk and node: where its tokens went.
create view chunk_node_counts as
select run_id, source, chunk, node, seq, kind, in_rows, out_rows, dropped_rows, diverted_rows, created_rows,
  ended_rows + fired_rows as consumed_rows, taken_rows - fired_rows as held_rows
from (
  select t.*, case when t.hashes <> 'record' then 0 else (
    select coalesce(sum(case
      when exists (select 1 from folds f where f.run_id = m.run_id and f.node = m.node and f.kind = 'end') then m.rows
      else (
        select count(*)
        from (select substr(m.batches, 1) as batches offset 0) d
        cross join lateral generate_series(0::bigint, octet_length(d.batches)::bigint / 4 - 1) i (n)
        join batches b on b.run_id = m.run_id and b.node = m.node and b.batch = u32(d.batches, i.n))
    end), 0)::bigint
    from members m
    where m.run_id = t.run_id and m.node = t.node and m.source = t.source and m.chunk = t.chunk
  ) end as fired_rows
  from (
    select w.run_id, w.source, w.chunk, s.node, n.seq, n.kind, n.hashes,
      sum(case when s.seq < k.first_seq or s.seq = 0 and n.kind = 'step' then 0 else w.rows end)::bigint as in_rows,
      sum(case
        when n.kind = 'sink' and s.node <> k.last_node then case when e.state = 'finalized' then w.rows else 0 end
        when s.seq >= k.first_seq and s.node = k.last_node and k.path not in ('default_flow', 'gate_routed') then 0
        else w.rows
      end)::bigint - coalesce(max(e.refused), 0) as out_rows,
      sum(case when s.seq >= k.first_seq and s.node = k.last_node and k.path in ('filter_dropped', 'gate_discarded') then w.rows else 0 end)::bigint
        as dropped_rows,
      sum(case when s.seq >= k.first_seq and s.node = k.last_node and k.outcome = 'failure' then w.rows else 0 end)::bigint + coalesce(max(e.refused), 0) as diverted_rows,
      sum(case when s.seq < k.first_seq or s.seq = 0 and n.kind = 'step' then w.rows else 0 end)::bigint as created_rows,
      sum(case when s.seq >= k.first_seq and s.node = k.last_node and k.path in ('fork_parent', 'coalesced', 'branch_not_needed') then w.rows else 0 end)::bigint
        as ended_rows,
      sum(case when s.seq >= k.first_seq and s.node = k.last_node and k.path = 'buffered' then w.rows else 0 end)::bigint as taken_rows
    from chunk_ways w
    join ways k on k.run_id = w.run_id and k.way = w.way and k.lane = w.lane
    join way_steps s on s.run_id = w.run_id and s.way = w.way and s.seq >= k.first_seq - 1
    join nodes n on n.run_id = s.run_id and n.node = s.node
    left join effects e on e.run_id = w.run_id and e.sink = s.node and e.source = w.source and e.chunk = w.chunk
    group by w.run_id, w.source, w.chunk, s.node, n.seq, n.kind, n.hashes
  ) t
) x;

-- One row per node of a run that a token came to.
create view node_counts as
select run_id, node, seq, kind, sum(in_rows)::bigint as in_rows, sum(out_rows)::bigint as out_rows,
  sum(dropped_rows)::bigint as dropped_rows, sum(diverted_rows)::bigint as diverted_rows,
  sum(created_rows)::bigint as created_rows, sum(consumed_rows)::bigint as consumed_rows, sum(held_rows)::bigint as held_rows
from chunk_node_counts
group by run_id, node, seq, kind;

-- One row per run. rows_read and rows_passed are records of sources, the others tokens.
create view run_summary as
select run_id, pipeline, status, reason, started_us, finished_us, (
    select coalesce(sum(c.rows), 0)::bigint from chunks c
    join nodes n on n.run_id = c.run_id and n.node = c.source and n.kind = 'source'
    where c.run_id = r.run_id
  ) as rows_read,
  rows_passed, rows_succeeded + merged - refused + refused_twice as rows_succeeded, rows_failed + refused - refused_twice as rows_failed,
  rows_quarantined + refused as rows_quarantined, rows_filtered, rows_discarded,
  tokens, tokens_transient + settled - merged as tokens_transient, tokens_held - settled as tokens_held
from (
  select r.run_id, r.pipeline, r.status, r.reason, r.started_us, r.finished_us,
    coalesce(sum(w.rows) filter (where l.name = '' and n.kind = 'source'), 0)::bigint as rows_passed,
    coalesce(sum(w.rows) filter (where k.outcome = 'success'), 0)::bigint as rows_succeeded,
    coalesce(sum(w.rows) filter (where k.outcome = 'failure'), 0)::bigint as rows_failed,
    coalesce(sum(w.rows) filter (where k.sink = '__quarantine__'), 0)::bigint as rows_quarantined,
    coalesce(sum(w.rows) filter (where k.path = 'filter_dropped'), 0)::bigint as rows_filtered,
    coalesce(sum(w.rows) filter (where k.path in ('gate_discarded', 'sink_discarded')), 0)::bigint as rows_discarded,
    coalesce(sum(w.rows), 0)::bigint as tokens,
    coalesce(sum(w.rows) filter (where k.outcome = 'transient'), 0)::bigint as tokens_transient,
    coalesce(sum(w.rows) filter (where k.path = 'buffered'), 0)::bigint as tokens_held,
    (select coalesce(sum(b.rows), 0)::bigint from batches b where b.run_id = r.run_id) as settled,
    (select coalesce(sum(b.rows), 0)::bigint from batches b where b.run_id = r.run_id and b.path = 'coalesced') as merged,
    (select coalesce(sum(e.refused), 0)::bigint from effects e where e.run_id = r.run_id) as refused,
    (
      select coalesce(sum(e.refused), 0)::bigint from effects e
      where e.run_id = r.run_id and e.refused > 0 and e.sink in (select f.sink from ways f where f.run_id = e.run_id and f.outcome = 'failure')
    ) as refused_twice
  from runs r
  left join chunk_ways w on w.run_id = r.run_id
  left join ways k on k.run_id = w.run_id and k.way = w.way and k.lane = w.lane
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
  fence as attempts, ordinal, refused
from effects
where kind = 'write';
-- +goose StatementEnd
