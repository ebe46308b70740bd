package sqlitestore

import "waymark/landscape/sweep"

// tokenChecks look at every token, through the views that auditors use. None may join two expansions row by row: that is
// quadratic in the rows of a chunk.
var tokenChecks = []sweep.Check{
	{Name: "token_outcome", SQL: `
		select source, chunk, coalesce(last_node, ''), 'token ' || token_id || ' ' || case
			when not completed and (outcome is not null or coalesce(path, 'buffered') <> 'buffered') then 'is open and has an outcome'
			when not completed then 'has no completed outcome'
			when (outcome, path) not in (` + sweep.LegalOutcomes + `) then 'ends as ' || outcome || ' ' || path
			when (outcome = 'failure') <> (error_hash is not null) then 'ends as ' || outcome || iif(error_hash is null, ' without', ' with') || ' an error'
			when (path in ` + sweep.Sinkless + `) <> (sink is null) then path || ' at sink ' || coalesce(sink, 'none')
			when ` + sweep.Groups + ` then path || ' of fork ' || coalesce(fork_group_id, 'none') || ', join ' || coalesce(join_group_id, 'none')
				|| ', expansion ' || coalesce(expand_group_id, 'none') || ', batch ' || coalesce(batch_id, 'none')
			else 'is complete, and its sink never confirmed it'
		end
		from token_outcomes o
		where run_id = ?1 and not coalesce(completed
			and (outcome, path) in (` + sweep.LegalOutcomes + `)
			and (outcome = 'failure') = (error_hash is not null)
			and (path in ` + sweep.Sinkless + `) = (sink is null)
			and not (` + sweep.Groups + `)
			and (sink is null or sink in ('__quarantine__', '__discard__') or exists (
				select 1 from effects e
				where e.run_id = o.run_id and e.sink = o.sink and e.source = o.source and e.chunk = o.chunk and e.state = 'finalized')), 0)`},

	{Name: "token_twice", SQL: `
		select source, chunk, '', 'token ' || token_id || ' is there ' || count(*) || ' times'
		from tokens where run_id = ?1
		group by source, row, lane having count(*) > 1`},

	{Name: "sink_lines", SQL: `
		with lines as (
			select sink, source, chunk, count(*) as rows from sink_rows where run_id = ?1 group by sink, source, chunk
		)
		select e.source, e.chunk, e.sink, 'out ' || (e.rows - e.refused) || ' rows, lines ' || coalesce(l.rows, 0)
		from effects e
		left join lines l on l.sink = e.sink and l.source = e.source and l.chunk = e.chunk
		where e.run_id = ?1 and e.kind = 'write' and e.state = 'finalized' and coalesce(l.rows, 0) <> e.rows - e.refused`},

	{Name: "way_codes", SQL: `
		with codes as (
			select source, chunk, lane, way, count(*) as rows from tokens where run_id = ?1 group by source, chunk, lane, way
		)
		select c.source, c.chunk, '', 'way ' || coalesce(c.way, 'unknown') || ': codes of ' || c.rows || ' rows, counted ' || coalesce(w.rows, 0)
		from codes c
		left join chunk_ways w on w.run_id = ?1 and w.source = c.source and w.chunk = c.chunk and w.lane = c.lane and w.way = c.way
		where w.rows is not c.rows
		union all
		select w.source, w.chunk, '', 'way ' || w.way || ': codes of 0 rows, counted ' || w.rows
		from chunk_ways w
		where w.run_id = ?1 and not exists (
			select 1 from codes c where c.source = w.source and c.chunk = w.chunk and c.lane = w.lane and c.way = w.way)`},

	{Name: "merge_codes", SQL: `
		with codes as (
			select j.source, j.chunk, j.lane, w.kind, count(*) as rows
			from merge_codes j
			cross join numbers hi
			cross join numbers lo
			left join chunk_merges w on w.run_id = j.run_id and w.source = j.source and w.chunk = j.chunk and w.lane = j.lane and w.code =
				case j.code_bytes
					when 1 then (select n from bytes where byte = substr(j.codes, hi.n * 1024 + lo.n + 1, 1))
					else ((select n from bytes where byte = substr(j.codes, 2 * (hi.n * 1024 + lo.n) + 1, 1)) << 8)
						| (select n from bytes where byte = substr(j.codes, 2 * (hi.n * 1024 + lo.n) + 2, 1))
				end
			where j.run_id = ?1 and hi.n < (j.rows + 1023) / 1024 and lo.n < j.rows - hi.n * 1024
				and substr(j.codes, j.code_bytes * (hi.n * 1024 + lo.n) + 1, j.code_bytes) <> substr(x'ffff', 1, j.code_bytes)
			group by j.source, j.chunk, j.lane, w.kind
		)
		select c.source, c.chunk, '', 'merge kind ' || coalesce(c.kind, 'unknown') || ': codes of ' || c.rows || ' rows, counted ' || coalesce(w.rows, 0)
		from codes c
		left join chunk_merges w on w.run_id = ?1 and w.source = c.source and w.chunk = c.chunk and w.lane = c.lane and w.kind = c.kind
		where w.rows is not c.rows
		union all
		select w.source, w.chunk, '', 'merge kind ' || w.kind || ': codes of 0 rows, counted ' || w.rows
		from chunk_merges w
		where w.run_id = ?1 and not exists (
			select 1 from codes c where c.source = w.source and c.chunk = w.chunk and c.lane = w.lane and c.kind = w.kind)`},

	{Name: "batch_rows", SQL: `
		with counted as materialized (
			select node, cast(batch as integer) as batch, count(*) as rows from batch_members where run_id = ?1 group by node, batch
		)
		select '', -1, b.node, 'batch ' || b.batch || ': ' || b.rows || ' rows, members ' || coalesce(c.rows, 0)
		from batches b
		left join counted c on c.node = b.node and c.batch = b.batch
		where b.run_id = ?1 and coalesce(c.rows, 0) <> b.rows
		union all
		select '', -1, c.node, 'batch ' || c.batch || ' with ' || c.rows || ' members did not fire'
		from counted c
		where not exists (select 1 from batches b where b.run_id = ?1 and b.node = c.node and b.batch = c.batch)`},

	{Name: "hash_missing", SQL: `
		select h.source, h.chunk, h.node, 'slice ' || h.slice || ': hashes of ' || h.rows || ' rows, counted ' || sum(iif(h.slots is null,
			substr(h.hashes, 32 * i.n + 1, 32) not in (zeroblob(32), x''), substr(h.slots, 2 * i.n + 1, 2) not in (zeroblob(2), x'')))
		from hashes h
		cross join numbers i
		where h.run_id = ?1
		group by h.source, h.chunk, h.lane, h.node, h.slice
		having h.rows - sum(iif(h.slots is null,
				substr(h.hashes, 32 * i.n + 1, 32) not in (zeroblob(32), x''), substr(h.slots, 2 * i.n + 1, 2) not in (zeroblob(2), x'')))
			not between 0 and (
				select count(*) from forgotten f where f.run_id = h.run_id and f.source = h.source and f.chunk = h.chunk and f.slot / 1024 = h.slice)`},
}
