package evidence_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/tests/blank"
)

// place is a state folder: a landscape without guards and views, keys and an anchor.
type place struct {
	t      *testing.T
	path   string // of the landscape
	keys   string
	anchor string
	bucket string // another anchor; "" for none
	now    time.Time
}

func (p *place) anchors() []string {
	if p.bucket == "" {
		return []string{p.anchor}
	}
	return []string{p.anchor, p.bucket}
}

func newPlace(t *testing.T) *place {
	t.Helper()
	t.Chdir(t.TempDir())
	p := &place{t: t, path: "landscape.db", keys: "keys", anchor: "anchor", now: time.Now()}
	require.NoError(t, os.Mkdir(p.anchor, 0o700))
	return p
}

// copied returns a copy of a place.
func (p *place) copied(t *testing.T, from string) *place {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS(from)))
	t.Chdir(folder)
	for _, kind := range []keys.Kind{keys.Log, keys.Sealer} {
		require.NoError(t, os.Chmod(filepath.Join(p.keys, string(kind)+".key"), 0o600))
	}
	other := *p
	other.t = t
	return &other
}

func (p *place) options() evidence.Options {
	return evidence.Options{Keys: p.keys, Make: true, Host: "Worker_A", Anchors: p.anchors()}
}

// open opens the landscape and its log, does something, and closes both.
func (p *place) open(do func(*evidence.Evidence)) error {
	store, err := blank.Tables(p.t.Context(), p.path)
	require.NoError(p.t, err)
	defer func() { require.NoError(p.t, store.Close()) }()
	e, err := evidence.Open(p.t.Context(), landscape.New(store, func() time.Time { return p.now }), p.options())
	if err == nil {
		do(e)
	}
	return err
}

// runs begins runs with these ids, and has the log signed and anchored.
func (p *place) runs(ids ...string) {
	p.t.Helper()
	require.NoError(p.t, p.open(func(e *evidence.Evidence) {
		require.Empty(p.t, e.Unsealed)
		p.begin(e, ids...)
		require.NoError(p.t, e.Notary.Pass(p.t.Context()))
	}))
}

func (p *place) begin(e *evidence.Evidence, ids ...string) {
	p.t.Helper()
	beginRuns(p.t, e.Log, ids...)
}

func beginRuns(t *testing.T, log *landscape.Log, ids ...string) {
	t.Helper()
	for _, id := range ids {
		run, graph := landscapetest.Scene{Run: id, Chunks: 1, ChunkRows: 5}.Graph()
		run.DocumentSHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(run.Document)))
		require.NoError(t, log.BeginRun(t.Context(), run, graph))
	}
}

// TestEntryOfARunThatIsRecorded: a process without a key began the run, and one that has a key does so again. The entry says when it began.
func TestEntryOfARunThatIsRecorded(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	store, err := sqlitestore.Open(t.Context(), p.path, sqlitestore.Options{})
	require.NoError(t, err)
	beginRuns(t, landscape.New(store, func() time.Time { return p.now }), "r2")
	unlogged, err := evidence.Unlogged(t.Context(), landscape.NewReader(store))
	require.NoError(t, err)
	require.EqualValues(t, 1, unlogged)
	require.NoError(t, store.Close())
	require.Contains(t, p.check().Problems[0].What, "has no entry")
	p.now = p.now.Add(time.Hour)
	p.runs("r2")
	require.Empty(t, p.check().Problems)
}

// check checks the log, whatever Open would say of it.
func (p *place) check() evidence.Report {
	p.t.Helper()
	store, err := sqlitestore.Open(p.t.Context(), p.path, sqlitestore.Options{})
	require.NoError(p.t, err)
	defer func() { require.NoError(p.t, store.Close()) }()
	report, err := evidence.Check(p.t.Context(), landscape.NewReader(store), "", p.anchors())
	require.NoError(p.t, err)
	return report
}

