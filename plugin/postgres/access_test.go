package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/egress"
)

// curious is a server that asks everybody for his password, in clear text, keeps what it hears, and lets nobody in.
type curious struct {
	address string
	mu      sync.Mutex
	heard   []visit
}

type visit struct {
	parameters map[string]string
	password   string
}

func newCurious(t *testing.T, kind, address string) *curious {
	t.Helper()
	listener, err := net.Listen(kind, address)
	require.NoError(t, err)
	c := &curious{address: listener.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.talk(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return c
}

func (c *curious) talk(conn net.Conn) {
	backend := pgproto3.NewBackend(conn, conn)
	first, err := backend.ReceiveStartupMessage()
	if err != nil {
		return
	}
	startup, ok := first.(*pgproto3.StartupMessage)
	if !ok {
		return
	}
	v := visit{parameters: startup.Parameters}
	backend.Send(&pgproto3.AuthenticationCleartextPassword{})
	if backend.Flush() == nil && backend.SetAuthType(pgproto3.AuthTypeCleartextPassword) == nil {
		if answer, err := backend.Receive(); err == nil {
			if said, ok := answer.(*pgproto3.PasswordMessage); ok {
				v.password = said.Password
			}
		}
	}
	c.mu.Lock()
	c.heard = append(c.heard, v)
	c.mu.Unlock()
	backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "password authentication failed"})
	_ = backend.Flush()
}

// visits returns what was heard since it was last asked for.
func (c *curious) visits() []visit {
	c.mu.Lock()
	defer c.mu.Unlock()
	heard := c.heard
	c.heard = nil
	return heard
}

// both lets a source and a sink with this DSN connect, and returns their errors.
func both(t *testing.T, dsn string, access Access) []error {
	t.Helper()
	source, err := NewSource("in", pipeline.PostgresSource{DSN: dsn, Table: "t"}, pipeline.Schema{}, access, nil)
	require.NoError(t, err)
	_, reading := source.Stat(t.Context())
	sink, err := NewSink("out", pipeline.PostgresSink{DSN: dsn, Table: "t"}, access)
	require.NoError(t, err)
	_, writing := sink.Target("run").Open(t.Context(), []byte(`{"columns":[{"name":"a"}]}`))
	return []error{reading, writing}
}

// bare takes away whatever the environment says about Postgres.
func bare(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "PG") {
			t.Setenv(name, "")
			require.NoError(t, os.Unsetenv(name))
		}
	}
	t.Setenv("HOME", t.TempDir())
}

// furnish lets the environment say everything about Postgres that it can.
func furnish(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, value := range map[string]string{
		"HOME": home, "PGHOST": "operator.invalid", "PGPORT": "6432", "PGDATABASE": "waymark", "PGUSER": "waymark_worker", "PGPASSWORD": "canary",
		"PGPASSFILE": write("passwords", "*:*:*:*:canary\n"), "PGAPPNAME": "operator", "PGCONNECT_TIMEOUT": "77", "PGSSLMODE": "verify-full",
		"PGSSLKEY": "/no/key", "PGSSLCERT": "/no/certificate", "PGSSLCERTMODE": "require", "PGSSLSNI": "0", "PGSSLROOTCERT": "/no/root", "PGSSLPASSWORD": "canary",
		"PGSSLNEGOTIATION": "direct", "PGTARGETSESSIONATTRS": "read-only", "PGSERVICE": "operator",
		"PGSERVICEFILE": write("services", "[operator]\npassword=canary\nsearch_path=waymark\nkrbsrvname=canary\n"), "PGTZ": "Asia/Tokyo", "PGOPTIONS": "-c role=owner",
		"PGMINPROTOCOLVERSION": "3.2", "PGMAXPROTOCOLVERSION": "latest", "PGCHANNELBINDING": "require", "PGREQUIREAUTH": "scram-sha-256",
	} {
		t.Setenv(name, value)
	}
	write(".pgpass", "*:*:*:*:canary\n")
	write(".pg_service.conf", "[operator]\npassword=canary\n")
	for _, name := range []string{"postgresql.crt", "postgresql.key", "root.crt"} {
		write(".postgresql/"+name, "canary")
	}
}

