-- +goose Up
-- +goose StatementBegin
-- Who asked for a run, and what became of that: also if no run came of it. A start is decided once; one that comes after a refused one is
-- the next of its run.
create table starts (
  run_id      text not null check (run_id <> ''),
  seq         integer not null check (seq >= 0),
  pipeline    text not null,
  params      text not null check (json_valid(params)),
  actor       text not null,
  trigger     text not null,
  why         text not null,
  key         text not null,
  schedule    text not null,
  workflow    text not null,
  slot        text not null,
  accepted_us integer not null check (accepted_us > 0),
  state       text not null check (state in ('accepted', 'waiting', 'begun', 'refused', 'cancelled', 'skipped', 'superseded')),
  refusal     text not null check ((refusal <> '') = (state = 'refused')),
  reason      text not null check (reason = '' or state not in ('accepted', 'begun')),
  decided_us  integer check ((decided_us is null) = (state in ('accepted', 'waiting'))),
  primary key (run_id, seq)
) strict, without rowid;
create index starts_accepted on starts (accepted_us, run_id, seq);
create index starts_by_state on starts (state, accepted_us, run_id, seq);
create index starts_by_workflow on starts (workflow, accepted_us, run_id, seq);

create trigger starts_stay before delete on starts begin select raise(abort, 'starts: append-only'); end;
create trigger starts_once before insert on starts when exists (select 1 from starts t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'starts: append-only: it is there already'); end;

create trigger starts_birth before insert on starts
when new.state not in ('accepted', 'refused', 'cancelled') or new.seq > 0 and not exists (
  select 1 from starts s where s.run_id = new.run_id and s.seq = new.seq - 1 and s.decided_us is not null)
begin select raise(abort, 'starts: a start is open or has failed at first, and comes after one that is decided'); end;

create trigger starts_keep before update of
  run_id, seq, pipeline, params, actor, trigger, why, key, schedule, workflow, accepted_us on starts
begin select raise(abort, 'starts: only slot, state, refusal, reason and decided_us change'); end;

create trigger starts_change before update on starts
when old.decided_us is not null or new.state = 'accepted'
  or new.state = 'begun' and not exists (select 1 from runs r where r.run_id = new.run_id)
begin select raise(abort, 'starts: illegal change of state'); end;

-- One row per run, and the start that it came of; nulls for a run that an earlier release began.
create view run_starts as
select r.run_id, s.seq, r.pipeline, r.actor, r.trigger, s.why, s.key, s.schedule, s.slot, s.workflow, s.params, s.accepted_us, r.started_us, r.status
from runs r
left join starts s on s.run_id = r.run_id and s.state = 'begun';

-- One row per start of which no run came, or none yet, and why.
create view why_not as
select run_id, seq, pipeline, state, refusal, reason, actor, trigger, why, key, schedule, slot, workflow, params, accepted_us, decided_us
from starts
where state <> 'begun';
-- +goose StatementEnd
