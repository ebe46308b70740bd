-- +goose Up
-- +goose StatementBegin
-- A person signs a seal again in a role if the earlier signature does not count: whose keys count the landscape does not know.
pragma legacy_alter_table = on;
create table sign_offs_next (
  run_id    text not null,
  seq       integer not null check (seq >= 0),
  seal      integer not null,
  person    text not null check (person <> ''),
  role      text not null check (role <> ''),
  statement text not null check (statement <> ''),
  signature text not null check (signature <> ''),
  approver  text not null check (approver <> ''),
  at_us     integer not null check (at_us > 0),
  primary key (run_id, seq),
  foreign key (run_id, seal) references run_seals (run_id, seq)
) strict, without rowid;
insert into sign_offs_next select run_id, seq, seal, person, role, statement, signature, approver, at_us from sign_offs;
drop table sign_offs;
alter table sign_offs_next rename to sign_offs;
pragma legacy_alter_table = off;
create trigger sign_offs_keep before update on sign_offs begin select raise(abort, 'sign_offs: append-only'); end;
create trigger sign_offs_stay before delete on sign_offs begin select raise(abort, 'sign_offs: append-only'); end;
create trigger sign_offs_once before insert on sign_offs when exists (select 1 from sign_offs t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'sign_offs: append-only: it is there already'); end;
create trigger sign_offs_birth before insert on sign_offs
when new.seq <> (select count(*) from sign_offs s where s.run_id = new.run_id)
  or not exists (
    select 1 from run_seals s join runs r using (run_id)
    where s.run_id = new.run_id and s.seq = new.seal and s.epoch = r.epoch and r.status <> 'running'
      and not exists (select 1 from run_seals l where l.run_id = s.run_id and l.seq > s.seq))
begin select raise(abort, 'sign_offs: append-only: not the next one, or not of the last seal of a run that has ended'); end;
-- +goose StatementEnd
