package sqlitestore

// tokenChecks look at every token through the views that auditors use. Each must select nothing for a complete run.
var tokenChecks = []check{
	{"token_open", `
		select source, chunk, coalesce(bound_for, ''), 'token ' || token_id || ' has no completed outcome'
		from tokens where run_id = ?1 and not completed`},

	{"token_twice", `
		select source, -1, '', 'token ' || token_id || ' has ' || count(*) || ' outcomes'
		from token_outcomes where run_id = ?1 and completed
		group by source, row having count(*) > 1`},

	{"open_with_outcome", `
		select source, -1, last_node, 'token ' || token_id || ' is open and has the outcome ' || outcome
		from token_outcomes where run_id = ?1 and not completed and outcome is not null`},

	{"outcome_illegal", `
		select source, -1, last_node, 'token ' || token_id || ' ends as ' || outcome || ' ' || path
		from token_outcomes where run_id = ?1 and completed and (outcome, path) not in (values
			('success', 'default_flow'), ('success', 'gate_routed'), ('success', 'gate_discarded'), ('success', 'filter_dropped'),
			('failure', 'on_error_routed'), ('failure', 'unrouted'), ('failure', 'quarantined_at_source'), ('failure', 'sink_discarded'))`},

	{"outcome_incomplete", `
		select source, -1, last_node, 'token ' || token_id || ', ' || path || ', lacks ' || iif(outcome = 'failure' and error_hash is null, 'its error', 'its sink')
			|| ', or has one that it must not have'
		from token_outcomes where run_id = ?1 and completed
			and ((outcome = 'failure') <> (error_hash is not null) or (path in ('gate_discarded', 'filter_dropped')) <> (sink is null))`},

	{"outcome_without_sink", `
		select o.source, -1, o.sink, 'token ' || o.token_id || ' is complete, its sink never confirmed it'
		from token_outcomes o
		where o.run_id = ?1 and o.completed and o.sink not like '\_\_%' escape '\' and not exists (
			select 1 from effects e join chunks c on c.run_id = e.run_id and c.source = e.source and c.chunk = e.chunk
			where e.run_id = o.run_id and e.sink = o.sink and e.source = o.source and e.state = 'finalized'
				and o.row between c.first_row and c.first_row + c.rows - 1)`},

	{"sink_without_outcome", `
		select s.source, -1, s.sink, 'line ' || s.line_number || ' is token ' || s.token_id || ', which has no such outcome'
		from sink_rows s
		join tokens t on t.run_id = s.run_id and t.source = s.source and t.chunk = s.chunk and t.row = s.row
		where s.run_id = ?1 and (not t.completed or t.bound_for <> s.sink)`},

	{"token_without_record", `
		select p.source, p.chunk, p.source, 'tokens of ' || p.rows || ' rows have no record as read'
		from passages p
		left join chunk_rows r on r.run_id = p.run_id and r.source = p.source and r.chunk = p.chunk and r.rows = p.rows
		where p.run_id = ?1 and r.chunk is null`},

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
		select source, chunk, node, 'token ' || token_id || ' left the node without a hash'
		from node_states where run_id = ?1 and kind <> 'sink' and status = 'completed' and output_hash is null`},
}
