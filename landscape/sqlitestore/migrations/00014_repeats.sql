-- +goose Up
-- +goose StatementBegin
-- Of each token that a deduplicate dropped, the one that was the first with its key. Which one that is can be computed again; here
-- it can be asked.
create table repeats (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  lane   integer not null,
  node   text not null,
  slice  integer not null check (slice >= 0),
  rows   integer not null check (rows between 1 and 1024),
  firsts blob not null check (length(firsts) % 8 = 0 and length(firsts) between 8 * rows and 8 * 1024),
  primary key (run_id, source, chunk, lane, node, slice),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane),
  foreign key (run_id, node) references nodes (run_id, node)
) strict;
create trigger repeats_keep before update on repeats begin select raise(abort, 'repeats: append-only'); end;
create trigger repeats_stay before delete on repeats begin select raise(abort, 'repeats: append-only'); end;
create trigger repeats_once before insert on repeats when exists (select 1 from repeats t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.lane = new.lane and t.node = new.node and t.slice = new.slice)
  or exists (select 1 from repeats t where t.rowid = new.rowid)
begin select raise(abort, 'repeats: append-only: it is there already'); end;
-- +goose StatementEnd
