package sqlitestore

// tokenChecks look at every token, through the views that auditors use. None may join two expansions row by row: that is
// quadratic in the rows of a chunk.
var tokenChecks = []check{
	{"token_outcome", `
		select source, chunk, coalesce(last_node, ''), 'token ' || token_id || ' ' || case
			when not completed and (outcome is not null or path is not null) then 'is open and has an outcome'
			when not completed then 'has no completed outcome'
			when (outcome, path) not in (values ('success', 'default_flow'), ('success', 'gate_routed'), ('success', 'gate_discarded'),
				('success', 'filter_dropped'), ('failure', 'on_error_routed'), ('failure', 'unrouted'),
				('failure', 'quarantined_at_source'), ('failure', 'sink_discarded')) then 'ends as ' || outcome || ' ' || path
			when (outcome = 'failure') <> (error_hash is not null) then 'ends as ' || outcome || iif(error_hash is null, ' without', ' with') || ' an error'
			when (path in ('gate_discarded', 'filter_dropped')) <> (sink is null) then path || ' at sink ' || coalesce(sink, 'none')
			else 'is complete, and its sink never confirmed it'
		end
		from token_outcomes o
		where run_id = ?1 and not coalesce(completed
			and (outcome, path) in (values ('success', 'default_flow'), ('success', 'gate_routed'), ('success', 'gate_discarded'),
				('success', 'filter_dropped'), ('failure', 'on_error_routed'), ('failure', 'unrouted'),
				('failure', 'quarantined_at_source'), ('failure', 'sink_discarded'))
			and (outcome = 'failure') = (error_hash is not null)
			and (path in ('gate_discarded', 'filter_dropped')) = (sink is null)
			and (sink is null or sink in ('__quarantine__', '__discard__') or exists (
				select 1 from effects e
				where e.run_id = o.run_id and e.sink = o.sink and e.source = o.source and e.chunk = o.chunk and e.state = 'finalized')), 0)`},

	{"token_twice", `
		select source, chunk, '', 'token ' || token_id || ' is there ' || count(*) || ' times'
		from tokens where run_id = ?1
		group by source, row having count(*) > 1`},

	{"sink_lines", `
		with lines as (
			select sink, source, chunk, count(*) as rows from sink_rows where run_id = ?1 group by sink, source, chunk
		)
		select e.source, e.chunk, e.sink, 'out ' || e.rows || ' rows, lines ' || coalesce(l.rows, 0)
		from effects e
		left join lines l on l.sink = e.sink and l.source = e.source and l.chunk = e.chunk
		where e.run_id = ?1 and e.kind = 'write' and e.state = 'finalized' and l.rows is not e.rows`},

	{"way_codes", `
		with codes as (
			select source, chunk, way, count(*) as rows from tokens where run_id = ?1 group by source, chunk, way
		)
		select c.source, c.chunk, '', 'way ' || coalesce(c.way, 'unknown') || ': codes of ' || c.rows || ' rows, counted ' || coalesce(w.rows, 0)
		from codes c
		left join chunk_ways w on w.run_id = ?1 and w.source = c.source and w.chunk = c.chunk and w.way = c.way
		where w.rows is not c.rows
		union all
		select w.source, w.chunk, '', 'way ' || w.way || ': codes of 0 rows, counted ' || w.rows
		from chunk_ways w
		where w.run_id = ?1
			and not exists (select 1 from codes c where c.source = w.source and c.chunk = w.chunk and c.way = w.way)`},

	{"hash_missing", `
		select h.source, h.chunk, h.node, 'slice ' || h.slice || ': hashes of ' || h.rows || ' rows, counted ' || sum(iif(h.slots is null,
			substr(h.hashes, 32 * i.n + 1, 32) not in (zeroblob(32), x''), substr(h.slots, 2 * i.n + 1, 2) not in (zeroblob(2), x'')))
		from hashes h
		cross join numbers i
		where h.run_id = ?1
		group by h.source, h.chunk, h.node, h.slice
		having h.rows <> sum(iif(h.slots is null,
			substr(h.hashes, 32 * i.n + 1, 32) not in (zeroblob(32), x''), substr(h.slots, 2 * i.n + 1, 2) not in (zeroblob(2), x'')))`},
}
