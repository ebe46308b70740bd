package local

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/client"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
)

// TestDoctor: a Home is healthy, a cluster that is not there is not, and nothing is made by looking.
func TestDoctor(t *testing.T) {
	home, err := Open(t.Context(), Options{State: Folder(t.TempDir())})
	require.NoError(t, err)
	var names []string
	for _, check := range home.Doctor(t.Context()) {
		require.NotEqual(t, client.Unhealthy, check.State, check.Name+": "+check.Detail)
		names = append(names, check.Name)
	}
	require.NoError(t, home.Close())
	require.Equal(t, []string{"program", "state folder", "disk space", "sqlite", "locks", "record", "size", "database", "log", "clock", "temporal"}, names)

	o := Options{State: Folder(t.TempDir() + "/nowhere"), Cluster: &client.Cluster{Address: "127.0.0.1:1"}}
	found := map[string]client.Check{}
	for _, check := range o.Doctor(t.Context()) {
		found[check.Name] = check
	}
	require.Equal(t, client.Unhealthy, found["temporal"].State)
	require.NotEmpty(t, found["temporal"].Advice)
	require.Equal(t, client.CureOther, found["workers"].Cure)
	require.Equal(t, client.NameLandscape, found["record"].Cure)
	require.NoDirExists(t, string(o.State))
}

// TestDoctorWaitsForNobody: services that take a connection and say nothing are told after a moment, each by its own checks, and what needs none of them is told as ever.
func TestDoctorWaitsForNobody(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	address := silent.Addr().String()
	o := Options{State: Folder(t.TempDir()), Landscape: "postgres://waymark@" + address + "/waymark", Cluster: &client.Cluster{Address: address}}.filled()
	began := time.Now()
	found := map[string]client.Check{}
	const short = 4 * time.Second // a busy machine answers within that
	for _, check := range (doctor{Options: &o, patience: short}).look(t.Context()) {
		found[check.Name] = check
	}
	require.Less(t, time.Since(began), 8*short, "none waits for another")
	for name, cure := range map[string]client.Cure{"temporal": client.NameCluster, "record": client.NameLandscape} {
		silent := client.Check{Name: name, State: client.Unhealthy, Cure: cure, Detail: "no answer within 4s"}
		require.Equal(t, silent, found[name])
	}
	for _, name := range []string{"workers", "queues", "files", "search attributes", "size", "clock"} {
		require.Equal(t, client.Doubtful, found[name].State, name)
		require.Equal(t, client.CureOther, found[name].Cure, name)
	}
	for _, name := range []string{"program", "disk space", "codec keys"} {
		require.Equal(t, client.Healthy, found[name].State, name)
	}
}

// TestLateFilesAreNotElsewhere: a file of this machine that is not read in time is where it was looked for.
func TestLateFilesAreNotElsewhere(t *testing.T) {
	for of, o := range map[string]Options{"sqlite": {}, "postgres": {Landscape: "postgres://h/d"}} {
		o.State = Folder(t.TempDir())
		o = o.filled()
		for _, look := range (doctor{Options: &o}).looks() {
			if look.name == "record" {
				require.Equal(t, of == "sqlite", look.late.Cure == client.LookAgain, of)
			}
			if look.name == "locks" || look.name == "state folder" {
				require.Equal(t, client.LookAgain, look.late.Cure)
			}
		}
	}
}

// TestCureOfAnUnreadableRecord: a record that this process may not open is not elsewhere.
func TestCureOfAnUnreadableRecord(t *testing.T) {
	denied := fmt.Errorf("landscape: %w", &fs.PathError{Op: "open", Path: "landscape.db", Err: syscall.EACCES})
	require.Equal(t, client.MakeWritable, cureOfRecord(denied))
	require.Equal(t, client.FindLandscape, cureOfRecord(errors.New("no record")))
}

