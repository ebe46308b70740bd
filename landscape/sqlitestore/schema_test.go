package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/sqlitestore"
)

// TestSchemaIsCompared changes the schema as the owner of the file can.
func TestSchemaIsCompared(t *testing.T) {
	made, path := create(t)
	require.NoError(t, made.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for change, want := range map[string][]landscape.SchemaDifference{
		``:                       nil,
		`drop trigger runs_stay`: {{Object: "trigger runs_stay", What: "is missing"}},
		`drop view run_links; create view run_links as select 1`: {{Object: "view run_links", What: "was changed"}},
		`create table more (a)`:                                  {{Object: "content of more", What: "was added"}, {Object: "table more", What: "was added"}},
		`create view more as select 1`:                           {{Object: "view more", What: "was added"}},
		`create index more on runs (pipeline)`:                   nil,
		`drop index effects_by_ordinal`:                          {{Object: "index effects_by_ordinal", What: "is missing"}},
		`alter table heals add column more text`:                 {{Object: "table heals", What: "was changed"}},
		`drop trigger goose_db_version_stay`: {{Object: "trigger goose_db_version_stay",
			What: "is missing"}},
		`drop trigger bytes_keep; update bytes set n = n + 1 where n = 255`: {
			{Object: "content of bytes", What: "was changed"}, {Object: "trigger bytes_keep", What: "is missing"},
		},
	} {
		t.Run(change, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "changed.db")
			require.NoError(t, os.WriteFile(path, whole, 0o600))
			execute(t, path, `pragma synchronous = off; `+change)
			store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
			require.NoError(t, err)
			defer store.Close()
			found, why, err := landscape.New(store, nil).CompareSchema(t.Context())
			require.NoError(t, err)
			require.Empty(t, why)
			require.Equal(t, want, found)
		})
	}
}
