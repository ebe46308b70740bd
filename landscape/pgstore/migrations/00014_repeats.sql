-- +goose Up
-- +goose StatementBegin
-- Of each token that a deduplicate dropped, the one that was the first with its key. Which one that is can be computed again; here
-- it can be asked.
create table repeats (
  run_id text collate "C" not null,
  source text collate "C" not null,
  chunk  bigint not null,
  lane   bigint not null,
  node   text collate "C" not null,
  slice  bigint not null check (slice >= 0),
  rows   bigint not null check (rows between 1 and 1024),
  firsts bytea not null check (length(firsts) % 8 = 0 and length(firsts) between 8 * rows and 8 * 1024),
  primary key (run_id, source, chunk, lane, node, slice),
  foreign key (run_id, source, chunk, lane) references passages (run_id, source, chunk, lane),
  foreign key (run_id, node) references nodes (run_id, node)
);
create trigger keep before update or delete or truncate on repeats for each statement execute function refuse();
-- +goose StatementEnd
