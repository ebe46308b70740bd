-- +goose Up
-- +goose StatementBegin
-- The log: entries that say what became of runs, each a signed note, and a leaf of one tree. docs/log.md says what is in them.
create table log (
  position integer not null check (position >= 0),
  about    text not null check (about <> '' and (about = 'genesis') = (position = 0)),
  entry    text not null check (length(cast(entry as blob)) between 1 and 1200),
  leaf     blob not null check (length(leaf) = 32),
  primary key (position)
) strict;
create unique index log_about on log (about);

-- How long the log is. Who appends changes it in the same transaction.
create table log_head (
  id   integer not null check (id = 0),
  size integer not null check (size >= 0),
  primary key (id)
) strict;
insert into log_head values (0, 0);

create trigger log_keep before update on log begin select raise(abort, 'log: append-only'); end;
create trigger log_stay before delete on log begin select raise(abort, 'log: append-only'); end;
create trigger log_birth before insert on log when new.position is not (select size from log_head) or exists (select 1 from log t where t.about = new.about)
begin select raise(abort, 'log: append-only: an entry comes after the last one, once'); end;
create trigger log_counts after insert on log begin update log_head set size = size + 1; end;
create trigger log_head_stay before delete on log_head begin select raise(abort, 'log_head: append-only'); end;
create trigger log_head_once before insert on log_head begin select raise(abort, 'log_head: append-only: it is there already'); end;
create trigger log_head_change before update on log_head
when new.id <> old.id or new.size <> old.size + 1 or not exists (select 1 from log t where t.position = old.size)
begin select raise(abort, 'log_head: append-only: it counts the entries of the log'); end;

-- What is kept of the tree of the log: the hashes of its entries and of whole subtrees.
create table log_hashes (
  number integer not null check (number >= 0),
  hash   blob not null check (length(hash) = 32),
  primary key (number)
) strict;
create trigger log_hashes_keep before update on log_hashes begin select raise(abort, 'log_hashes: append-only'); end;
create trigger log_hashes_stay before delete on log_hashes begin select raise(abort, 'log_hashes: append-only'); end;
create trigger log_hashes_once before insert on log_hashes when exists (select 1 from log_hashes t where t.number = new.number)
begin select raise(abort, 'log_hashes: append-only: it is there already'); end;

-- The heads of the log that its notary signed.
create table log_heads (
  size  integer not null check (size >= 1),
  root  blob not null check (length(root) = 32),
  note  text not null check (note <> ''),
  at_us integer not null check (at_us > 0),
  primary key (size)
) strict;
create trigger log_heads_keep before update on log_heads begin select raise(abort, 'log_heads: append-only'); end;
create trigger log_heads_stay before delete on log_heads begin select raise(abort, 'log_heads: append-only'); end;
create trigger log_heads_once before insert on log_heads when exists (select 1 from log_heads t where t.size = new.size)
begin select raise(abort, 'log_heads: append-only: it is there already'); end;
create trigger log_heads_birth before insert on log_heads when new.size > (select size from log_head)
begin select raise(abort, 'log_heads: the log has fewer entries'); end;

-- Which of them are at an anchor: a place that the owner of the landscape need not own.
create table anchored (
  anchor  text not null check (anchor <> ''),
  size    integer not null,
  at_us   integer not null check (at_us > 0),
  receipt text not null,
  primary key (anchor, size)
) strict, without rowid;
create trigger anchored_keep before update on anchored begin select raise(abort, 'anchored: append-only'); end;
create trigger anchored_stay before delete on anchored begin select raise(abort, 'anchored: append-only'); end;
create trigger anchored_once before insert on anchored when exists (select 1 from anchored t where t.anchor = new.anchor and t.size = new.size)
begin select raise(abort, 'anchored: append-only: it is there already'); end;
create trigger anchored_birth before insert on anchored when not exists (select 1 from log_heads h where h.size = new.size)
begin select raise(abort, 'anchored: no such head was signed'); end;
-- +goose StatementEnd
