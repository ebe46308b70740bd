#!/bin/sh
# Runs once, when the database server of docker-compose.yml is new: users, and the database of the record.
set -eu
psql --username "$POSTGRES_USER" --set ON_ERROR_STOP=1 \
    --set temporal="$TEMPORAL_PASSWORD" --set owner="$WAYMARK_OWNER_PASSWORD" --set worker="$WAYMARK_WORKER_PASSWORD" <<'SQL'
create role temporal login createdb password :'temporal';

-- Who owns the record changes its schema and nothing else: waymark landscape migrate.
create role waymark_owner login password :'owner';
-- Who works inserts and reads, who asks reads: waymark landscape grant.
create role waymark_writer nologin;
create role waymark_reader nologin;
create role waymark_worker login password :'worker' in role waymark_writer;
create database waymark owner waymark_owner;
SQL