// attack changes the file of the landscape as its owner may: without the triggers, which come back.
func (p *place) attack(statements ...string) {
	p.t.Helper()
	db, err := sql.Open("sqlite", p.path)
	require.NoError(p.t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`create temp table triggers as select * from sqlite_schema where type = 'trigger';
		pragma writable_schema = 1; delete from sqlite_schema where type = 'trigger'; pragma writable_schema = reset;
		begin; ` + strings.Join(statements, "; ") + `; commit;
		pragma writable_schema = 1; insert into sqlite_schema select * from triggers`)
	require.NoError(p.t, err)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o600))
}

func TestLog(t *testing.T) {
	p := newPlace(t)
	p.runs("r1", "r2")
	p.runs("r3")
	report := p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 2+3, report.Entries, "genesis, key, and one for each run")
	require.EqualValues(t, 3, report.Runs)
	require.Equal(t, report.Entries, report.Signed)
	require.Equal(t, []evidence.Anchor{{Anchor: p.anchor, Entries: 5}}, report.Anchors)

	require.NoError(t, p.open(func(e *evidence.Evidence) {
		before, err := e.Log.LogSize(t.Context())
		require.NoError(t, err)
		p.begin(e, "r3") // a repeat
		b, err := evidence.BacklogOf(t.Context(), e.Log.Reader, []string{p.anchor})
		require.NoError(t, err)
		require.Equal(t, evidence.Backlog{Entries: before, Signed: before, Anchors: []evidence.Anchor{{Anchor: p.anchor, Entries: before}}}, b)
		p.begin(e, "r4")
		b, err = evidence.BacklogOf(t.Context(), e.Log.Reader, []string{p.anchor})
		require.NoError(t, err)
		require.Equal(t, before+1, b.Entries)
		require.WithinDuration(t, p.now, b.Oldest, time.Microsecond)
	}))
}

// TestEntriesAreNotes reads entries, heads, hashes and tiles with the libraries of others alone.
func TestEntriesAreNotes(t *testing.T) {
	p := newPlace(t)
	ids := make([]string, 300) // more than a tile
	for i := range ids {
		ids[i] = fmt.Sprintf("r%03d", i)
	}
	p.runs(ids[:100]...)
	p.runs(ids[100:]...)
	sealer, err := keys.Load(p.keys, keys.Sealer)
	require.NoError(t, err)
	key, err := keys.Load(p.keys, keys.Log)
	require.NoError(t, err)
	entries := map[int64]landscape.LogEntry{}
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		all, err := e.Log.LogEntries(t.Context(), 0, 1000)
		require.NoError(t, err)
		require.Len(t, all, 302)
		for _, e := range all {
			entries[e.Position] = e
		}
	}))
	verifiers := note.VerifierList(verifierOf(t, sealer.VKey), verifierOf(t, key.VKey))
	for _, e := range entries {
		require.Less(t, len(e.Entry), 600)
		n, err := note.Open([]byte(e.Entry), verifiers)
		require.NoError(t, err)
		require.Len(t, n.Sigs, 1)
		require.Equal(t, 1, strings.Count(n.Text, "\n"))
	}

	checkpoint, err := os.ReadFile(filepath.Join(p.anchor, "checkpoint"))
	require.NoError(t, err)
	n, err := note.Open(checkpoint, note.VerifierList(verifierOf(t, key.VKey)))
	require.NoError(t, err)
	tree, err := tlog.ParseTree([]byte(strings.Replace(n.Text, key.Name(), "go.sum database tree", 1)))
	require.NoError(t, err)
	require.EqualValues(t, 302, tree.N)
	hashes := tlog.TileHashReader(tree, tiles{p.anchor})
	for _, position := range []int64{0, 1, 255, 256, 301} {
		proof, err := tlog.ProveRecord(tree.N, position, hashes)
		require.NoError(t, err)
		require.NoError(t, tlog.CheckRecord(proof, tree.N, tree.Hash, position, tlog.RecordHash([]byte(entries[position].Entry))))
	}
	old, err := tlog.TreeHash(102, hashes)
	require.NoError(t, err)
	proof, err := tlog.ProveTree(tree.N, 102, hashes)
	require.NoError(t, err)
	require.NoError(t, tlog.CheckTree(proof, tree.N, tree.Hash, 102, old))
	require.NoDirExists(t, filepath.Join(p.anchor, "tile/0/000.p"), "the tile is full")
	require.FileExists(t, filepath.Join(p.anchor, "tile/entries/000"))
}