// TestNobodyLendsADocumentHisPassword: a document names a server of its own, which asks for a password.
func TestNobodyLendsADocumentHisPassword(t *testing.T) {
	bare(t)
	server := newCurious(t, "tcp", "127.0.0.1:0")
	confined := anywhere
	confined.Confined = true
	passwords := filepath.Join(os.Getenv("HOME"), ".pgpass")
	for name, lend := range map[string]func(*testing.T){
		"PGPASSWORD": func(t *testing.T) { t.Setenv("PGPASSWORD", "canary") },
		"PGPASSFILE": func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "passwords")
			require.NoError(t, os.WriteFile(path, []byte("*:*:*:*:canary\n"), 0o600))
			t.Setenv("PGPASSFILE", path)
		},
		".pgpass": func(t *testing.T) {
			require.NoError(t, os.WriteFile(passwords, []byte("*:*:*:*:canary\n"), 0o600))
			t.Cleanup(func() { require.NoError(t, os.Remove(passwords)) })
		},
		"PGSERVICE": func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "services")
			require.NoError(t, os.WriteFile(path, []byte("[s]\npassword=canary\n"), 0o600))
			t.Setenv("PGSERVICE", "s")
			t.Setenv("PGSERVICEFILE", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			lend(t)
			dsn := "postgres://somebody@" + server.address + "/" + strings.ToLower(name) + "?sslmode=disable"
			for _, err := range both(t, dsn, confined) {
				require.ErrorContains(t, err, "(SQLSTATE 28P01): the dsn has no password, and a worker lends documents none: write "+completeDSN)
			}
			heard := server.visits()
			require.Len(t, heard, 2)
			for _, v := range heard {
				require.Empty(t, v.password)
				require.Equal(t, map[string]string{
					"user": "somebody", "database": strings.ToLower(name), "application_name": "waymark", "client_encoding": "UTF8",
				}, v.parameters)
			}
			both(t, dsn, anywhere)
			for _, v := range server.visits() {
				require.Equal(t, "canary", v.password, "on one's own machine the environment says it")
			}
			own := strings.Replace(dsn, "somebody@", "somebody:own@", 1)
			for _, err := range both(t, own, confined) {
				require.ErrorContains(t, err, "(SQLSTATE 28P01): check user and password")
			}
			for _, v := range server.visits() {
				require.Equal(t, "own", v.password)
			}
		})
	}
}

