-- +goose Up
-- +goose StatementBegin
-- What the outputs of runs were found to be when their targets were read again.
create table attestations (
  run_id      text not null references runs (run_id),
  seq         integer not null check (seq >= 0),
  sink        text not null check (sink <> ''),
  path        text not null check (path <> ''),
  unit        text not null check (unit in ('pieces', 'rows')),
  sample      integer not null check (sample >= 0),
  looked_at   integer not null check (looked_at = equal + changed + missing + replaced + unknown),
  equal       integer not null check (equal >= 0),
  changed     integer not null check (changed >= 0),
  missing     integer not null check (missing >= 0),
  replaced    integer not null check (replaced >= 0),
  unknown     integer not null check (unknown >= 0),
  result      text not null check (result in ('equal', 'changed', 'missing', 'replaced', 'unknown')),
  replaced_by text not null,
  findings    text not null check (json_valid(findings)),
  actor       text not null check (actor <> ''),
  at_us       integer not null check (at_us > 0),
  primary key (run_id, seq, sink)
) strict, without rowid;
create trigger attestations_keep before update on attestations begin select raise(abort, 'attestations: append-only'); end;
create trigger attestations_stay before delete on attestations begin select raise(abort, 'attestations: append-only'); end;
create trigger attestations_once before insert on attestations when exists (
  select 1 from attestations t where t.run_id = new.run_id and t.seq = new.seq and t.sink = new.sink)
begin select raise(abort, 'attestations: append-only: it is there already'); end;

-- Only what a run published can be looked at, and no number is left out.
create trigger attestations_birth before insert on attestations
when not exists (select 1 from artifacts a where a.run_id = new.run_id and a.sink = new.sink and a.path = new.path)
  or new.seq > 0 and not exists (select 1 from attestations t where t.run_id = new.run_id and t.seq = new.seq - 1)
begin select raise(abort, 'attestations: the run published no such output, or the number is not the next one'); end;
-- +goose StatementEnd
