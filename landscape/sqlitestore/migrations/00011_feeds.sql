-- +goose Up
-- +goose StatementBegin
-- To which barriers a chunk brought something: tokens, or the news that a branch is lost. A run that is taken up again must know
-- which folds are still missing.
create table feeds (
  run_id text not null,
  source text not null,
  chunk  integer not null,
  node   text not null,
  primary key (run_id, source, chunk, node),
  foreign key (run_id, source, chunk) references chunks (run_id, source, chunk),
  foreign key (run_id, node) references sources (run_id, source)
) strict, without rowid;
create trigger feeds_keep before update on feeds begin select raise(abort, 'feeds: append-only'); end;
create trigger feeds_stay before delete on feeds begin select raise(abort, 'feeds: append-only'); end;
create trigger feeds_once before insert on feeds when exists (select 1 from feeds t where t.run_id = new.run_id and t.source = new.source and t.chunk = new.chunk and t.node = new.node)
begin select raise(abort, 'feeds: append-only: it is there already'); end;
create trigger feeds_birth before insert on feeds
when not exists (select 1 from passages p where p.run_id = new.run_id and p.source = new.source and p.chunk = new.chunk)
  or not exists (select 1 from nodes n where n.run_id = new.run_id and n.node = new.node and n.kind = 'step')
begin select raise(abort, 'feeds: the chunk did not go through the steps, or it is not a barrier'); end;
-- +goose StatementEnd
