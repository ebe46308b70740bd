-- +goose Up
-- +goose StatementBegin
-- What happened, as it is told to others: each event is recorded in the transaction of what it tells.
create table outbox (
  about       text not null check (about <> ''),
  event       text not null check (event <> ''),
  kind        text not null check (kind <> ''),
  subject     text not null check (subject <> ''),
  seq         integer not null check (seq >= 0),
  run_id      text not null,
  pipeline    text not null,
  environment text not null,
  body        text not null check (json_valid(body) and length(cast(body as blob)) <= 20480),
  at_us       integer not null check (at_us > 0),
  position    integer not null check (position >= 0),
  primary key (about)
) strict, without rowid;
create index outbox_in_order on outbox (position, about);
create unique index outbox_position on outbox (position) where position > 0;

-- How many events have a position, and up to which they were dropped.
create table outbox_head (
  id      integer not null check (id = 0),
  size    integer not null check (size >= 0),
  dropped integer not null check (dropped between 0 and size),
  primary key (id)
) strict, without rowid;
insert into outbox_head values (0, 0, 0);
create trigger outbox_head_stay before delete on outbox_head begin select raise(abort, 'outbox_head: append-only'); end;
create trigger outbox_head_once before insert on outbox_head begin select raise(abort, 'outbox_head: append-only: it is there already'); end;
create trigger outbox_head_keep before update of id on outbox_head begin select raise(abort, 'outbox_head: append-only'); end;
create trigger outbox_head_change before update on outbox_head when new.size < old.size or new.dropped < old.dropped
begin select raise(abort, 'outbox_head: append-only: positions are given and events dropped in order'); end;

create trigger outbox_once before insert on outbox when exists (select 1 from outbox t where t.about = new.about)
begin select raise(abort, 'outbox: append-only: it is there already'); end;
create trigger outbox_birth before insert on outbox when new.position <> 0
begin select raise(abort, 'outbox: append-only: an event gets its position later'); end;
create trigger outbox_keep before update of about, event, kind, subject, seq, run_id, pipeline, environment, body, at_us on outbox
begin select raise(abort, 'outbox: append-only: only its position is set, once'); end;
create trigger outbox_change before update of position on outbox
when old.position <> 0 or new.position not between 1 and (select h.size from outbox_head h) or exists (select 1 from outbox t where t.position = new.position)
begin select raise(abort, 'outbox: append-only: only its position is set, once'); end;
create trigger outbox_stay before delete on outbox when old.position = 0 or old.position > (select h.dropped from outbox_head h)
begin select raise(abort, 'outbox: append-only: events are dropped by the head, in order'); end;
create trigger outbox_head_drop after update on outbox_head when new.dropped > old.dropped
begin delete from outbox where position between 1 and new.dropped; end;
-- +goose StatementEnd
