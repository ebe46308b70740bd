package worker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/worker"
)

const local = `
name: local
sources: {a: {csv: {path: in.csv}, schema: {fields: {id: int}}}}
sinks: {b: {csv: {path: out/out.csv}}}
`

func TestConfinedFolders(t *testing.T) {
	allowed, other := t.TempDir(), t.TempDir()
	inside := filepath.Join(allowed, "inside")
	require.NoError(t, os.Mkdir(inside, 0o700))
	p := worker.Planner{Allow: []string{allowed}, Served: allowed, Confined: true}
	compile := func(folder string) error {
		_, err := p.Plan(plan.Request{File: "p.yaml", Folder: folder, Document: []byte(local)})
		return err
	}
	require.NoError(t, compile(allowed))
	require.NoError(t, compile(inside))
	for folder, says := range map[string]string{
		other: "none that this worker gives to documents", "/": "none that this worker gives to documents",
		"": "none that this worker gives to documents", ".": "none that this worker gives to documents",
		allowed + "/../" + filepath.Base(other): "none that this worker gives to documents",
		filepath.Join(allowed, "gone"):          "is not on this machine",
	} {
		require.ErrorContains(t, compile(folder), says, folder)
	}
	p.Confined = false
	require.NoError(t, compile(other))
}

func TestConfinedVariables(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("AWS_SECRET_ACCESS_KEY", "the key of the worker")
	t.Setenv("REGION_NAME", "north")
	p := worker.Planner{
		Allow: []string{folder}, Served: folder, AllowEnv: []string{"REGION_NAME"}, Confined: true,
		FingerprintKey: []byte("key"),
	}
	compile := func(variable string) error {
		document := strings.Replace(local, "sinks:", `steps: [{name: s, set: {a: "'${`+variable+`}'"}}]`+"\nsinks:", 1)
		document = strings.Replace(document, "path: in.csv", "path: in.csv, comment: '${"+variable+"}'", 1)
		_, err := p.Plan(plan.Request{File: "p.yaml", Folder: folder, Document: []byte(document)})
		return err
	}
	require.ErrorContains(t, compile("AWS_SECRET_ACCESS_KEY"), "none that this worker gives to documents")
	require.NotContains(t, compile("AWS_SECRET_ACCESS_KEY").Error(), "${secret:", "no path and no option takes one")
	database := []byte("name: p\nsources: {in: {postgres: {dsn: '${AWS_SECRET_ACCESS_KEY}', table: t}}}\n" +
		"sinks: {out: {csv: {path: '/out/${AWS_SECRET_ACCESS_KEY}.csv'}}}\n")
	_, err := p.Plan(plan.Request{File: "p.yaml", Folder: folder, Document: database})
	require.ErrorContains(t, err, "dsn: the environment variable AWS_SECRET_ACCESS_KEY is none that this worker "+
		"gives to documents: its operator can, with --allow-env AWS_SECRET_ACCESS_KEY; or write ${secret:NAME}")
	require.Equal(t, 1, strings.Count(err.Error(), "${secret:NAME}"), "%v", err)
	require.NotContains(t, compile("REGION_NAME").Error(), "none that this worker gives to documents")
	p.Confined = false
	require.NotContains(t, compile("AWS_SECRET_ACCESS_KEY").Error(), "none that this worker gives to documents")
}

func TestConfinedDatabases(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PGUSER", "waymark_worker")
	t.Setenv("PGPASSWORD", "the password of the worker")
	p := worker.Planner{Allow: []string{folder}, Confined: true}
	compile := func(dsn string) error {
		document := "name: tables\nsources: {a: {postgres: {dsn: \"" + dsn + "\", table: t}, schema: {fields: {id: int}}}}\n" +
			"sinks: {b: {postgres: {dsn: \"" + dsn + "\", table: u}}}\n"
		_, err := p.Plan(plan.Request{File: "p.yaml", Folder: folder, Document: []byte(document)})
		return err
	}
	err := compile("postgres://db.example/d")
	require.ErrorContains(t, err, "sources.a.postgres.dsn: it names no user, and a worker lends documents nothing of its environment")
	require.NoError(t, compile("postgres://somebody@db.example/d"))
	certificate := "postgres://somebody@db.example/d?sslmode=verify-full&sslrootcert="
	require.ErrorContains(t, compile(certificate+"/etc/hostname"), "dsn: sslrootcert names a file of the worker's machine")
	require.ErrorContains(t, compile("host="+folder+"/.. user=u dbname=d"), "dsn: a host is the folder of a socket of this machine")
	require.NoError(t, compile("host="+folder+" user=u dbname=d"), "the folder is allowed")
	p.Confined = false
	require.NoError(t, compile("postgres://db.example/d"))
}

