package sweep

// chunks are checks of how chunks came to their sinks.
var chunks = []Check{
	{"source_not_ended", `
		select s.source, -1, s.source, 'the source was not read to its end'
		from sources s
		left join source_ends e on e.run_id = s.run_id and e.source = s.source
		where s.run_id = $1 and e.source is null
		order by s.source`},

	{"source_totals", `
		select e.source, -1, e.source, 'read to the end: ' || e.chunks || ' chunks, ' || e.rows || ' rows, ' || e.blank || ' blank, '
			|| e.comments || ' comments, ' || e.bytes || ' bytes; the chunks say ' || count(c.chunk) || ', ' || coalesce(sum(c.rows), 0)
			|| ', ' || coalesce(sum(c.blank), 0) || ', ' || coalesce(sum(c.comments), 0) || ', ' || coalesce(sum(c.bytes), 0)
		from source_ends e
		left join chunks c on c.run_id = e.run_id and c.source = e.source
		where e.run_id = $1
		group by e.run_id, e.source
		having (e.chunks, e.rows, e.blank, e.comments, e.bytes) is distinct from (count(c.chunk), coalesce(sum(c.rows), 0),
			coalesce(sum(c.blank), 0), coalesce(sum(c.comments), 0), coalesce(sum(c.bytes), 0))
		order by e.source`},

	{"chunk_sequence", `
		select source, chunk, source, 'begins with row ' || first_row || ' instead of ' || wanted_row || ', as chunk ' || wanted_chunk
			|| ' of the source'
		from (
			select source, chunk, first_row, row_number() over by_chunk - 1 as wanted_chunk,
				1 + sum(rows) over by_chunk - rows as wanted_row
			from chunks where run_id = $1
			window by_chunk as (partition by source order by chunk)
		) x
		where chunk <> wanted_chunk or first_row <> wanted_row
		order by source, chunk`},

	{"chunk_not_passed", `
		select c.source, c.chunk, '', 'did not go through the steps'
		from chunks c
		where c.run_id = $1
			and not exists (select 1 from passages p where p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk)
		order by c.source, c.chunk`},

	{"chunk_not_indexed", `
		select c.source, c.chunk, '', 'in ' || c.rows || ' rows, in the index ' || coalesce(sum(r.rows), 0)
		from chunks c
		left join chunk_rows r on r.run_id = c.run_id and r.source = c.source and r.chunk = c.chunk
		where c.run_id = $1
		group by c.run_id, c.source, c.chunk
		having c.rows <> coalesce(sum(r.rows), 0)
		order by c.source, c.chunk`},

	{"rows_without_way", `
		select c.source, c.chunk, c.source, 'in ' || c.rows || ' rows, on their ways ' || coalesce(sum(w.rows), 0)
		from chunks c
		left join lanes l on l.run_id = c.run_id and l.source = c.source and l.name = ''
		left join chunk_ways w on w.run_id = c.run_id and w.source = c.source and w.chunk = c.chunk and w.lane = l.lane
		where c.run_id = $1
		group by c.run_id, c.source, c.chunk
		having c.rows <> coalesce(sum(w.rows), 0)
		order by c.source, c.chunk`},

	{"illegal_outcome", `
		select '', -1, k.last_node, 'way ' || k.signature || ' ends as ' || k.outcome || ' at "' || k.sink || '"'
		from ways k
		where k.run_id = $1 and not (
			k.path in ('default_flow', 'gate_routed') and k.outcome = 'success' and k.sink not in ('', '__quarantine__', '__discard__')
			or k.path in ('gate_discarded', 'filter_dropped', 'coalesced') and k.outcome = 'success' and k.sink = ''
			or k.path in ('fork_parent', 'branch_not_needed') and k.outcome = 'transient' and k.sink = ''
			or k.path = 'buffered' and k.outcome = '' and k.sink = ''
			or k.path in ('on_error_routed', 'unrouted', 'quarantined_at_source') and k.outcome = 'failure' and k.sink not in ('', '__discard__')
			or k.path = 'sink_discarded' and k.outcome = 'failure' and k.sink = '__discard__')
		order by k.way`},

	{"way_off_graph", `
		with hops as (
			select k.way, k.signature, s.seq, s.node,
				case
					when k.outcome = 'failure' and s.node = k.last_node then 'error'
					when n.operation in ('gate', 'fork') then 'route'
					else 'flow'
				end as kind,
				case when n.operation in ('gate', 'fork') then s.label else '' end as label,
				coalesce(b.node, case when k.sink = '__quarantine__' then 'quarantine' else 'discard' end) as to_node
			from ways k
			join way_steps s on s.run_id = k.run_id and s.way = k.way
			join nodes n on n.run_id = s.run_id and n.node = s.node
			left join way_steps b on b.run_id = s.run_id and b.way = s.way and b.seq = s.seq + 1
			where k.run_id = $1 and (b.node is not null
				or s.node = k.last_node and k.path not in ('filter_dropped', 'fork_parent', 'buffered', 'coalesced', 'branch_not_needed'))
		)
		select '', -1, h.node, 'way ' || h.signature || ' takes no edge of the graph from here to ' || h.to_node
		from hops h
		left join edges e on e.run_id = $1 and e.from_node = h.node and e.kind = h.kind and e.label = h.label and e.to_node = h.to_node
		where e.to_node is null
		order by h.way, h.seq`},

	{"sink_rows", `
		with wanted as (
			select w.source, w.chunk, k.sink, sum(w.rows) as rows
			from chunk_ways w
			join ways k on k.run_id = w.run_id and k.way = w.way
			where w.run_id = $1 and k.sink not in ('', '__quarantine__', '__discard__')
			group by w.source, w.chunk, k.sink
		)
		select w.source, w.chunk, w.sink, 'in ' || w.rows || ' rows, out ' || coalesce(e.rows, 0) || case when e.rows is null then '' else ' ' || e.state end
		from wanted w
		left join effects e on e.run_id = $1 and e.sink = w.sink and e.source = w.source and e.chunk = w.chunk
		where e.state is distinct from 'finalized' or e.rows <> w.rows
		union all
		select e.source, e.chunk, e.sink, 'in 0 rows, out ' || e.rows || ' ' || e.state
		from effects e
		where e.run_id = $1 and e.kind = 'write'
			and not exists (select 1 from wanted w where w.sink = e.sink and w.source = e.source and w.chunk = e.chunk)`},

	{"sink_parts", `
		select '', -1, e.sink, count(*) || ' parts, the last has ordinal ' || max(e.ordinal)
		from effects e
		where e.run_id = $1 and e.kind = 'write' and e.ordinal is not null
		group by e.sink
		having count(*) <> max(e.ordinal) + 1
		order by e.sink`},

	{"not_published", `
		select '', -1, n.node, 'the output of ' || coalesce(w.rows, 0) || ' rows is '
			|| case when p.state is not distinct from 'finalized' then 'published with ' || coalesce(cast(a.rows as text), 'no') || ' rows' else 'not published' end
		from nodes n
		left join effects p on p.run_id = n.run_id and p.sink = n.node and p.source = '' and p.chunk = -1
		left join artifacts a on a.run_id = n.run_id and a.sink = n.node
		left join (select sink, sum(rows - refused) as rows from effects where run_id = $1 and kind = 'write' group by sink) w on w.sink = n.node
		where n.run_id = $1 and n.kind = 'sink'
			and (p.state is distinct from 'finalized' or a.rows is distinct from coalesce(w.rows, 0) or p.rows <> a.rows or p.bytes > a.bytes)
		order by n.node`},

	{"policy_not_passed", `
		select '', -1, '', 'policy "' || p.policy || '": ' || coalesce(r.result, 'not evaluated')
		from policies p
		left join policy_results r on r.run_id = p.run_id and r.policy = p.policy and r.attempt = (
			select max(l.attempt) from policy_results l where l.run_id = p.run_id and l.policy = p.policy)
		where p.run_id = $1 and p.gate = 'publish' and coalesce(r.result, '') not in ('passed', 'waived')
		order by p.seq`},

	{"hash_counts", `
		with out_rows as (
			select w.source, w.chunk, s.lane, s.node, sum(w.rows) as rows
			from chunk_ways w
			join ways k on k.run_id = w.run_id and k.way = w.way
			join way_steps s on s.run_id = w.run_id and s.way = w.way and s.seq >= k.first_seq
			join nodes n on n.run_id = s.run_id and n.node = s.node and n.hashes = 'own'
			where w.run_id = $1
				and not (s.node = k.last_node and (k.outcome = 'failure' or k.path in ('coalesced', 'branch_not_needed')))
			group by w.source, w.chunk, s.lane, s.node
		), hashed as (
			select source, chunk, lane, node, sum(rows) as rows from hashes where run_id = $1 group by source, chunk, lane, node
		)
		select o.source, o.chunk, o.node, 'out ' || o.rows || ' rows of lane ' || o.lane || ', hashes ' || coalesce(h.rows, 0)
		from out_rows o
		left join hashed h on h.source = o.source and h.chunk = o.chunk and h.lane = o.lane and h.node = o.node
		where h.rows is distinct from o.rows
		union all
		select h.source, h.chunk, h.node, 'out 0 rows of lane ' || h.lane || ', hashes ' || h.rows
		from hashed h
		where not exists (
			select 1 from out_rows o where o.source = h.source and o.chunk = h.chunk and o.lane = h.lane and o.node = h.node)`},

	{"error_counts", `
		with diverted as (
			select source, chunk, lane, node, sum(rows) as rows
			from (
				select w.source, w.chunk, case when n.kind = 'sink' then -1 else w.lane end as lane, k.last_node as node, w.rows
				from chunk_ways w
				join ways k on k.run_id = w.run_id and k.way = w.way
				join nodes n on n.run_id = k.run_id and n.node = k.last_node
				where w.run_id = $1 and k.outcome = 'failure'
				union all
				select source, chunk, -1, sink, refused from effects where run_id = $1 and refused > 0
			) x
			group by source, chunk, lane, node
		), recorded as (
			select source, chunk, case when node in (select s.node from nodes s where s.run_id = $1 and s.kind = 'sink') then -1 else lane end as lane,
				node, count(*) as rows
			from errors where run_id = $1 group by 1, 2, 3, 4
		)
		select d.source, d.chunk, d.node, 'diverted ' || d.rows || ' rows' || case when d.lane < 0 then '' else ' of lane ' || d.lane end
			|| ', errors ' || coalesce(r.rows, 0)
		from diverted d
		left join recorded r on r.source = d.source and r.chunk = d.chunk and r.lane = d.lane and r.node = d.node
		where r.rows is distinct from d.rows
		union all
		select r.source, r.chunk, r.node, 'diverted 0 rows' || case when r.lane < 0 then '' else ' of lane ' || r.lane end || ', errors ' || r.rows
		from recorded r
		where not exists (
			select 1 from diverted d where d.source = r.source and d.chunk = r.chunk and d.lane = r.lane and d.node = r.node)`},
}
