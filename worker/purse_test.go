package worker_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/worker"
	"waymark/worker/secrets"
)

// purseServer serves documents with secrets: orders has OWN and DSN, and shares CRM, which may go to 127.0.0.1.
func purseServer(t *testing.T) worker.Planner {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"secrets/orders/OWN": "own-of-orders", "secrets/orders/DSN": "postgres://u:p@127.0.0.1:1/d?sslmode=disable",
		"secrets/CRM": "shared-secret", "served/readme.yaml": "",
	} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	p := worker.Planner{
		Confined: true, Served: filepath.Join(folder, "served"), AllowWrite: []string{folder},
		Allow: []string{folder}, SecretsDir: filepath.Join(folder, "secrets"),
		Secrets: &secrets.Rules{}, FingerprintKey: []byte("key"),
	}
	require.NoError(t, p.Secrets.Set("{CRM: {pipelines: [orders], hosts: [127.0.0.1]}}"))
	require.NoError(t, p.AllowNetworks.Set("127.0.0.0/8"))
	return p
}

// reading is a document of orders that reads with the options of a format.
func (r reading) document() []byte {
	text := "name: NAME\nparams: {p: {type: string, default: d}}\nsources: {in: {FORMAT, schema: {fields: {id: " +
		"int}}}}\nsinks: {out: {csv: {path: OUT}}}\n"
	return []byte(strings.NewReplacer("NAME", r.name, "FORMAT", r.format, "OUT", r.out).Replace(text))
}

type reading struct{ name, format, out string }

func TestSecretsOfAServerGoWhereTheyMay(t *testing.T) {
	p := purseServer(t)
	out := filepath.Join(p.AllowWrite[0], "out.csv")
	pg := func(dsn string) string { return `postgres: {dsn: "` + dsn + `", table: t, order_by: [id]}` }
	web := func(address, value string) string {
		return `csv: {path: "` + address + `", http: {headers: {X-Token: "` + value + `"}}}`
	}
	for name, c := range map[string]struct {
		pipeline, format string
		params           map[string]string
		why              string // "" if it compiles
	}{
		"own": {"orders", pg("postgres://u:${secret:OWN}@db.example/d"), nil, ""},
		"another's": {"evil", pg("postgres://u:${secret:OWN}@db.example/d"), nil,
			"p.yaml:3:32: sources.in.postgres.dsn: secret OWN: pipeline evil has none of this name for " +
				"db.example:5432: put it into the file evil/OWN of the server's --secrets-dir, or share one in the " +
				"server's settings, under secrets: OWN: {pipelines: [evil], hosts: [\"db.example:5432\"]}"},
		"shared": {"orders", pg("postgres://u:${secret:CRM}@127.0.0.1/d"), nil, ""},
		"shared, elsewhere": {"orders", pg("postgres://u:${secret:CRM}@db.example/d"), nil,
			"secret CRM of pipeline orders may not go to db.example:5432: add it to the hosts of CRM"},
		"shared, second host": {"orders", pg("postgres://u:${secret:CRM}@127.0.0.1,db.example/d"), nil, "db.example"},
		"shared, with others": {"evil", pg("postgres://u:${secret:CRM}@127.0.0.1/d"), nil, "pipeline evil has none"},
		"an address":          {"orders", pg("${secret:DSN}"), nil, ""},
		"an address, more":    {"orders", pg("${secret:DSN}&application_name=x"), nil, ""},
		"an address, less": {"orders", pg("${secret:DSN}&host=db.example"), nil,
			"have the whole address in one secret"},
		"an address, within": {"orders", pg("postgres://u:${secret:DSN}@db.example/d"), nil,
			"sources.in.postgres.dsn: the host, the port and the name"},
		"a host": {"orders", pg("host=${secret:OWN} user=u dbname=d"), nil, "sources.in.postgres.dsn: the host, " +
			"the port and the name of a database are recorded and shown, so no secret can be in them: write them out"},
		"shared, a host": {"orders", pg("postgres://u@${secret:CRM}.evil.example/d"), nil, "recorded and shown"},
		"a host, and none": {"evil", pg("host=${secret:NONE} user=u dbname=d password=${secret:OWN}"), nil,
			"recorded"},
		"a port": {"orders", pg("host=127.0.0.1 port=${secret:OWN} user=u dbname=d"), nil,
			"recorded and shown"},
		"a database":         {"orders", pg("postgres://u@db.example/d${secret:OWN}"), nil, "recorded and shown"},
		"a database, shared": {"orders", pg("host=127.0.0.1 user=u database=${secret:CRM}"), nil, "recorded and shown"},
		"a database, an address": {"orders", pg("host=127.0.0.1 port=1 user=u dbname='${secret:DSN}'"), nil,
			"recorded and shown"},
		"an address, and a password": {"orders", pg("${secret:DSN}&password=${secret:CRM}"), nil, ""},
		"a user and an option": {"orders", pg("host=db.example user=${secret:OWN} dbname=d options=${secret:OWN}"),
			nil, ""},
		"no such address": {"evil", pg("${secret:DSN}"), nil, "secret DSN: pipeline evil has none of this " +
			"name: put it into"},
		"a parameter's host": {"orders", pg("postgres://u:${secret:OWN}@${param:p}/d"), nil,
			"secret OWN of pipeline orders would go to d:5432, which a parameter decides"},
		"a parameter's option": {"orders", pg("postgres://u:${secret:OWN}@db.example/${param:p}"),
			map[string]string{"p": "d?host=evil.example"}, "would go to evil.example:5432, which a parameter " +
				"decides"},
		"a parameter": {"orders", pg("postgres://u:${secret:OWN}@db.example/${param:p}"), nil, ""},
		"header":      {"orders", web("https://web.example/${param:p}.csv", "Bearer ${secret:OWN}"), nil, ""},
		"header, shared": {"orders", web("https://web.example/x.csv", "${secret:CRM}"), nil,
			"p.yaml:3:57: sources.in.csv.http: secret CRM of pipeline orders may not go to web.example:443"},
		"header, another's": {"evil", web("https://web.example/x.csv", "${secret:OWN}"), nil,
			"under secrets: OWN: {pipelines: [evil], hosts: [\"web.example:443\"]}"},
		"header, an address": {"orders", web("https://web.example/x.csv", "${secret:DSN}"), nil,
			"not to web.example:443"},
		"header, a parameter": {"orders", web("https://${param:p}/x.csv", "${secret:OWN}"), nil,
			"which a parameter decides"},
	} {
		for _, standing := range []plan.Standing{plan.Proposed, plan.Recorded} {
			r := reading{c.pipeline, c.format, out}
			_, err := p.Plan(plan.Request{File: "p.yaml", Document: r.document(), Params: c.params, Deployed: true,
				Standing: standing})
			if c.why == "" {
				require.NoError(t, err, name)
			} else {
				require.ErrorContains(t, err, c.why, name)
			}
			for _, value := range []string{"own-of-orders", "shared-secret", "u:p@"} {
				require.False(t, err != nil && strings.Contains(err.Error(), value), name)
			}
		}
	}
}

