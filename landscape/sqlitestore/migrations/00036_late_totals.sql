-- +goose Up
-- +goose StatementBegin
-- What the totals of rows come to that a sink's target refused, by part. An amount is a decimal.
create table late_totals (
  run_id     text not null,
  sink       text not null,
  source     text not null,
  chunk      integer not null,
  total      text not null check (total <> ''),
  amount     text not null check (amount glob '*[0-9]' and amount not glob '*[^-.0-9]*'),
  unreadable integer not null check (unreadable >= 0),
  primary key (run_id, sink, source, chunk, total),
  foreign key (run_id, sink, source, chunk) references effects (run_id, sink, source, chunk)
) strict, without rowid;
create trigger late_totals_keep before update on late_totals begin select raise(abort, 'late_totals: append-only'); end;
create trigger late_totals_stay before delete on late_totals begin select raise(abort, 'late_totals: append-only'); end;
create trigger late_totals_once before insert on late_totals when exists (
  select 1 from late_totals t where t.run_id = new.run_id and t.sink = new.sink and t.source = new.source and t.chunk = new.chunk and t.total = new.total)
begin select raise(abort, 'late_totals: append-only: it is there already'); end;

-- One row per total and node of a run that a token came to. An amount of more than 18 digits before or after the point is null.
drop view node_totals;
create view node_totals as
with steps as materialized (
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
),
entries as (
  select run_id, node, seq, kind, total, 'in' as entry, case when step = 0 then now else was end as amount, 1 as sign from steps where not (step < first_seq or step = 0 and kind = 'step')
  union all
  select run_id, node, seq, kind, total, 'created' as entry, now as amount, 1 as sign from steps where step < first_seq or step = 0 and kind = 'step'
  union all
  select run_id, node, seq, kind, total, 'revalued' as entry, now as amount, 1 as sign from steps where step >= first_seq and step > 0 and marked = step
  union all
  select run_id, node, seq, kind, total, 'revalued' as entry, was as amount, -1 as sign from steps where step >= first_seq and step > 0 and marked = step
  union all
  select run_id, node, seq, kind, total, 'out' as entry, now as amount, 1 as sign from steps where not (step >= first_seq and node = last_node and path not in ('default_flow', 'gate_routed')) and (kind <> 'sink' or node = last_node or state = 'finalized')
  union all
  select run_id, node, seq, kind, total, 'dropped' as entry, now as amount, 1 as sign from steps where step >= first_seq and node = last_node and path in ('filter_dropped', 'gate_discarded')
  union all
  select run_id, node, seq, kind, total, 'diverted' as entry, now as amount, 1 as sign from steps where step >= first_seq and node = last_node and outcome = 'failure'
  union all
  select run_id, node, seq, kind, total, 'consumed' as entry, now as amount, 1 as sign from steps where step >= first_seq and node = last_node and path in ('fork_parent', 'coalesced', 'branch_not_needed', 'buffered')
  union all
  select l.run_id, l.sink, n.seq, n.kind, l.total, 'out' as entry, l.amount, -1 as sign from late_totals l join nodes n on n.run_id = l.run_id and n.node = l.sink
  union all
  select l.run_id, l.sink, n.seq, n.kind, l.total, 'diverted' as entry, l.amount, 1 as sign from late_totals l join nodes n on n.run_id = l.run_id and n.node = l.sink
),
parts as (
  select run_id, node, seq, kind, total, entry, iif(substr(amount, 1, 1) = '-', -sign, sign) as sign,
    substr(ltrim(amount, '-'), 1, instr(ltrim(amount, '-') || '.', '.') - 1) as whole,
    substr(ltrim(amount, '-'), instr(ltrim(amount, '-') || '.', '.') + 1) as places
  from entries
),
sums as (
  select run_id, node, seq, kind, total, entry, sum(sign * (cast(whole as integer) / 1000000000)) as billions,
    sum(sign * (cast(whole as integer) % 1000000000)) as units,
    sum(sign * cast(substr(places || '000000000000000000', 1, 9) as integer)) as billionths,
    sum(sign * cast(substr(places || '000000000000000000', 10, 9) as integer)) as rest,
    max(length(places)) as places, max(length(whole)) > 18 or max(length(places)) > 18 as wide
  from parts
  group by run_id, node, seq, kind, total, entry
),
carried as (
  select run_id, node, seq, kind, total, entry, places, wide or abs(billions + units / 1000000000) >= 1000000000 as wide, billions,
    units + (billionths + rest / 1000000000) / 1000000000 as units, (billionths + rest / 1000000000) % 1000000000 * 1000000000 + rest % 1000000000 as fraction
  from sums
),
whole as (
  select run_id, node, seq, kind, total, entry, places, wide, iif(wide, 0, billions * 1000000000 + units) as units, fraction
  from carried
),
signed as (
  select run_id, node, seq, kind, total, entry, places, wide,
    case when units > 0 and fraction < 0 then units - 1 when units < 0 and fraction > 0 then units + 1 else units end as units,
    case when units > 0 and fraction < 0 then fraction + 1000000000000000000 when units < 0 and fraction > 0 then fraction - 1000000000000000000
      else fraction end as fraction
  from whole
),
amounts as (
  select run_id, node, seq, kind, total, entry, iif(wide, '', iif(units < 0 or fraction < 0, '-', '') || abs(units)
    || iif(places = 0, '', '.' || substr(printf('%018d', abs(fraction)), 1, places))) as amount
  from signed
),
unread as (
  select u.run_id, u.node, u.total, sum(u.unreadable) + (
      select coalesce(sum(e.refused), 0) from effects e where e.run_id = u.run_id and e.sink = u.node and not exists (
        select 1 from late_totals l where l.run_id = e.run_id and l.sink = e.sink and l.source = e.source and l.chunk = e.chunk and l.total = u.total)
    ) as unreadable
  from steps u
  group by u.run_id, u.node, u.total
)
select a.run_id, a.node, a.seq, a.kind, a.total,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'in'), '0'), '') as in_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'created'), '0'), '') as created_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'revalued'), '0'), '') as revalued_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'out'), '0'), '') as out_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'dropped'), '0'), '') as dropped_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'diverted'), '0'), '') as diverted_amount,
  nullif(coalesce(max(a.amount) filter (where a.entry = 'consumed'), '0'), '') as consumed_amount,
  u.unreadable
from amounts a
join unread u on u.run_id = a.run_id and u.node = a.node and u.total = a.total
group by a.run_id, a.node, a.seq, a.kind, a.total;
-- +goose StatementEnd
