package workers_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/temporal/codec"
	"waymark/internal/temporal/embedded"
	"waymark/landscape/pgstore"
	"waymark/tests/services/buckets"
	"waymark/tests/services/pg"
	"waymark/tests/system"
)

// world is all that a run needs, full of canaries.
type world struct {
	t        *testing.T
	folder   string
	sealed   bool         // what Temporal stores is encrypted
	stop     func() error // stops the Temporal server
	record   *pg.Database // with the landscape
	goods    *pg.Database // with the tables of documents
	bucket   *buckets.Bucket
	web      *httptest.Server
	codec    *codec.Codec // nil: nothing is encrypted
	home     *local.Home
	temporal sdk.Client
	canaries map[string]string // by name
	secrets  map[string]string // of documents, by name
	planted  string            // what is no secret, and must be found
	texts    []text            // in which no canary may be
}

// text is something that somebody may read.
type text struct {
	where string
	bytes []byte
}

func (w *world) keep(where string, content []byte) {
	w.texts = append(w.texts, text{where, content})
}

// newWorld starts everything but workers.
func newWorld(t *testing.T, sealed bool) *world {
	t.Helper()
	server := pg.Private(t) // roles belong to a server, and these outlive what they may do
	w := &world{
		t:        t,
		folder:   t.TempDir(),
		sealed:   sealed,
		record:   server.Database(t),
		goods:    server.Database(t),
		bucket:   buckets.New(t),
		canaries: others(),
		planted:  strings.ToLower(word()),
	}
	w.bucket.Setenv(t)
	maps.Copy(w.canaries, passwords())
	w.canaries["landscape's password"], w.canaries["S3 secret key"] = w.record.Password(), w.bucket.SecretKey
	w.web = httptest.NewServer(http.HandlerFunc(serveEcho))
	t.Cleanup(w.web.Close)
	w.secrets = w.makeSecrets()
	w.fill()
	_, _, err := pgstore.Migrate(t.Context(), w.record.DSN())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(w.folder, "secrets"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(w.folder, "pipelines"), 0o700))
	for name, value := range w.secrets {
		if !inVariable(name) {
			for _, d := range w.documents() {
				require.NoError(t, os.MkdirAll(filepath.Join(w.folder, "secrets", w.pipeline(d)), 0o700))
				require.NoError(t, os.WriteFile(
					filepath.Join(w.folder, "secrets", w.pipeline(d), name), []byte(value), 0o600))
			}
		}
	}
	temporal, err := embedded.Start(t.Context(), embedded.Options{DatabasePath: w.database()})
	require.NoError(t, err)
	w.stop = sync.OnceValue(temporal.Stop)
	t.Cleanup(func() { require.NoError(t, w.stop()) })
	cluster := &client.Cluster{Address: w.environment()["TEMPORAL_ADDRESS"]}
	if sealed {
		cluster.CodecKeys = w.codecKeys()
		w.codec, err = codec.Load("", w.codecKeys(), true)
		require.NoError(t, err)
	}
	home, session := system.Open(t, local.Options{
		Landscape: w.record.DSN(), Payloads: w.bucket.URL("payloads"), Cluster: cluster, Key: w.canaries["fingerprint key"],
	})
	w.home, w.temporal = home, session.Temporal
	return w
}

// inVariable says of a secret whether it is in a variable, and not in a file.
func inVariable(name string) bool { return strings.ToUpper(name) == name }

func (w *world) database() string { return filepath.Join(w.folder, "temporal.db") }

func (w *world) codecKeys() string { return "one:" + w.canaries["codec key"] }

// serveEcho is a web server that tells everybody what it was told.
func serveEcho(out http.ResponseWriter, in *http.Request) {
	echo := fmt.Sprint(in.Header, in.URL)
	code, is := strings.CutPrefix(in.URL.Path, "/echo/")
	switch {
	case !is:
		out.Header().Set("ETag", `"1"`)
		http.ServeContent(out, in, "rows.csv", time.Time{}, strings.NewReader("id,text\n1,one\n2,two\nmany,three\n"))
	case code == "cut":
		out.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(out, "id,text\n"+echo)
		panic(http.ErrAbortHandler)
	default:
		out.Header().Set("WWW-Authenticate", `Basic realm="`+strings.ReplaceAll(echo, `"`, "")+`"`)
		out.Header().Set("Location", "/elsewhere?"+in.Header.Get("Authorization"))
		status := 0
		_, _ = fmt.Sscan(code, &status)
		http.Error(out, echo, status)
	}
}

