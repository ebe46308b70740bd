-- +goose Up
-- +goose StatementBegin
-- The values that an environment has for what documents refer to: the last row says which.
create table environments (
  environment text not null check (environment <> ''),
  seq         integer not null check (seq >= 1),
  vars        text not null check (json_valid(vars)),
  actor       text not null,
  why         text not null,
  at_us       integer not null check (at_us > 0),
  primary key (environment, seq)
) strict, without rowid;
create trigger environments_keep before update on environments begin select raise(abort, 'environments: append-only'); end;
create trigger environments_stay before delete on environments begin select raise(abort, 'environments: append-only'); end;
create trigger environments_once before insert on environments when exists (
  select 1 from environments t where t.environment = new.environment and t.seq = new.seq)
begin select raise(abort, 'environments: append-only: it is there already'); end;
create trigger environments_birth before insert on environments
when new.seq > 1 and not exists (select 1 from environments e where e.environment = new.environment and e.seq = new.seq - 1)
begin select raise(abort, 'environments: values come after those before them'); end;

-- In which environment a run was asked for, and which of its values the run has; 0 if it has none.
alter table starts add column environment text not null default '';
create trigger starts_environment before update of environment on starts
begin select raise(abort, 'starts: only slot, state, refusal, reason and decided_us change'); end;
alter table runs add column environment text not null default '';
alter table runs add column environment_seq integer not null default 0 check (environment_seq >= 0);
create trigger runs_environment before update of environment, environment_seq on runs
begin select raise(abort, 'runs: only status, final, epoch, finished_us and reason change'); end;
create trigger runs_values before insert on runs
when new.environment_seq > 0 and not exists (
  select 1 from environments e where e.environment = new.environment and e.seq = new.environment_seq)
begin select raise(abort, 'runs: a run has values that its environment had'); end;

drop view run_starts;
create view run_starts as
select r.run_id, s.seq, r.pipeline, r.actor, r.trigger, s.why, s.key, s.schedule, s.slot, s.workflow, s.params, s.accepted_us, r.started_us, r.status,
  r.environment
from runs r
left join starts s on s.run_id = r.run_id and s.state = 'begun';

drop view why_not;
create view why_not as
select run_id, seq, pipeline, state, refusal, reason, actor, trigger, why, key, schedule, slot, workflow, params, accepted_us, decided_us, environment
from starts
where state <> 'begun';
-- +goose StatementEnd
