-- +goose Up
-- +goose StatementBegin
-- What people signed about runs that ended.
create table sign_offs (
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
  unique (run_id, seal, person, role),
  foreign key (run_id, seal) references run_seals (run_id, seq)
) strict, without rowid;
create trigger sign_offs_keep before update on sign_offs begin select raise(abort, 'sign_offs: append-only'); end;
create trigger sign_offs_stay before delete on sign_offs begin select raise(abort, 'sign_offs: append-only'); end;
create trigger sign_offs_once before insert on sign_offs when exists (select 1 from sign_offs t where t.run_id = new.run_id and t.seq = new.seq)
  or exists (select 1 from sign_offs t where t.run_id = new.run_id and t.seal = new.seal and t.person = new.person and t.role = new.role)
begin select raise(abort, 'sign_offs: append-only: it is there already'); end;

-- What is signed is the last seal of a run that has ended.
create trigger sign_offs_birth before insert on sign_offs
when new.seq <> (select count(*) from sign_offs s where s.run_id = new.run_id)
  or not exists (
    select 1 from run_seals s join runs r using (run_id)
    where s.run_id = new.run_id and s.seq = new.seal and s.epoch = r.epoch and r.status <> 'running'
      and not exists (select 1 from run_seals l where l.run_id = s.run_id and l.seq > s.seq))
begin select raise(abort, 'sign_offs: append-only: not the next one, or not of the last seal of a run that has ended'); end;
-- +goose StatementEnd