func oneKey(t *testing.T, vkey string) evidence.LogKeys {
	t.Helper()
	known, err := evidence.OneKey(vkey)
	require.NoError(t, err)
	return known
}

func verifierOf(t *testing.T, vkey string) note.Verifier {
	t.Helper()
	verifier, err := note.NewVerifier(vkey)
	require.NoError(t, err)
	return verifier
}

// tiles reads tiles as C2SP's tlog-tiles names them.
type tiles struct{ folder string }

func (tiles) Height() int { return 8 }

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (r tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range wanted {
		data, err := os.ReadFile(filepath.Join(r.folder, strings.Replace(tile.Path(), "tile/8/", "tile/", 1)))
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

// TestRestoredBackup is attack 35, and its ceremony.
func TestRestoredBackup(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	copyFile(t, p.path, p.path+".backup")
	p.runs("r2", "r3")
	copyFile(t, p.path+".backup", p.path)

	var back *evidence.RolledBackError
	require.ErrorAs(t, p.open(func(*evidence.Evidence) { t.Fatal("it may be written") }), &back)
	require.Equal(t, evidence.RolledBackError{Here: 3, There: 5, Place: p.anchor}, *back)
	require.ErrorContains(t, back, "LOG_ROLLED_BACK")
	require.Contains(t, p.check().Problems, evidence.Problem{Where: p.anchor, What: "a head of 5 entries was signed, and 3 are there"})

	restored := p.restore("the disk failed")
	require.Equal(t, evidence.Restoration{Found: 3, Anchored: 5, Lost: []string{"r2", "r3"}}, restored)
	p.runs("r4")
	report := p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 2, report.Lost)
	require.EqualValues(t, 2, report.Runs)
}

func (p *place) restore(why string) (done evidence.Restoration) {
	p.t.Helper()
	store, err := sqlitestore.Open(p.t.Context(), p.path, sqlitestore.Options{})
	require.NoError(p.t, err)
	defer func() { require.NoError(p.t, store.Close()) }()
	done, err = evidence.Restore(p.t.Context(), landscape.New(store, nil), p.options(), p.anchor, why)
	require.NoError(p.t, err)
	return done
}

// TestFork is attack 36: a copy of the landscape gets other runs than the first one.
func TestFork(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	copyFile(t, p.path, p.path+".copy")
	p.runs("r2")
	first := p.path
	p.path += ".copy"
	anchor, state := p.anchor, filepath.Join(p.keys, "notary.state")
	signed, err := os.ReadFile(state)
	require.NoError(t, err)

	t.Run("which is shorter", func(t *testing.T) {
		require.ErrorAs(t, p.open(func(*evidence.Evidence) {}), new(*evidence.RolledBackError))
	})
	t.Run("and is of the same size", func(t *testing.T) {
		p.anchor = t.TempDir() // of its own
		require.NoError(t, os.Remove(state))
		require.NoError(t, p.open(func(e *evidence.Evidence) { p.begin(e, "r9") }))
		require.NoError(t, os.WriteFile(state, signed, 0o600))
		require.NoError(t, p.open(func(e *evidence.Evidence) {
			var forked *evidence.ForkedError
			require.ErrorAs(t, e.Notary.Pass(t.Context()), &forked)
			require.EqualValues(t, 4, forked.Size)
			heads, err := landscape.Page[landscape.SignedHead](t.Context(), e.Log, landscape.Query{Descending: true})
			require.NoError(t, err)
			require.EqualValues(t, 3, heads[0].Size, "nothing was signed")
		}))
		now, err := os.ReadFile(state)
		require.NoError(t, err)
		require.Equal(t, signed, now)
	})
	p.path, p.anchor = first, anchor
	require.Empty(t, p.check().Problems)
}

// TestNotarySignsNoSmallerSize holds that a record that is put back while its notary works is not signed.
func TestNotarySignsNoSmallerSize(t *testing.T) {
	p := newPlace(t)
	p.runs("r1", "r2")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		p.attack(`delete from log where position = 3`, `update log_head set size = 3`, `delete from log_heads`,
			`delete from log_hashes`, `delete from log_anchors`)
		var back *evidence.RolledBackError
		require.ErrorAs(t, e.Notary.Pass(t.Context()), &back)
		require.Equal(t, evidence.RolledBackError{Here: 3, There: 4, Place: filepath.Join(p.keys, "notary.state")}, *back)
		heads, err := landscape.Page[landscape.SignedHead](t.Context(), e.Log, landscape.Query{})
		require.NoError(t, err)
		require.Empty(t, heads)
	}))
}

