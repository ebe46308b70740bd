-- +goose Up
-- +goose StatementBegin
-- Of the rows that reached a sink which declares what can be disclosed: the root of the tree over the fields of each.
create table field_roots (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  slice  integer not null check (slice >= 0),
  rows   integer not null check (rows between 1 and 1024),
  roots  blob not null check (length(roots) % 32 = 0 and length(roots) between 32 * rows and 32 * 1024),
  primary key (run_id, source, chunk, slice),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk)
) strict;
create trigger field_roots_keep before update on field_roots begin select raise(abort, 'field_roots: append-only'); end;
create trigger field_roots_stay before delete on field_roots when not exists (select 1 from archives a where a.run_id = old.run_id) begin select raise(abort, 'field_roots: append-only'); end;
create trigger field_roots_once before insert on field_roots when exists (select 1 from field_roots t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.slice = new.slice)
  or exists (select 1 from field_roots t where t.rowid = new.rowid)
begin select raise(abort, 'field_roots: append-only: it is there already'); end;
-- +goose StatementEnd