// TestEveryTextThatTakesASecretIsKnown finds the texts of documents that take secrets: of a new one way has to know
// where it goes, and whether it may.
func TestEveryTextThatTakesASecretIsKnown(t *testing.T) {
	found, seen := map[string]bool{}, map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			field := of.Field(i)
			if kind := field.Tag.Get("text"); kind == "sent" || kind == "secret" {
				found[of.Name()+"."+field.Name] = true
			}
			walk(field.Type)
		}
	}
	walk(reflect.TypeFor[pipeline.Pipeline]())
	require.Equal(t, map[string]bool{
		"PostgresSource.DSN": true, "PostgresSink.DSN": true, "HTTP.Headers": true, // way
		"HTTPTrigger.Secret": true, "HTTPTrigger.Previous": true, // Bound
	}, found)
}

func TestSecretsLeaveWhenTheDocumentIsRecorded(t *testing.T) {
	p := purseServer(t)
	var came []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came = append(came, r.Header.Get("X-Token"))
		w.Header().Set("ETag", `"1"`)
		_, _ = w.Write([]byte("id\n1\n"))
	}))
	t.Cleanup(web.Close)
	r := reading{"orders", `csv: {path: "` + web.URL + `/x.csv", http: {headers: {X-Token: "${secret:OWN}"}}}`,
		filepath.Join(p.AllowWrite[0], "out.csv")}
	read := func(standing plan.Standing) error {
		compiled, err := p.Plan(plan.Request{File: "p.yaml", Folder: p.Served, Document: r.document(),
			Standing: standing})
		if err == nil {
			_, err = compiled.Nodes[0].Source.Stat(t.Context())
		}
		return err
	}
	require.ErrorContains(t, read(plan.Stranger), "sources.in.csv.http: secret OWN: a server gives secrets to "+
		"pipelines that are deployed, and this document is not")
	require.ErrorContains(t, read(plan.Proposed), "SECRET_HELD")
	require.Empty(t, came)
	require.NoError(t, read(plan.Recorded))
	require.Equal(t, []string{"own-of-orders"}, came)
	require.NoError(t, os.WriteFile(filepath.Join(p.Served, "orders.yaml"), r.document(), 0o600))
	require.NoError(t, read(plan.Stranger), "the operator serves it")
	require.NoError(t, os.WriteFile(filepath.Join(p.Served, "orders.yaml"), append(r.document(), '\n'), 0o600))
	require.Error(t, read(plan.Stranger), "another one of its name")
	require.Len(t, came, 2)
	p.Secrets = nil
	require.NoError(t, read(plan.Stranger), "the caller's own process")
}