func TestNoDocumentReachesThePlacesOfTheRecord(t *testing.T) {
	folder := t.TempDir()
	p := worker.Planner{Reserved: worker.Reserved{Files: []string{filepath.Join(folder, "state/landscape.db")}, Bucket: "record", Prefixes: []string{"payloads/"}}}
	compile := func(source, sink string) error {
		document := strings.Replace(strings.Replace(local, "in.csv", source, 1), "path: out/out.csv", "path: "+sink, 1)
		_, err := p.Plan(plan.Request{File: "p.yaml", Folder: folder, Document: []byte(document)})
		return err
	}
	require.NoError(t, compile("in.csv", "out/out.csv"))
	const says = "which no document reads or writes"
	require.ErrorContains(t, compile("state/landscape.db", "out.csv"), says)
	require.ErrorContains(t, compile("in.csv", "state/landscape.db"), says)
	require.ErrorContains(t, compile("'s3://record/payloads/objects/*'", "out.csv"), says)
	require.ErrorContains(t, compile("in.csv", "'s3://record/payloads', parts: true"), says)
}

func TestDocumentCredentials(t *testing.T) {
	env := map[string]string{}
	look := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	given, err := worker.DocumentCredentials("", look)
	require.NoError(t, err)
	require.Zero(t, given)
	given, err = worker.DocumentCredentials("documents", look)
	require.NoError(t, err)
	require.Equal(t, worker.Credentials{Profile: "documents"}, given)

	env[worker.DocumentTokenVariable] = "canary"
	_, err = worker.DocumentCredentials("", look)
	require.EqualError(t, err, "WAYMARK_DOCUMENT_SESSION_TOKEN belongs to WAYMARK_DOCUMENT_ACCESS_KEY_ID, which is not set")
	env[worker.DocumentKeyVariable] = "canary"
	_, err = worker.DocumentCredentials("", look)
	require.EqualError(t, err, "WAYMARK_DOCUMENT_ACCESS_KEY_ID and WAYMARK_DOCUMENT_SECRET_ACCESS_KEY belong together: set both, or none")
	env[worker.DocumentSecretVariable] = "canary"
	_, err = worker.DocumentCredentials("documents", look)
	require.EqualError(t, err, "--document-profile and WAYMARK_DOCUMENT_ACCESS_KEY_ID exclude each other")
	given, err = worker.DocumentCredentials("", look)
	require.NoError(t, err)
	require.Equal(t, worker.Credentials{AccessKeyID: "canary", SecretAccessKey: "canary", Token: "canary"}, given)
}

