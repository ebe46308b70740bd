-- +goose Up
-- Where a sink says so, a name leads to the output of the latest slot. Whose that is can be asked here, and never goes back.
alter table artifacts add column latest text collate "C" not null default '';
alter table artifacts add column stands_for text collate "C" not null default '' check ((stands_for = '') = (latest = ''));
create index artifacts_latest on artifacts (latest, stands_for, published_us, run_id, sink) where latest <> '';

create view latest_outputs as
select latest, run_id, sink, path, stands_for, published_us
from (
  select a.*, row_number() over (partition by latest order by stands_for desc, published_us desc, run_id desc, sink desc) as age
  from artifacts a
  where latest <> ''
) ranked
where age = 1;

-- Who may read the record may read this.
-- +goose StatementBegin
do $$
declare
  reader regrole;
begin
  for reader in
    select a.grantee::regrole
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = 'artifacts'::regclass and a.grantee not in (0, c.relowner) and a.privilege_type = 'SELECT'
  loop
    execute format('grant select on latest_outputs to %s', reader);
  end loop;
end $$;
-- +goose StatementEnd