// TestDoctorOfALargeLog: SQLite's write-ahead log is told, and deserves a look if nobody can empty it.
func TestDoctorOfALargeLog(t *testing.T) {
	folder := t.TempDir()
	o := Options{State: Folder(folder)}.filled()
	d := doctor{Options: &o}
	require.Equal(t, client.Good("none yet; the first run makes it"), d.size(t.Context()))
	file := filepath.Join(folder, "landscape.db")
	require.NoError(t, os.WriteFile(file, make([]byte, 2000), 0o600))
	require.Equal(t, client.Good("2,000 bytes, write-ahead log 0 bytes"), d.size(t.Context()))
	require.NoError(t, os.WriteFile(file+"-wal", nil, 0o600))
	require.NoError(t, os.Truncate(file+"-wal", largeLog+1))
	require.Equal(t, client.EndHolder, d.size(t.Context()).Cure)
}

// TestDoctorOfAForkedLog: restoring does not cure it, and is not advised.
func TestDoctorOfAForkedLog(t *testing.T) {
	forked := damaged(client.LogForked, &evidence.ForkedError{Size: 3, Place: "a"})
	require.Equal(t, client.CheckLog, logCheck(t.Context(), logState{}, nil, forked).Cure)
	back := damaged(client.LogRolledBack, &evidence.RolledBackError{Here: 3, There: 4, Place: "a"})
	require.Equal(t, client.RestoreLog, logCheck(t.Context(), logState{}, nil, back).Cure)
}

func TestRunsWithoutEntries(t *testing.T) {
	b := logState{Backlog: evidence.Backlog{Entries: 3, Signed: 3}}
	require.Equal(t, client.Healthy, logCheck(t.Context(), b, nil, nil).State)
	b.foreign = 2
	foreign := client.Warning(client.CheckLog, "3 entries, 3 signed; log_heads has 2 heads that the log did not sign: "+
		"a role that may write the landscape inserted that, and it does not count")
	require.Equal(t, foreign, logCheck(t.Context(), b, nil, nil))
	b.foreign = 0
	b.unlogged = 2
	require.Equal(t, client.Warning(client.AdmitSealer, "3 entries, 3 signed; 2 runs have no entry"), logCheck(t.Context(), b, nil, nil))
	b.unsealed = []string{"one"}
	require.Equal(t, client.Warning(client.SealRuns, "3 entries, 3 signed; run one ended and is not sealed"), logCheck(t.Context(), b, nil, nil))
}

// TestDoctorOfABusyServer: a run that begins while it looks at the clock does not make that wrong, and a server has a
// moment to seal a run that ended.
func TestDoctorOfABusyServer(t *testing.T) {
	t.Parallel()
	o := Options{State: Folder(t.TempDir())}.filled()
	store, err := sqlitestore.Open(t.Context(), o.State.File("landscape.db"), sqlitestore.Options{Create: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	log := landscape.New(store, time.Now)
	begun := false
	o.Clock = func() time.Time {
		now := time.Now()
		if !begun {
			begun = true
			require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), log))
		}
		return now
	}
	d := doctor{Options: &o}
	require.Equal(t, client.Healthy, d.clock(t.Context()).State)
	require.True(t, begun)

	heads, err := landscape.Select[landscape.RunHead](t.Context(), store, "r")
	require.NoError(t, err)
	ended := heads[0]
	ended.Status, ended.Finished = pipeline.Failed, landscape.MicrosOf(time.Now())
	require.NoError(t, store.Commit(t.Context(), landscape.Tx{Move: []landscape.Move{{From: heads[0], To: ended}}}))
	require.Equal(t, client.SealRuns, d.log(t.Context()).Cure)
	o.Cluster = &client.Cluster{}
	require.NotEqual(t, client.SealRuns, d.log(t.Context()).Cure)
	o.Clock = func() time.Time { return time.Now().Add(2 * evidence.SealPatience) }
	require.Equal(t, client.SealRuns, d.log(t.Context()).Cure)
}