// TestNotaryRefuses holds that an entry that does not count is followed by one that says so, and that the log goes on.
func TestNotaryRefuses(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		leaf := tlog.RecordHash([]byte("x"))
		require.NoError(t, e.Log.AppendToLog(t.Context(), landscape.LogEntry{About: "began/r7", Entry: "x", Leaf: leaf[:]}))
		p.begin(e, "r2")
		require.NoError(t, e.Notary.Pass(t.Context()))
	}))
	report := p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 1, report.Refused)
	require.EqualValues(t, 6, report.Signed)
}

// TestOlderRuns holds that runs of before the log are counted, and that none comes or goes.
func TestOlderRuns(t *testing.T) {
	p := newPlace(t)
	store, err := blank.Tables(t.Context(), p.path)
	require.NoError(t, err)
	for _, id := range []string{"a", "b"} {
		require.NoError(t, landscapetest.Scene{Run: id}.Begin(t.Context(), landscape.New(store, nil)))
	}
	require.NoError(t, store.Close())
	p.runs("r1")
	report := p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 2, report.Older)
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		unlogged, err := evidence.Unlogged(t.Context(), e.Log.Reader)
		require.NoError(t, err)
		require.Zero(t, unlogged, "they are older than the log")
	}))
	p.attack(forgedRun("c"))
	require.Equal(t, []evidence.Problem{{Where: "runs", What: "3 have no entry in the log, and the 2 that are older than it are not all of them: " +
		"some were recorded by a process without a key, made up or removed"}}, p.check().Problems)
}

// TestNotaryIsKilled kills the notary after each step: what comes after it signs the same, and no size gets two roots.
func TestNotaryIsKilled(t *testing.T) {
	whole := newPlace(t)
	whole.runs("r1")
	whole.runs("r2")
	folder, err := os.Getwd()
	require.NoError(t, err)
	for name, undo := range map[string]func(*place){
		"after the state": func(p *place) {
			p.attack(`delete from log_anchors`, `delete from log_heads where size > 3`,
				`delete from log_hashes where number > 3`)
			require.NoError(p.t, os.RemoveAll(p.anchor))
			require.NoError(p.t, os.Mkdir(p.anchor, 0o700))
		},
		"after the record": func(p *place) {
			p.attack(`delete from log_anchors`)
			require.NoError(p.t, os.RemoveAll(p.anchor))
			require.NoError(p.t, os.Mkdir(p.anchor, 0o700))
		},
		"in the list of heads": func(p *place) {
			p.attack(`delete from log_anchors where size > 3`)
			path := filepath.Join(p.anchor, "heads.log")
			text, err := os.ReadFile(path)
			require.NoError(p.t, err)
			require.NoError(p.t, os.WriteFile(path, text[:len(text)-7], 0o600))
		},
		"before the checkpoint": func(p *place) {
			p.attack(`delete from log_anchors where size > 3`)
			p.olderCheckpoint()
			require.Empty(p.t, p.check().Problems, "nothing is wrong until the next pass")
		},
		"before the first checkpoint": func(p *place) {
			p.attack(`delete from log_anchors`, `delete from log_heads where size < 4`)
			p.cutHeads(1, 2)
			require.NoError(p.t, os.Remove(filepath.Join(p.anchor, "checkpoint")))
			require.Empty(p.t, p.check().Problems, "nothing is wrong until the next pass")
		},
		"after the anchor": func(p *place) { p.attack(`delete from log_anchors where size > 3`) },
	} {
		t.Run(name, func(t *testing.T) {
			p := whole.copied(t, folder)
			state := filepath.Join(p.keys, "notary.state")
			before, err := os.ReadFile(state)
			require.NoError(t, err)
			undo(p)
			p.runs()
			after, err := os.ReadFile(state)
			require.NoError(t, err)
			require.Equal(t, string(before), string(after))
			checkpoint, err := os.ReadFile(filepath.Join(p.anchor, "checkpoint"))
			require.NoError(t, err)
			require.Equal(t, string(before), string(checkpoint))
			report := p.check()
			require.Empty(t, report.Problems)
			require.EqualValues(t, 4, report.Anchors[0].Entries)
		})
	}
}

