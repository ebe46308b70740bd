-- +goose Up
-- +goose StatementBegin
-- What the totals of rows come to that a sink's target refused, by part. An amount is a decimal.
create table late_totals (
  run_id     text collate "C" not null,
  sink       text collate "C" not null,
  source     text collate "C" not null,
  chunk      bigint not null,
  total      text collate "C" not null check (total <> ''),
  amount     text collate "C" not null check (amount ~ '^-?[0-9]+([.][0-9]+)?$'),
  unreadable bigint not null check (unreadable >= 0),
  primary key (run_id, sink, source, chunk, total),
  foreign key (run_id, sink, source, chunk) references effects (run_id, sink, source, chunk)
);
create trigger keep before update or delete or truncate on late_totals for each statement execute function refuse();

-- One row per total and node of a run that a token came to.
create or replace view node_totals as
select run_id, node, seq, kind, total,
  coalesce(sum((case when step = 0 then now else was end)::numeric) filter (where not (step < first_seq or step = 0 and kind = 'step')), 0)::text as in_amount,
  coalesce(sum(now::numeric) filter (where step < first_seq or step = 0 and kind = 'step'), 0)::text as created_amount,
  coalesce(sum(now::numeric - was::numeric) filter (where step >= first_seq and step > 0 and marked = step), 0)::text as revalued_amount,
  (coalesce(sum(now::numeric) filter (where not (step >= first_seq and node = last_node and path not in ('default_flow', 'gate_routed')) and (kind <> 'sink' or node = last_node or state = 'finalized')), 0)
    - coalesce((select sum(l.amount::numeric) from late_totals l where l.run_id = x.run_id and l.sink = x.node and l.total = x.total), 0))::text as out_amount,
  coalesce(sum(now::numeric) filter (where step >= first_seq and node = last_node and path in ('filter_dropped', 'gate_discarded')), 0)::text as dropped_amount,
  (coalesce(sum(now::numeric) filter (where step >= first_seq and node = last_node and outcome = 'failure'), 0)
    + coalesce((select sum(l.amount::numeric) from late_totals l where l.run_id = x.run_id and l.sink = x.node and l.total = x.total), 0))::text as diverted_amount,
  coalesce(sum(now::numeric) filter (where step >= first_seq and node = last_node and path in ('fork_parent', 'coalesced', 'branch_not_needed', 'buffered')), 0)::text as consumed_amount,
  sum(unreadable)::bigint + (
    select coalesce(sum(e.refused), 0)::bigint from effects e where e.run_id = x.run_id and e.sink = x.node and not exists (
      select 1 from late_totals l where l.run_id = e.run_id and l.sink = e.sink and l.source = e.source and l.chunk = e.chunk and l.total = x.total)
  ) as unreadable
from (
  select w.run_id, w.source, w.chunk, s.node, n.seq, n.kind, t.total, s.seq as step, k.first_seq, k.last_node, k.path, k.outcome,
    e.state, coalesce(b.amount, '0') as was, coalesce(a.amount, '0') as now, coalesce(a.unreadable, 0) as unreadable,
    coalesce(a.seq, -1) as marked
  from chunk_ways w
  join (select distinct run_id, source, chunk, lane, code, total from way_totals) t
    on t.run_id = w.run_id and t.source = w.source and t.chunk = w.chunk and t.lane = w.lane and t.code = w.code
  join ways k on k.run_id = w.run_id and k.way = w.way
  join way_steps s on s.run_id = w.run_id and s.way = w.way and s.seq >= k.first_seq - 1
  join nodes n on n.run_id = s.run_id and n.node = s.node
  left join effects e on e.run_id = w.run_id and e.sink = s.node and e.source = w.source and e.chunk = w.chunk
  left join way_totals b on b.run_id = t.run_id and b.source = t.source and b.chunk = t.chunk and b.lane = t.lane and b.code = t.code
    and b.total = t.total and b.seq = (
      select max(m.seq) from way_totals m
      where m.run_id = t.run_id and m.source = t.source and m.chunk = t.chunk and m.lane = t.lane and m.code = t.code and m.total = t.total
        and m.seq < s.seq)
  left join way_totals a on a.run_id = t.run_id and a.source = t.source and a.chunk = t.chunk and a.lane = t.lane and a.code = t.code
    and a.total = t.total and a.seq = (
      select max(m.seq) from way_totals m
      where m.run_id = t.run_id and m.source = t.source and m.chunk = t.chunk and m.lane = t.lane and m.code = t.code and m.total = t.total
        and m.seq <= s.seq)
) x
group by run_id, node, seq, kind, total;

-- Who may read and write the record may do so here.
do $$
declare
  given record;
begin
  for given in
    select a.grantee::regrole as role, a.privilege_type as privilege
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = 'resumptions'::regclass and a.grantee not in (0, c.relowner) and a.privilege_type in ('SELECT', 'INSERT')
  loop
    execute format('grant %s on late_totals to %s', given.privilege, given.role);
  end loop;
end $$;
-- +goose StatementEnd
