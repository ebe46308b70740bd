package pgstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestSchemaIsCompared changes the schema as its owner can.
func TestSchemaIsCompared(t *testing.T) {
	store, db := create(t)
	log, conn := landscape.New(store, nil), connect(t, db.DSN())
	for _, c := range []struct {
		change, undo string
		want         []landscape.SchemaDifference
	}{
		{``, ``, nil},
		{`alter table runs disable trigger change;
			create or replace view run_links as select run_id, parent_run, link, 0::bigint as retried_rows from runs`,
			`alter table runs enable trigger change`,
			[]landscape.SchemaDifference{
				{Object: "trigger change of runs", What: "was changed"},
				{Object: "view run_links", What: "was changed"},
			}},
		{`create or replace function hex(raw bytea) returns text language sql immutable parallel safe as $$ select '' $$`, ``,
			[]landscape.SchemaDifference{{Object: "function hex(bytea)", What: "was changed"}, {Object: "view run_links", What: "was changed"}}},
		{`create table more (a bigint); create index more_index on runs (pipeline)`, `drop table more`,
			[]landscape.SchemaDifference{{Object: "function hex(bytea)", What: "was changed"}, {Object: "view run_links", What: "was changed"}, {Object: "table more", What: "was added"}}},
	} {
		t.Run(c.change, func(t *testing.T) {
			_, err := conn.Exec(t.Context(), c.change)
			require.NoError(t, err)
			found, why, err := log.CompareSchema(t.Context())
			require.NoError(t, err)
			require.Empty(t, why)
			require.Equal(t, c.want, found)
			_, err = conn.Exec(t.Context(), c.undo)
			require.NoError(t, err)
		})
	}
	var left int
	require.NoError(t, conn.QueryRow(t.Context(), `select count(*) from pg_namespace where nspname like 'compared%'`).Scan(&left))
	require.Zero(t, left)
}
