-- +goose Up
-- +goose StatementBegin
-- What the document says must be true of a run, and what came of it.
create table policies (
  run_id    text not null references runs (run_id),
  policy    text not null check (policy <> ''),
  seq       integer not null check (seq >= 0),
  assertion text not null check (assertion <> ''),
  gate      text not null check (gate in ('publish', 'warn', 'seal')),
  primary key (run_id, policy),
  unique (run_id, seq)
) strict, without rowid;
create trigger policies_keep before update on policies begin select raise(abort, 'policies: append-only'); end;
create trigger policies_stay before delete on policies begin select raise(abort, 'policies: append-only'); end;
create trigger policies_once before insert on policies when exists (select 1 from policies t where t.run_id = new.run_id and t.policy = new.policy)
  or exists (select 1 from policies t where t.run_id = new.run_id and t.seq = new.seq)
begin select raise(abort, 'policies: append-only: it is there already'); end;

create table policy_results (
  run_id  text not null,
  policy  text not null,
  attempt integer not null check (attempt >= 0),
  epoch   integer not null check (epoch >= 0),
  result  text not null check (result in ('passed', 'failed', 'error', 'waived')),
  detail  text not null check (detail <> ''),
  figures text not null check (json_valid(figures)),
  actor   text not null check ((actor <> '') = (result = 'waived')),
  at_us   integer not null check (at_us > 0),
  primary key (run_id, policy, attempt),
  foreign key (run_id, policy) references policies (run_id, policy)
) strict, without rowid;
create trigger policy_results_keep before update on policy_results begin select raise(abort, 'policy_results: append-only'); end;
create trigger policy_results_stay before delete on policy_results begin select raise(abort, 'policy_results: append-only'); end;
create trigger policy_results_once before insert on policy_results when exists (
  select 1 from policy_results t where t.run_id = new.run_id and t.policy = new.policy and t.attempt = new.attempt)
begin select raise(abort, 'policy_results: append-only: it is there already'); end;

-- A policy that passed or was waived stands; only one that did not pass is evaluated again, or waived.
create trigger policy_results_birth before insert on policy_results
when not exists (select 1 from runs r where r.run_id = new.run_id and r.epoch = new.epoch)
  or new.attempt = 0 and new.result = 'waived'
  or new.attempt > 0 and not exists (
    select 1 from policy_results p
    where p.run_id = new.run_id and p.policy = new.policy and p.attempt = new.attempt - 1 and p.result in ('failed', 'error'))
begin select raise(abort, 'policy_results: the policy stands, or the result is not the next one'); end;
-- +goose StatementEnd
