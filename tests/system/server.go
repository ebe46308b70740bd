package system

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	schema "go.temporal.io/server/schema/sqlite"

	"waymark/internal/temporal/attributes"
	"waymark/internal/temporal/beat"
	"waymark/internal/temporal/embedded"
)

// server is a Temporal server of this process.
type server struct {
	*embedded.Server
	database string
}

// shared are the servers that the Systems of a test process share, by their settings.
var shared struct {
	mu      sync.Mutex
	folder  string // empty if each System has a server of its own
	servers map[string]server
}

// Sharing passes tests whose Systems share Temporal servers, one for all with the same settings: a start of a server
// takes longer than most runs. Each System has a namespace of its own, which no other one looks into. It returns the
// exit code:
//
//	func TestMain(m *testing.M) { os.Exit(system.Sharing(m.Run)) }
func Sharing(run func() int) int {
	folder, err := os.MkdirTemp("", "waymark-system-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "system:", err)
		return 1
	}
	shared.folder, shared.servers = folder, map[string]server{}
	code := run()
	for _, s := range shared.servers {
		err = errors.Join(err, s.Stop())
	}
	if err = errors.Join(err, os.RemoveAll(folder)); err != nil {
		fmt.Fprintln(os.Stderr, "system:", err)
		return max(code, 1)
	}
	return code
}

// serve returns the Temporal server of a System: its own one, or one that it shares.
func serve(t testing.TB, folder string, settings map[string]any) server {
	t.Helper()
	if shared.folder == "" {
		s, err := begin(filepath.Join(folder, "temporal.db"), settings)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Stop()) })
		return s
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	key := fmt.Sprint(settings)
	s, serves := shared.servers[key]
	if !serves {
		var err error
		s, err = begin(filepath.Join(shared.folder, fmt.Sprint(len(shared.servers), ".db")), settings)
		require.NoError(t, err)
		shared.servers[key] = s
	}
	return s
}

func begin(database string, settings map[string]any) (server, error) {
	s, err := embedded.Start(context.Background(), embedded.Options{DatabasePath: database, Settings: settings})
	return server{s, database}, err
}

// addNamespace makes a namespace with search attributes, of the usual ones if they are nil, and returns its name. It is
// written into the database: a server that is asked to make one would take seconds to know all attributes.
func (s server) addNamespace(t testing.TB, registered map[string]enums.IndexedValueType) (name string) {
	t.Helper()
	if registered == nil {
		registered = attributes.Types()
	}
	name = "test-" + uuid.NewString()[:8]
	namespace, err := schema.NewNamespaceConfig("active", name, false, registered)
	require.NoError(t, err)
	require.NoError(t, schema.CreateNamespaces(&config.SQL{
		PluginName:        sqlite.PluginName,
		DatabaseName:      s.database,
		ConnectAttributes: map[string]string{"mode": "rw", "busy_timeout": "60000"},
	}, namespace))
	return name
}

// dial returns a new client for a namespace of the server, which the caller closes.
func (s server) dial(t testing.TB, o sdk.Options) sdk.Client {
	t.Helper()
	o.HostPort, o.Logger = s.Address(), slog.New(slog.DiscardHandler)
	c, err := sdk.DialContext(context.Background(), beat.Tolerant(o))
	require.NoError(t, err)
	return c
}