// TestWhereConfinedDocumentsWrite: beside what is served, and where the operator says. A deployed version
// writes where the served document of its name would.
func TestWhereConfinedDocumentsWrite(t *testing.T) {
	served, data, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	for _, folder := range []string{"mine", "local", ".git", "secrets"} {
		require.NoError(t, os.Mkdir(filepath.Join(served, folder), 0o700))
	}
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(served, "link")))
	require.NoError(t, os.WriteFile(filepath.Join(served, "p.yaml"), []byte(local), 0o600))
	p := worker.Planner{
		Allow: []string{served, data}, Served: served, AllowWrite: []string{data},
		Own: []string{filepath.Join(served, "secrets")}, Confined: true,
	}
	const deployed = ""
	writes := func(folder, sink string) error {
		document := strings.Replace(local, "path: out/out.csv", "path: "+sink, 1)
		document = strings.Replace(document, "in.csv", filepath.Join(data, "in.csv"), 1)
		_, err := p.Plan(plan.Request{
			File: "p.yaml", Folder: folder, Deployed: folder == deployed, Document: []byte(document),
		})
		return err
	}
	in := func(name string) string { return filepath.Join(served, name) }
	for _, may := range [][2]string{
		{served, "out/a.csv"}, {served, in("out/a.csv")}, {in("mine"), "out/a.csv"},
		{in("mine"), filepath.Join(data, "a.csv")},
		{deployed, in("out/a.csv")}, {deployed, in("local/out/a.csv")}, {deployed, filepath.Join(data, "a/a.csv")},
	} {
		require.NoError(t, writes(may[0], may[1]), may)
	}
	for not, says := range map[[2]string]string{
		{served, "a.csv"}: "write to out/a.csv, " +
			"or to a folder that its operator allows with --allow-write",
		{served, in("mine/out/a.csv")}: "write to " + in("out/a.csv") + ", " +
			"or its operator allows a folder with --allow-write " + in("mine/out"),
		{in("mine"), in("out/a.csv")}:                 "write to " + in("mine/out/a.csv"),
		{deployed, in("mine/out/a.csv")}:              "--allow-write " + in("mine/out"),
		{deployed, filepath.Join(elsewhere, "a.csv")}: "--allow-write " + elsewhere,
		{data, "../a.csv"}:                            `holds ".."`,
		{in("secrets"), "out/a.csv"}:                  "belongs to Waymark itself",
		{in(".git"), "out/a.csv"}:                     "is none that this worker gives to documents",
		{in("link"), "out/a.csv"}:                     "is none that this worker gives to documents",
		{served, "p.yaml"}:                            "belongs to Waymark itself",
		{served, "out/.hidden"}:                       "begins with a dot",
		{served, "out"}:                               "--allow-write",
		{served, "out/a.csv, latest: a.csv"}:          "that its operator allows with --allow-write",
	} {
		require.ErrorContains(t, writes(not[0], not[1]), says, not)
	}
	p.Served, p.AllowWrite = "", nil
	require.ErrorContains(t, writes(served, "out/a.csv"), "its operator allows a folder with --allow-write "+in("out"),
		"a worker that serves no folder")
	p.Confined = false
	require.NoError(t, writes(elsewhere, "a.csv"), "in a process of its own")
}

func TestConfinedDocumentsLookUpNothingOfTheServers(t *testing.T) {
	served := t.TempDir()
	for _, name := range []string{"secrets.csv", "names.csv", "in.csv"} {
		require.NoError(t, os.WriteFile(filepath.Join(served, name), []byte("id,name\n1,secret\n"), 0o600))
	}
	p := worker.Planner{
		Allow: []string{served}, Served: served, Own: []string{filepath.Join(served, "secrets.csv")}, Confined: true,
	}
	looks := func(table string) error {
		document := strings.Replace(local, "sinks:", "steps: [{name: l, lookup: {csv: {path: "+table+"}, "+
			"schema: {fields: {id: int, name: string}}, on: {id: id}, add: {name: name}}}]\nsinks:", 1)
		_, err := p.Plan(plan.Request{File: "p.yaml", Folder: served, Document: []byte(document)})
		return err
	}
	require.NoError(t, looks("names.csv"))
	for _, table := range []string{
		"secrets.csv", "SECRETS.csv", filepath.Join(served, "secrets.csv"), ".git/x.csv", "p.yaml",
	} {
		require.ErrorContains(t, looks(table), "which no document reads or writes", table)
	}
	certificate := "postgres://somebody@db.example/d?sslmode=verify-full&sslrootcert=" +
		filepath.Join(served, "secrets.csv")
	document := "name: tables\n" +
		"sources: {a: {postgres: {dsn: \"" + certificate + "\", table: t}, schema: {fields: {id: int}}}}\n" +
		"sinks: {b: {csv: {path: out/b.csv}}}\n"
	_, err := p.Plan(plan.Request{File: "p.yaml", Folder: served, Document: []byte(document)})
	require.ErrorContains(t, err,
		"dsn: sslrootcert names a file that is Waymark's own, which no document reads or writes")
}
