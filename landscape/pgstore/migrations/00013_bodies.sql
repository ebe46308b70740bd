-- +goose Up
-- +goose StatementBegin
-- The functions of the views, with bodies that are bound to what they call when they are made, as views are. A body that is a text looks for
-- u16 in the search path of whoever asks, who need not have this schema in it. They are put into queries as before.
create or replace function code_at(packed bytea, width bigint, i bigint) returns bigint language sql immutable parallel safe
return case when width = 1 and octet_length(packed) > i then get_byte(packed, i::int)::bigint
  when width = 2 then u16(packed, i) end;

create or replace function hash_at(hashes bytea, slots bytea, i bigint) returns text language sql immutable parallel safe
return encode(substr(hashes, 32 * (case when slots is null then i else nullif(u16(slots, i), 0) - 1 end)::int + 1, 32), 'hex');
-- +goose StatementEnd