// fill makes the roles and tables of documents.
func (w *world) fill() {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.goods.Superuser())
	require.NoError(w.t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is left to be done
	execute := func(statement string) {
		_, err := conn.Exec(w.t.Context(), statement)
		require.NoError(w.t, err)
	}
	for name := range passwords() {
		role := pgx.Identifier{"role_" + name}.Sanitize()
		w.goods.Login(w.t, "role_"+name)
		execute(fmt.Sprintf("alter role %s password '%s'", role, strings.ReplaceAll(w.canaries[name], "'", "''")))
		execute("alter default privileges for role " + role + " in schema public grant all on tables to public")
	}
	execute("grant all on schema public to public")
	execute("create table public.words (id bigint primary key, text text)")
	execute("insert into public.words select i, 'word ' || i from generate_series(1, 12) i")
	execute("insert into public.words values (13, '" + w.planted + "')")
	execute("create table public.checked (id bigint check (id <> 6), text text)")
	execute("grant all on all tables in schema public to public")
}

// environment is that of a worker, and of the commands of who operates it.
func (w *world) environment() map[string]string {
	holder, held, err := embedded.Holder(w.database())
	require.NoError(w.t, err)
	require.True(w.t, held)
	e := map[string]string{
		"TEMPORAL_ADDRESS": holder.Address, "TEMPORAL_API_KEY": w.canaries["api key"], "TEMPORAL_TLS": "false", "WAYMARK_TEMPORAL": "env",
		"WAYMARK_LANDSCAPE": w.record.DSN(), "WAYMARK_PAYLOADS": w.bucket.URL("payloads"), "WAYMARK_FILES": "shared",
		"WAYMARK_FINGERPRINT_KEY": w.canaries["fingerprint key"], "WAYMARK_SECRETS_DIR": filepath.Join(w.folder, "secrets"),
		"WAYMARK_ALLOW_NETWORK": "127.0.0.0/8", "AWS_ENDPOINT_URL_S3": w.bucket.Endpoint,
		"WAYMARK_ALLOW_ENV": "ENV_TOKEN:ENV_TEXT", "ENV_TOKEN": w.canaries["ENV_TOKEN"], "ENV_TEXT": w.canaries["ENV_TEXT"],
	}
	maps.Copy(e, w.bucket.Env())
	for name, value := range w.secrets {
		if inVariable(name) {
			e["WAYMARK_SECRETS"] = "{" + name + ": {pipelines: [web], hosts: [127.0.0.1]}}"
			e["WAYMARK_SECRET_"+name] = value
		}
	}
	if w.sealed {
		e["WAYMARK_CODEC_KEYS"] = w.codecKeys()
	}
	return e
}

// worker starts a worker process with these other variables.
func (w *world) worker(name string, other map[string]string) *process {
	w.t.Helper()
	e := w.environment()
	maps.Copy(e, map[string]string{
		"WAYMARK_PIPELINES": filepath.Join(w.folder, "pipelines"), "WAYMARK_HTTP": "127.0.0.1:0", "WAYMARK_LOG_FORMAT": "json", "WAYMARK_LOG_LEVEL": "debug",
	})
	maps.Copy(e, other)
	program, err := buildReleased()
	require.NoError(w.t, err)
	return w.launch(name, e, program)
}

// launch starts a program in the folder of the pipelines, with nothing else in its environment.
func (w *world) launch(name string, environment map[string]string, program string, args ...string) *process {
	w.t.Helper()
	command := exec.Command(program, args...)
	command.Dir = filepath.Join(w.folder, "pipelines")
	command.Env = environ(w.folder, environment)
	return launch(w.t, name, command)
}

// tells waits until the process says one of the words, or ends.
func (p *process) tells(words ...string) {
	p.t.Helper()
	said := func(word string) bool { return strings.Contains(p.said(), word) }
	await(p.t, fmt.Sprintf("%s says one of %q", p.name, words), func() bool {
		return p.over() || slices.ContainsFunc(words, said)
	})
}

// end lets the process end, and keeps what it said.
func (w *world) end(p *process) {
	w.t.Helper()
	p.end()
	w.keep("log of "+p.name, []byte(p.said()))
}

// command runs the command line, and keeps what it says.
func (w *world) command(args ...string) {
	w.t.Helper()
	program, err := buildWaymark()
	require.NoError(w.t, err)
	p := w.launch(strings.Join(args, " "), w.environment(), program, args...)
	select {
	case <-p.ended:
	case <-time.After(patience):
		require.Fail(w.t, "the command does not end", "%s: %s", p.name, p.said())
	}
	w.keep("waymark "+p.name, []byte(p.said()))
}
