-- +goose Up
-- +goose StatementBegin
-- Rows in targets of sinks that orders to forget delete there, and what became of each.
create table erasures (
  run_id   text not null,
  sink     text not null,
  line     integer not null check (line >= 1),
  purge_id integer not null references purges (purge_id),
  primary key (run_id, sink, line),
  foreign key (run_id, sink) references nodes (run_id, node)
) strict, without rowid;
create trigger erasures_keep before update on erasures begin select raise(abort, 'erasures: append-only'); end;
create trigger erasures_stay before delete on erasures begin select raise(abort, 'erasures: append-only'); end;
create trigger erasures_once before insert on erasures
when exists (select 1 from erasures t where t.run_id = new.run_id and t.sink = new.sink and t.line = new.line)
begin select raise(abort, 'erasures: append-only: it is there already'); end;
create trigger erasures_birth before insert on erasures
when not exists (select 1 from forgotten f where f.run_id = new.run_id and f.purge_id = new.purge_id)
  or exists (select 1 from forgettings d where d.purge_id = new.purge_id)
begin select raise(abort, 'erasures: append-only: the order forgets no row of the run, or was carried out'); end;

create table erased (
  run_id text not null,
  sink   text not null,
  line   integer not null,
  fate   text not null check (fate in ('deleted', 'gone', 'edited', 'replaced', 'unclear', 'left')),
  at_us  integer not null check (at_us > 0),
  primary key (run_id, sink, line),
  foreign key (run_id, sink, line) references erasures (run_id, sink, line)
) strict, without rowid;
create trigger erased_keep before update on erased begin select raise(abort, 'erased: append-only'); end;
create trigger erased_stay before delete on erased begin select raise(abort, 'erased: append-only'); end;
create trigger erased_once before insert on erased
when exists (select 1 from erased t where t.run_id = new.run_id and t.sink = new.sink and t.line = new.line)
begin select raise(abort, 'erased: append-only: it is there already'); end;
create trigger erased_birth before insert on erased
when not exists (select 1 from erasures e where e.run_id = new.run_id and e.sink = new.sink and e.line = new.line)
begin select raise(abort, 'erased: append-only: no order deletes it'); end;

create trigger forgettings_erased before insert on forgettings
when exists (
  select 1 from erasures e
  where e.purge_id = new.purge_id and not exists (select 1 from erased d where d.run_id = e.run_id and d.sink = e.sink and d.line = e.line))
begin select raise(abort, 'forgettings: the order has rows in targets to delete'); end;
-- +goose StatementEnd