func TestTick(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	size := p.check().Entries
	work := func() {
		require.NoError(t, p.open(func(e *evidence.Evidence) {
			ctx, stop := context.WithCancel(t.Context())
			stop()
			e.Notary.Work(ctx, time.Hour, testLogger(t), func() {})
		}))
	}
	work()
	require.Equal(t, size, p.check().Entries)
	p.now = p.now.Add(24 * time.Hour)
	work()
	work()
	require.Equal(t, size+1, p.check().Entries, "one a day")
}

// TestOthersKeys holds that a process whose key the log does not know makes no entries, and is admitted, and revoked.
func TestOthersKeys(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	folder := p.keys
	p.keys = t.TempDir()
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.Contains(t, e.Unsealed, "does not know this sealer's key")
		require.Contains(t, e.Unsealed, "waymark keys admit worker-a/sealer+")
		require.Nil(t, e.Notary)
	}))
	other, err := keys.Load(p.keys, keys.Sealer)
	require.NoError(t, err)
	_, err = keys.Load(p.keys, keys.Log)
	require.ErrorIs(t, err, keys.ErrNone)
	others := p.keys

	p.keys = folder
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		changed, err := e.Notary.Admit(t.Context(), other.VKey, "worker b")
		require.NoError(t, err)
		require.True(t, changed)
		changed, err = e.Notary.Admit(t.Context(), other.VKey, "again")
		require.NoError(t, err)
		require.False(t, changed)
		_, err = e.Notary.Revoke(t.Context(), other.VKey+"x", "no")
		require.ErrorContains(t, err, "is not a public key")
	}))
	p.keys = others
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.Empty(t, e.Unsealed)
		p.begin(e, "r2")
	}))
	p.keys = folder
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		for _, first := range []bool{true, false} {
			changed, err := e.Notary.Revoke(t.Context(), other.VKey, "sold")
			require.NoError(t, err)
			require.Equal(t, first, changed)
		}
	}))
	p.keys = others
	require.NoError(t, p.open(func(e *evidence.Evidence) { require.Contains(t, e.Unsealed, "was revoked, in entry 5") }))
	p.keys = folder
	p.runs()
	require.Empty(t, p.check().Problems)
}

func TestEntryForm(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	var entry string
	require.NoError(t, p.sql().QueryRow(`select entry from log where about = 'began/r1'`).Scan(&entry))
	require.Regexp(t, `^\{"at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z","by_sha256":"[0-9a-f]{64}","document":"[0-9a-f]{64}","n":"[A-Za-z0-9_-]{22}","pipeline":"[a-z-]+","run":"r1","type":"began","v":1\}\n\n— worker-a/sealer [A-Za-z0-9+/=]+\n$`, entry)
	_, err := base64.StdEncoding.DecodeString(strings.Fields(entry)[len(strings.Fields(entry))-1])
	require.NoError(t, err)
}