// dsns are readable, in both forms, and leave nothing to the environment.
var dsns = []string{
	"postgres://u@h/d", "postgresql://u:p@h:5433/d", "postgres://u:p%40%2F%3Aq@h/d?sslmode=disable", "postgres://u@a:1,b:2,[::1]:3,[2001:db8::1]/d",
	"postgres://u@a,b/d", "postgres:///d?host=h&user=u&port=7", "postgres://u@h/d?ssl=true", "postgres://u@h/d?ssl=true&sslmode=disable",
	"postgres://u@h/d?application_name=a%20b&connect_timeout=3&options=-c%20a%3Db", "postgres://u@h?dbname=d", "postgres://u@h/e?database=d",
	"postgres://u@h/d?sslrootcert=system", "postgres://u@h/d?target_session_attrs=read-write&channel_binding=disable&require_auth=scram-sha-256",
	"postgres://u@h/d?min_protocol_version=3.2", "postgres://u@h/d?search_path=a,b&pool_max_conns=3&sslsni=0", "postgres://u@h:/d?", "postgres://u@h/d ", "postgres:// u : p @ h : 5 / d ? port = 6 ",
	"host=h user=u dbname=d", "  host = h   user= u dbname =d ", "host='h' user='u u' dbname='d' password=", `host=h user=u dbname=d password='a \' \\ b'`,
	`host=h user=u dbname=d password=a\ b\\c`, "host=a,b port=1,2 user=u dbname=d", "host=a,b port=3 user=u database=d", `host=h user=u dbname=d application_name=x\`,
	"host=h user=u dbname=d sslcertmode=disable sslnegotiation=direct", "host=h user=u dbname=d timezone=UTC", "host=h user=u user='' dbname=d",
}

// seen is what a driver makes of a DSN, as far as it can be compared.
func seen(t *testing.T, config *pgconn.Config) string {
	t.Helper()
	text := fmt.Sprint(config.Host, config.Port, config.Database, config.User, config.Password, config.RuntimeParams, config.KerberosSrvName,
		config.SSLNegotiation, config.SSLCertMode, config.MinProtocolVersion, config.MaxProtocolVersion, config.ChannelBinding, config.RequireAuth, config.ValidateConnect == nil)
	show := func(host string, port uint16, secure bool, name string, certificates int) {
		text += fmt.Sprintln("", host, port, secure, name, certificates)
	}
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, way := range ways {
		if way.TLSConfig == nil {
			show(way.Host, way.Port, false, "", 0)
		} else {
			show(way.Host, way.Port, !way.TLSConfig.InsecureSkipVerify, way.TLSConfig.ServerName, len(way.TLSConfig.Certificates))
		}
	}
	return text
}

// TestAConfinedDSNMeansTheSameEverywhere: it is read as the driver reads it where the environment says nothing, whatever it says.
func TestAConfinedDSNMeansTheSameEverywhere(t *testing.T) {
	for _, dsn := range dsns {
		t.Run(dsn, func(t *testing.T) {
			bare(t)
			plain, err := pgx.ParseConfig(dsn)
			require.NoError(t, err)
			delete(plain.RuntimeParams, "pool_max_conns") // which is the pool's
			furnish(t)
			config, err := Access{Confined: true}.configure(dsn)
			require.NoError(t, err)
			require.Equal(t, seen(t, &plain.Config), seen(t, &config.ConnConfig.Config))
			if !strings.Contains(dsn, "connect_timeout") {
				require.Equal(t, connectTimeout, config.ConnConfig.ConnectTimeout)
			}
		})
	}
}

func TestAConfinedDSNMustBeComplete(t *testing.T) {
	furnish(t)
	allowed, other := t.TempDir(), t.TempDir()
	for _, folder := range []string{allowed, other} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "passwords"), []byte("h:5432:d:u:of the folder\n"), 0o600))
	}
	require.NoError(t, os.Symlink(filepath.Join(other, "passwords"), filepath.Join(allowed, "link")))
	access := Access{Confined: true, Folders: []string{allowed}}
	const machine = " names a file of the worker's machine: documents may use absolute paths in folders that the operator allows with --allow-path"
	for dsn, says := range map[string]string{
		"":                                "dsn: it names no host",
		"postgres://":                     "dsn: it names no host",
		"user=u dbname=d":                 "dsn: it names no host, and a worker lends documents nothing of its environment: write " + completeDSN,
		"postgres://u@/d":                 "dsn: it names no host",
		"postgres://u@,b/d":               "dsn: it names no host",
		"host=a, user=u dbname=d":         "dsn: it names no host",
		"postgres://h/d":                  "dsn: it names no user",
		"host=h dbname=d user=":           "dsn: it names no user",
		"postgres://u@h":                  "dsn: it names no database",
		"host=h user=u port=5432":         "dsn: it names no database",
		"postgres://u@h/d?service=x":      "dsn: service leads to a service file",
		"host=h user=u dbname=d service=": "dsn: service leads to a service file",
		"postgres://u@h/d?servicefile=" + allowed + "/passwords": "dsn: servicefile leads to a service file",
		"postgres://u@h/d?passfile=" + other + "/passwords":      "dsn: passfile" + machine + "; write the password as ${secret:NAME}",
		"postgres://u@h/d?passfile=passwords":                    "dsn: passfile" + machine,
		"postgres://u@h/d?passfile=" + allowed + "/../x":         "dsn: passfile" + machine,
		"postgres://u@h/d?passfile=" + allowed + "/link":         "dsn: passfile" + machine,
		"postgres://u@h/d?p%61ssfile=" + other + "/passwords":    "dsn: passfile" + machine,
		"postgres://u@h/d?sslcert=/c&sslkey=/k":                  "dsn: sslcert" + machine,
		"postgres://u@h/d?sslkey=/k":                             "dsn: sslkey" + machine,
		"host=h user=u dbname=d sslrootcert=/etc/hostname":       "dsn: sslrootcert" + machine + "; sslrootcert=system takes the machine's own certificates",
		"host=/run user=u dbname=d":                              "dsn: a host is the folder of a socket of this machine",
		"host=h,/run user=u dbname=d":                            "dsn: a host is the folder of a socket of this machine",
		"postgres://u@%2Frun/d":                                  "dsn: a host is the folder of a socket of this machine",
		"host=h user=u dbname=d port=canary":                     errUnreadable.Error(),
		"host=h user=u dbname=d a'b=c":                           errUnreadable.Error(),
	} {
		_, err := newDatabase(dsn, access)
		require.ErrorContains(t, err, says, dsn)
		require.NotContains(t, err.Error(), other, dsn)
		require.NotContains(t, err.Error(), "canary", dsn)
	}
	d, err := newDatabase("postgres://u@h/d?passfile="+allowed+"/passwords", access)
	require.NoError(t, err)
	require.Equal(t, "of the folder", d.config.ConnConfig.Password)
	_, err = newDatabase("host="+allowed+" user=u dbname=d", access)
	require.NoError(t, err, "a socket in an allowed folder")
}

// TestHostileDSNs shows that no spelling, no name and no further host of a DSN leads to a server inside, and that what the operator's
// own environment names needs no permission.
func TestHostileDSNs(t *testing.T) {
	bare(t)
	server := newCurious(t, "tcp", "127.0.0.1:0")
	_, port, err := net.SplitHostPort(server.address)
	require.NoError(t, err)
	const rest = " user=u password=p dbname=d sslmode=disable connect_timeout=5"
	for _, confined := range []bool{false, true} {
		for _, host := range []string{
			"127.0.0.1", "localhost", "LOCALHOST", "::ffff:127.0.0.1", "0.0.0.0", "127.0.0.1,localhost", "127.0.0.1,::ffff:127.0.0.1,127.0.0.2",
		} {
			for _, err := range both(t, "host="+host+" port="+port+rest, Access{Confined: confined}) {
				require.ErrorContains(t, err, ":"+port+" is no public address with Postgres' port 5432: if documents may use it, the operator allows it with --allow-network")
				require.Equal(t, "EGRESS_DENIED", codeOf(err), host)
			}
		}
	}
	require.Empty(t, server.visits())

	t.Run("a name", func(t *testing.T) {
		for address, code := range map[string]string{"127.0.0.1": "EGRESS_DENIED", "10.1.2.3": "EGRESS_DENIED", "169.254.169.254": "EGRESS_DENIED"} {
			d, err := newDatabase("host=db.example port=5432"+rest, Access{})
			require.NoError(t, err)
			d.config.ConnConfig.LookupFunc = func(context.Context, string) ([]string, error) { return []string{address}, nil }
			_, err = d.connect(t.Context())
			require.Equal(t, code, codeOf((&Source{database: d}).classify("connect", err)))
		}
	})
	t.Run("one of several hosts is away", func(t *testing.T) {
		access := Access{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
		for _, hosts := range []string{"127.0.0.1,10.1.2.3", "10.1.2.3,127.0.0.1"} {
			for _, err := range both(t, "host="+hosts+" port=1"+rest, access) {
				require.Empty(t, codeOf(err), "it may come back")
				require.ErrorContains(t, err, "connection refused: check that Postgres runs there")
			}
		}
	})
	t.Run("allowed", func(t *testing.T) {
		both(t, "host=127.0.0.1 port="+port+rest, Access{Networks: anywhere.Networks, Confined: true})
		require.Len(t, server.visits(), 2)
	})
	t.Run("the environment's", func(t *testing.T) {
		t.Setenv("PGHOST", "127.0.0.1")
		t.Setenv("PGPORT", port)
		both(t, strings.TrimSpace(rest), Access{})
		require.Len(t, server.visits(), 2)
		for _, err := range both(t, "port="+port+rest, Access{}) {
			require.Equal(t, "EGRESS_DENIED", codeOf(err), "the port is the document's")
		}
		require.Empty(t, server.visits())
	})
}

func TestSocketsAreFilesOfThisMachine(t *testing.T) {
	bare(t)
	folder := t.TempDir()
	server := newCurious(t, "unix", filepath.Join(folder, ".s.PGSQL.5432"))
	dsn := "host=" + folder + " user=u password=p dbname=d"
	for _, confined := range []bool{false, true} {
		_, err := newDatabase(dsn, Access{Confined: confined, Networks: anywhere.Networks})
		require.ErrorContains(t, err, "dsn: a host is the folder of a socket of this machine: documents may use those in folders that the operator allows with --allow-path")
		both(t, dsn, Access{Confined: confined, Folders: []string{folder}})
		require.Len(t, server.visits(), 2)
	}
	t.Setenv("PGHOST", folder)
	both(t, "user=u password=p dbname=d", Access{})
	require.Len(t, server.visits(), 2, "the operator's own")
}

// codeOf returns the code of a fault that no retry cures.
func codeOf(err error) string {
	switch fault := err.(type) { //nolint:errorlint // plugins return them as they are
	case *plugin.SourceError:
		return fault.Code
	case *plugin.TargetError:
		return fault.Code
	}
	return ""
}

func TestPasswordsDoNotGoReadablyToPublicAddresses(t *testing.T) {
	for dsn, held := range map[string]bool{
		"postgres://u:p@8.8.8.8/d":                                    true,
		"postgres://u:p@8.8.8.8/d?sslmode=disable":                    true,
		"postgres://u:p@8.8.8.8/d?sslmode=allow":                      true,
		"postgres://u:p@8.8.8.8/d?sslmode=prefer":                     true,
		"postgres://u:p@8.8.8.8/d?sslmode=require":                    false,
		"host=8.8.8.8 user=u password=p dbname=d sslmode=verify-full": false,
		"postgres://u@8.8.8.8/d?sslmode=disable":                      false,
	} {
		d, err := newDatabase(dsn, Access{Confined: true})
		require.NoError(t, err)
		require.Equal(t, held, clear(&d.config.ConnConfig.Config, egress.Cargo{}) != "", dsn)
		encrypted := strings.Contains(dsn, "=require") || strings.Contains(dsn, "=verify-full")
		cargo := egress.Cargo{Secrets: []string{"CRM"}}
		require.NotEqual(t, encrypted, clear(&d.config.ConnConfig.Config, cargo) != "", dsn)
		if held {
			for _, err := range both(t, dsn, Access{Confined: true}) {
				require.ErrorContains(t, err, "8.8.8.8:5432: a secret would go in clear text to a public address: "+
					"write sslmode=verify-full into the dsn, or at least sslmode=require")
			}
		}
	}
	held := egress.Cargo{Secrets: []string{"CRM"}, Held: errors.New("not yet")}
	for _, err := range both(t, "postgres://u:p@127.0.0.1:1/d", Access{Networks: anywhere.Networks, Cargo: held}) {
		require.ErrorContains(t, err, "SECRET_HELD")
	}
}

func TestPlacesOfDSNs(t *testing.T) {
	for dsn, want := range map[string][]string{
		"postgres://u:p@DB.example/d":                 {"db.example:5432"},
		"postgres://a,b:2/d?port=7":                   {"a:7", "b:7"},
		"host=/run/pg user=u":                         {"/run/pg"},
		"postgres://[::1]:6/d":                        {"[::1]:6"},
		"postgres://u@db.example/d?host=evil.example": {"evil.example:5432"},
		"user=u dbname=d":                             nil,
		"whsec_c2VjcmV0PQ==":                          nil,
	} {
		places, _ := Places(dsn)
		require.Equal(t, want, places, dsn)
		if want == nil || strings.Contains(dsn, "/run") {
			continue
		}
		config, err := pgconn.ParseConfig(dsn)
		require.NoError(t, err)
		has := net.JoinHostPort(strings.ToLower(config.Host), strconv.Itoa(int(config.Port)))
		require.Equal(t, want[0], has, "as the driver has it: %s", dsn)
	}
}
