#!/bin/sh
# Makes the databases of the Temporal server of docker-compose.yml, or brings their schemas up to date. It may run again.
set -eu
for database in temporal temporal_visibility; do
    schema=${database#temporal_}
    sql() { temporal-sql-tool --plugin postgres12 --endpoint postgres --port 5432 --user temporal --database "$database" "$@"; }
    sql create
    sql setup-schema --version 0.0 || echo "$database has a schema"
    sql update-schema --schema-dir "/etc/temporal/schema/postgresql/v12/$schema/versioned"
done
