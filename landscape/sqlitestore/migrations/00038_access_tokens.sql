-- +goose Up
-- +goose StatementBegin
-- Who may use the API, and for what: the last row of each token says so.
create table access_tokens (
  token      text not null check (token <> ''),
  seq        integer not null check (seq >= 0),
  action     text not null check (action in ('grant', 'revoke')),
  name       text not null check (name <> ''),
  sha256     text not null check (length(sha256) = 64),
  roles      text not null check (json_valid(roles)),
  pipelines  text not null check (json_valid(pipelines)),
  expires_us integer not null check (expires_us >= 0),
  actor      text not null,
  why        text not null,
  at_us      integer not null check (at_us > 0),
  primary key (token, seq)
) strict, without rowid;
create trigger access_tokens_keep before update on access_tokens begin select raise(abort, 'access_tokens: append-only'); end;
create trigger access_tokens_stay before delete on access_tokens begin select raise(abort, 'access_tokens: append-only'); end;
create trigger access_tokens_once before insert on access_tokens when exists (select 1 from access_tokens t where t.token = new.token and t.seq = new.seq)
begin select raise(abort, 'access_tokens: append-only: it is there already'); end;
create trigger access_tokens_birth before insert on access_tokens
when (new.seq = 0) <> (new.action = 'grant')
  or new.seq > 0 and not exists (select 1 from access_tokens t where t.token = new.token and t.seq = new.seq - 1 and t.sha256 = new.sha256 and t.action <> 'revoke')
begin select raise(abort, 'access_tokens: append-only: a token is granted, and then revoked'); end;

-- Who was shown values of rows.
create table disclosures (
  disclosure   text not null check (disclosure <> ''),
  run_id       text not null,
  actor        text not null,
  access_token text not null,
  what         text not null check (what <> ''),
  subject      text not null,
  at_us        integer not null check (at_us > 0),
  primary key (disclosure)
) strict, without rowid;
create trigger disclosures_keep before update on disclosures begin select raise(abort, 'disclosures: append-only'); end;
create trigger disclosures_stay before delete on disclosures begin select raise(abort, 'disclosures: append-only'); end;
create trigger disclosures_once before insert on disclosures when exists (select 1 from disclosures t where t.disclosure = new.disclosure)
begin select raise(abort, 'disclosures: append-only: it is there already'); end;
-- +goose StatementEnd
