package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/payload"
	"waymark/workflows/slots"
	"waymark/workflows/triggers"
)

// arriving are documents with a schedule, and with a trigger of each kind.
var arriving = []string{`
name: orders
params: {part: {type: string, default: all}}
sources: {orders: {csv: {path: "FOLDER/in/*.csv"}, schema: {fields: {id: int}}}}
sinks: {out: {jsonl: {path: "FOLDER/out/${param:part}.jsonl"}}}
triggers: {drop: {source: orders, run_id: part}}
`, `
name: nightly
params: {day: {type: date, default: "${slot:date}"}}
sources: {orders: {csv: {path: "FOLDER/in/orders.csv"}, schema: {fields: {id: int}}}}
sinks: {out: {jsonl: {path: "FOLDER/nightly/${param:day}.jsonl"}}}
schedules: {nightly: {every: day, at: "02:30", zone: Europe/Berlin}}
`, `
name: after
params: {part: {type: string, default: all}}
sources: {orders: {jsonl: {path: "FOLDER/out/*.jsonl"}, schema: {fields: {id: int}}}}
sinks: {out: {jsonl: {path: "FOLDER/after/${param:part}.jsonl"}}}
triggers: {outputs: {source: orders, after: {pipeline: orders, sink: out}, run_id: part}}
`, `
name: hooks
params: {part: {type: string, default: all}}
sources: {orders: {webhook: {}, key: [id], schema: {fields: {id: int}}}}
sinks: {out: {jsonl: {path: "FOLDER/hooks/${param:part}.jsonl"}}}
triggers: {calls: {source: orders, run_id: part, http: {verify: none}}}
`, `
name: shop
params: {part: {type: string, default: all}}
sources:
  orders:
    postgres: {dsn: "postgres://shop@127.0.0.1:1/shop", table: orders}
    key: [id]
    schema: {fields: {id: int, at: int}}
sinks: {out: {jsonl: {path: "FOLDER/shop/${param:part}.jsonl"}}}
triggers: {rows: {source: orders, run_id: part, rows: {by: [at, id]}}}
`}

// TestDoctorOfEveryTrigger: it looks at triggers of each kind, says of one after a pipeline that is gone that no
// run can come, and panics for none, also without the payloads in which the
// documents are.
func TestDoctorOfEveryTrigger(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "in"), 0o700))
	o := Options{State: Folder(filepath.Join(folder, ".waymark")), Allow: []string{folder}}.filled()
	home, err := Open(t.Context(), o)
	require.NoError(t, err)
	deposit, err := home.Deposit(t.Context(), true)
	require.NoError(t, err)
	for _, text := range arriving {
		_, err := home.Deploy(t.Context(), client.DeployRequest{
			File: "pipeline.yaml", Source: []byte(strings.ReplaceAll(text, "FOLDER", folder)),
			Anyway: "nothing is there yet", By: client.By{Why: "to see"},
		})
		require.NoError(t, err)
	}
	current, err := home.stores.Log.AllCurrentVersions(t.Context())
	require.NoError(t, err)
	for _, d := range current {
		require.NoError(t, triggers.Adopt(t.Context(), home.stores.Log, deposit.Payloads, d))
		require.NoError(t, slots.Adopt(t.Context(), home.stores.Log, deposit.Payloads, d))
	}
	look := doctor{Options: &o}.triggers
	require.Equal(t, client.Good("%d triggers, 0 arrivals waiting", len(arriving)-1), look(t.Context()))

	_, err = home.Retire(t.Context(), client.RedeployRequest{Pipeline: "orders", By: client.By{Why: "to see"}})
	require.NoError(t, err)
	require.Regexp(t, "default/after/outputs: .*the pipeline orders is retired", look(t.Context()).Detail)
	_, err = home.Unretire(t.Context(), client.RedeployRequest{Pipeline: "orders", By: client.By{Why: "to see"}})
	require.NoError(t, err)

	version, err := home.stores.Log.Startable(t.Context(), landscape.DefaultEnvironment, "orders", 0)
	require.NoError(t, err)
	require.NoError(t, deposit.Payloads.Delete(t.Context(), payload.Digest(version.Bundle)))
	require.Equal(t, client.Doubtful, look(t.Context()).State)
	require.NoError(t, home.Close())
	require.NoError(t, os.RemoveAll(filepath.Join(string(o.State), "payloads")))
	require.Equal(t, client.Doubtful, look(t.Context()).State)
}

// TestADefectOfACheck: a check that panics is unhealthy, and says under which id the log has the cause. The others
// are made.
func TestADefectOfACheck(t *testing.T) {
	before := defect.Counts()["doctor"]
	disk := needed("disk space", client.CureOther, doctor{}.disk)
	check := doctor{Options: &Options{}, patience: patience}.at(t.Context(), disk)
	require.Equal(t, client.Check{
		Name: "disk space", State: client.Unhealthy, Detail: check.Detail, Cure: client.Report,
	}, check)
	require.Regexp(t, "a defect of this program in doctor.* under defect=[0-9a-f]{16}", check.Detail)
	require.Equal(t, before+1, defect.Counts()["doctor"])
}
