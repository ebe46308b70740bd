package pgstore

import "waymark/landscape/sweep"

// tokenChecks look at every token, through the views that auditors use. None may join two expansions row by row: that is
// quadratic in the rows of a chunk.
var tokenChecks = []sweep.Check{
	{Name: "token_outcome", SQL: `
		select source, chunk, coalesce(last_node, ''), 'token ' || token_id || ' ' || case
			when completed = 0 and (outcome is not null or coalesce(path, 'buffered') <> 'buffered') then 'is open and has an outcome'
			when completed = 0 then 'has no completed outcome'
			when (outcome, path) not in (` + sweep.LegalOutcomes + `) then 'ends as ' || outcome || ' ' || path
			when (outcome = 'failure') <> (error_hash is not null) then 'ends as ' || outcome || case when error_hash is null then ' without' else ' with' end || ' an error'
			when (path in ` + sweep.Sinkless + `) <> (sink is null) then path || ' at sink ' || coalesce(sink, 'none')
			when ` + sweep.Groups + ` then path || ' of fork ' || coalesce(fork_group_id, 'none') || ', join ' || coalesce(join_group_id, 'none')
				|| ', expansion ' || coalesce(expand_group_id, 'none') || ', batch ' || coalesce(batch_id, 'none')
			else 'is complete, and its sink never confirmed it'
		end
		from token_outcomes o
		where run_id = $1 and not coalesce(completed = 1
			and (outcome, path) in (` + sweep.LegalOutcomes + `)
			and (outcome = 'failure') = (error_hash is not null)
			and (path in ` + sweep.Sinkless + `) = (sink is null)
			and not (` + sweep.Groups + `)
			and (sink is null or sink in ('__quarantine__', '__discard__') or exists (
				select 1 from effects e
				where e.run_id = o.run_id and e.sink = o.sink and e.source = o.source and e.chunk = o.chunk and e.state = 'finalized')), false)`},

	// Within a chunk every row is there once: only chunks that overlap can hold a token twice.
	{Name: "token_twice", SQL: `
		with overlapping as materialized (
			select distinct c.source, c.chunk
			from chunks c
			join chunks o on o.run_id = c.run_id and o.source = c.source and o.chunk <> c.chunk
				and o.first_row < c.first_row + c.rows and c.first_row < o.first_row + o.rows
			where c.run_id = $1
		)
		select t.source, min(t.chunk), '', 'token ' || min(t.token_id) || ' is there ' || count(*) || ' times'
		from overlapping o
		join tokens t on t.run_id = $1 and t.source = o.source and t.chunk = o.chunk
		group by t.source, t.row, t.lane having count(*) > 1`},

	// What sink_rows would number is counted without putting it in order.
	{Name: "sink_lines", SQL: `
		with lines as materialized (
			select bound_for as sink, source, chunk, count(*) as rows from tokens where run_id = $1 and refused_by is null group by bound_for, source, chunk
		)
		select e.source, e.chunk, e.sink, 'out ' || (e.rows - e.refused) || ' rows, lines ' || coalesce(l.rows, 0)
		from effects e
		left join lines l on l.sink = e.sink and l.source = e.source and l.chunk = e.chunk
		where e.run_id = $1 and e.kind = 'write' and e.state = 'finalized' and coalesce(l.rows, 0) <> e.rows - e.refused`},

	{Name: "way_codes", SQL: `
		with codes as (
			select source, chunk, lane, way, count(*) as rows from tokens where run_id = $1 group by source, chunk, lane, way
		)
		select c.source, c.chunk, '', 'way ' || coalesce(c.way, 'unknown') || ': codes of ' || c.rows || ' rows, counted ' || coalesce(w.rows, 0)
		from codes c
		left join chunk_ways w on w.run_id = $1 and w.source = c.source and w.chunk = c.chunk and w.lane = c.lane and w.way = c.way
		where w.rows is distinct from c.rows
		union all
		select w.source, w.chunk, '', 'way ' || w.way || ': codes of 0 rows, counted ' || w.rows
		from chunk_ways w
		where w.run_id = $1 and not exists (
			select 1 from codes c where c.source = w.source and c.chunk = w.chunk and c.lane = w.lane and c.way = w.way)`},

	{Name: "merge_codes", SQL: `
		with codes as (
			select j.source, j.chunk, j.lane, w.kind, count(*) as rows
			from merge_codes j
			cross join lateral generate_series(0::bigint, (j.rows + 1023) / 1024 - 1) g (slice)
			cross join lateral (
				select substr(j.codes, (1024 * j.code_bytes * g.slice)::int + 1, 1024 * j.code_bytes::int) as codes offset 0
			) d
			cross join lateral generate_series(0::bigint, least(1023, j.rows - 1024 * g.slice - 1)) i (n)
			left join chunk_merges w on w.run_id = j.run_id and w.source = j.source and w.chunk = j.chunk and w.lane = j.lane
				and w.code = code_at(d.codes, j.code_bytes, i.n)
			where j.run_id = $1 and code_at(d.codes, j.code_bytes, i.n) <> (1 << (8 * j.code_bytes)::int) - 1
			group by j.source, j.chunk, j.lane, w.kind
		)
		select c.source, c.chunk, '', 'merge kind ' || coalesce(c.kind, 'unknown') || ': codes of ' || c.rows || ' rows, counted ' || coalesce(w.rows, 0)
		from codes c
		left join chunk_merges w on w.run_id = $1 and w.source = c.source and w.chunk = c.chunk and w.lane = c.lane and w.kind = c.kind
		where w.rows is distinct from c.rows
		union all
		select w.source, w.chunk, '', 'merge kind ' || w.kind || ': codes of 0 rows, counted ' || w.rows
		from chunk_merges w
		where w.run_id = $1 and not exists (
			select 1 from codes c where c.source = w.source and c.chunk = w.chunk and c.lane = w.lane and c.kind = w.kind)`},

	{Name: "batch_rows", SQL: `
		with counted as materialized (
			select node, batch, count(*) as rows from batch_members where run_id = $1 group by node, batch
		)
		select '', -1, b.node, 'batch ' || b.batch || ': ' || b.rows || ' rows, members ' || coalesce(c.rows, 0)
		from batches b
		left join counted c on c.node = b.node and c.batch = b.batch
		where b.run_id = $1 and coalesce(c.rows, 0) <> b.rows
		union all
		select '', -1, c.node, 'batch ' || c.batch || ' with ' || c.rows || ' members did not fire'
		from counted c
		where not exists (select 1 from batches b where b.run_id = $1 and b.node = c.node and b.batch = c.batch)`},

	{Name: "hash_missing", SQL: `
		select source, chunk, node, 'slice ' || slice || ': hashes of ' || rows || ' rows, counted ' || counted
		from (
			select h.source, h.chunk, h.node, h.slice, h.rows, (
				select count(*) from forgotten f where f.run_id = h.run_id and f.source = h.source and f.chunk = h.chunk and f.slot / 1024 = h.slice
			) as forgotten, (
				select count(*)
				from (select substr(h.hashes, 1) as hashes, substr(h.slots, 1) as slots offset 0) d
				cross join lateral generate_series(0::bigint,
					case when h.slots is null then octet_length(d.hashes)::bigint / 32 else octet_length(d.slots)::bigint / 2 end - 1) i (n)
				where case when h.slots is null then substr(d.hashes, 32 * i.n::int + 1, 32) <> decode(repeat('00', 32), 'hex') else u16(d.slots, i.n) <> 0 end
			) as counted
			from hashes h
			where h.run_id = $1
		) x
		where rows - counted not between 0 and forgotten`},
}
