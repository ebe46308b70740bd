package sweep

// barriers are checks of forks, coalesces and barriers: at what made tokens, and what took them in.
var barriers = []Check{
	{"fork_children", `
		with forked as (
			select w.source, w.chunk, w.lane, k.last_node as node, sum(w.rows) as rows
			from chunk_ways w
			join ways k on k.run_id = w.run_id and k.way = w.way
			where w.run_id = $1 and k.path = 'fork_parent'
			group by w.source, w.chunk, w.lane, k.last_node
		), present as (
			select w.source, w.chunk, w.lane, l.parent, l.node, l.name, sum(w.rows) as rows
			from chunk_ways w
			join lanes l on l.run_id = w.run_id and l.lane = w.lane and l.branch <> ''
			where w.run_id = $1
			group by w.source, w.chunk, w.lane, l.parent, l.node, l.name
		)
		select f.source, f.chunk, f.node, 'forked ' || f.rows || ' rows, in branch ' || l.name || ' ' || coalesce(p.rows, 0)
		from forked f
		join lanes l on l.run_id = $1 and l.source = f.source and l.parent = f.lane and l.node = f.node
		left join present p on p.source = f.source and p.chunk = f.chunk and p.lane = l.lane
		where p.rows is distinct from f.rows
		union all
		select p.source, p.chunk, p.node, 'forked 0 rows, in branch ' || p.name || ' ' || p.rows
		from present p
		where not exists (
			select 1 from forked f where f.source = p.source and f.chunk = p.chunk and f.lane = p.parent and f.node = p.node)
		union all
		select f.source, f.chunk, f.node, 'forked ' || f.rows || ' rows into no branch'
		from forked f
		where not exists (select 1 from lanes l where l.run_id = $1 and l.source = f.source and l.parent = f.lane and l.node = f.node)`},

	{"merge_once", `
		with forked as (
			select w.source, w.chunk, l.lane, l.node, sum(w.rows) as rows
			from chunk_ways w
			join ways k on k.run_id = w.run_id and k.way = w.way and k.path = 'fork_parent'
			join lanes l on l.run_id = w.run_id and l.source = w.source and l.parent = w.lane and l.fork = k.last_node and l.branch = ''
			where w.run_id = $1
			group by w.source, w.chunk, l.lane, l.node
		), present as (
			select w.source, w.chunk, w.lane, sum(w.rows) as rows
			from chunk_ways w
			join lanes l on l.run_id = w.run_id and l.lane = w.lane and l.parent is not null and l.branch = ''
			where w.run_id = $1
			group by w.source, w.chunk, w.lane
		), decided as (
			select w.source, w.chunk, w.lane, sum(w.rows) as rows, sum(case when k.result = 'nothing' then 0 else w.rows end) as made
			from chunk_merges w
			join merge_kinds k on k.run_id = w.run_id and k.kind = w.kind
			where w.run_id = $1
			group by w.source, w.chunk, w.lane
		), places as (
			select source, chunk, lane from forked union select source, chunk, lane from present union select source, chunk, lane from decided
		)
		select a.source, a.chunk, l.node, 'forked ' || coalesce(f.rows, 0) || ' rows, decided about ' || coalesce(d.rows, 0) || ', made '
			|| coalesce(d.made, 0) || ' rows, in lane ' || l.name || ' ' || coalesce(p.rows, 0)
		from places a
		join lanes l on l.run_id = $1 and l.lane = a.lane
		left join forked f on (f.source, f.chunk, f.lane) = (a.source, a.chunk, a.lane)
		left join present p on (p.source, p.chunk, p.lane) = (a.source, a.chunk, a.lane)
		left join decided d on (d.source, d.chunk, d.lane) = (a.source, a.chunk, a.lane)
		where coalesce(f.rows, 0) <> coalesce(d.rows, 0) or coalesce(d.made, 0) <> coalesce(p.rows, 0)
		union all
		select '', -1, b.node, 'batch ' || b.batch || ' is merged, and no merge says how'
		from batches b
		left join merges m on m.run_id = b.run_id and m.node = b.node and m.batch = b.batch
		where b.run_id = $1 and b.path = 'coalesced' and m.batch is null
		union all
		select node, -1, node, 'rows that came out ' || rows || ', merges that made one ' || made
		from (
			select s.source as node,
				(select coalesce(sum(c.rows), 0) from chunks c where c.run_id = s.run_id and c.source = s.source) as rows,
				(select count(*) from merges m where m.run_id = s.run_id and m.node = s.source and m.out_row is not null) as made
			from sources s
			join nodes n on n.run_id = s.run_id and n.node = s.source and n.operation = 'coalesce'
			where s.run_id = $1
		) x
		where rows <> made`},

	{"fold_sequence", `
		select '', -1, node, 'folds ' || folds || ', the last is number ' || coalesce(cast(last as text), 'none') || ' of kind ' || kind
		from (
			select s.source as node, count(f.fold) as folds, max(f.fold) as last, coalesce(max(case when f.fold = (
				select max(t.fold) from folds t where t.run_id = f.run_id and t.node = f.node) then f.kind end), 'none') as kind
			from sources s
			join nodes n on n.run_id = s.run_id and n.node = s.source and n.kind = 'step'
			left join folds f on f.run_id = s.run_id and f.node = s.source
			where s.run_id = $1
			group by s.source
		) x
		where last is distinct from folds - 1 or kind <> 'end'
		order by node`},

	{"members_settled", `
		with held as (
			select w.source, w.chunk, w.lane, k.last_node as node, sum(w.rows) as rows
			from chunk_ways w
			join ways k on k.run_id = w.run_id and k.way = w.way
			where w.run_id = $1 and k.path = 'buffered'
			group by w.source, w.chunk, w.lane, k.last_node
		), known as (
			select source, chunk, lane, node, sum(rows) as rows from members where run_id = $1 group by source, chunk, lane, node
		)
		select h.source, h.chunk, h.node, 'took in ' || h.rows || ' rows of lane ' || h.lane || ', members ' || coalesce(m.rows, 0)
		from held h
		left join known m on m.source = h.source and m.chunk = h.chunk and m.lane = h.lane and m.node = h.node
		where m.rows is distinct from h.rows
		union all
		select m.source, m.chunk, m.node, 'took in 0 rows of lane ' || m.lane || ', members ' || m.rows
		from known m
		where not exists (
			select 1 from held h where h.source = m.source and h.chunk = m.chunk and h.lane = m.lane and h.node = m.node)
		union all
		select '', -1, node, 'members ' || members || ', in batches that fired ' || settled
		from (
			select s.source as node,
				(select coalesce(sum(m.rows), 0) from members m where m.run_id = s.run_id and m.node = s.source) as members,
				(select coalesce(sum(b.rows), 0) from batches b where b.run_id = s.run_id and b.node = s.source) as settled
			from sources s
			where s.run_id = $1
		) x
		where members <> settled
		union all
		select '', -1, f.node, 'at its end ' || f.open_batches || ' batches with ' || f.held_rows || ' rows did not fire'
		from folds f
		where f.run_id = $1 and f.kind = 'end' and (f.open_batches > 0 or f.held_rows > 0)`},

	{"derived_rows", `
		select f.node, -1, f.node, 'fold ' || f.fold || ': out ' || f.out_rows || ' rows, in its chunks ' || coalesce(sum(c.rows), 0)
		from folds f
		left join chunks c on c.run_id = f.run_id and c.source = f.node and c.fold = f.fold
		where f.run_id = $1
		group by f.run_id, f.node, f.fold
		having f.out_rows <> coalesce(sum(c.rows), 0)
		union all
		select c.source, c.chunk, c.source, 'in ' || c.rows || ' rows, with parents ' || coalesce(sum(p.rows), 0)
		from chunks c
		left join parents p on p.run_id = c.run_id and p.source = c.source and p.chunk = c.chunk
		where c.run_id = $1 and c.fold is not null
		group by c.run_id, c.source, c.chunk
		having c.rows <> coalesce(sum(p.rows), 0)`},
}
