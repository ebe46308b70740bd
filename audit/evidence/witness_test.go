package evidence_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/audit/evidence/witness"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
)

// fate is what becomes of the requests to a witness.
type fate int

const (
	delivered fate = iota
	lostRequest
	lostReply
)

// observer is a witness of this test, which can be killed.
type observer struct {
	t      *testing.T
	folder string
	key    keys.Key
	logs   []trust.Log
	at     *witness.Witness
	server *httptest.Server
	fate   fate
	asked  int // requests
}

// newObserver returns a witness of the logs of places.
func newObserver(t *testing.T, name string, places ...*place) *observer {
	t.Helper()
	o := &observer{t: t, folder: t.TempDir()}
	var err error
	o.key, err = keys.Generate(t.TempDir(), keys.Witness, name)
	require.NoError(t, err)
	for _, p := range places {
		policy, err := trust.Parse(p.policy())
		require.NoError(t, err)
		o.logs = append(o.logs, policy.Logs...)
	}
	o.open()
	o.server = httptest.NewServer(o)
	t.Cleanup(func() {
		o.server.Close()
		require.NoError(t, o.at.Close())
	})
	return o
}

func (o *observer) open() {
	var err error
	o.at, err = witness.Open(o.folder, o.key, o.logs, slog.New(slog.DiscardHandler))
	require.NoError(o.t, err)
}

// restart kills the witness: what it knows then is what is in its folder.
func (o *observer) restart() {
	require.NoError(o.t, o.at.Close())
	o.open()
}

// ServeHTTP answers, unless the fate is another one.
func (o *observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.asked++
	answer := httptest.NewRecorder()
	if o.fate != lostRequest {
		o.at.ServeHTTP(answer, r)
	}
	if o.fate != delivered {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// anchor is the witness as an anchor.
func (o *observer) anchor() string { return o.server.URL + "?key=" + o.key.VKey }

// size returns how many entries the head of a log has that is in the folder of the witness; 0 if there is none.
func (o *observer) size(origin string) (size int64) {
	o.t.Helper()
	names, err := filepath.Glob(filepath.Join(o.folder, "*.checkpoint"))
	require.NoError(o.t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(o.t, err)
		if lines := strings.Split(string(text), "\n"); lines[0] == origin {
			_, err = fmt.Sscan(lines[1], &size)
			require.NoError(o.t, err)
		}
	}
	return size
}

// newNamed returns a place in a folder of its own, whose log has a name.
func newNamed(t *testing.T, name string) *place {
	t.Helper()
	folder := t.TempDir()
	p := &place{t: t, path: filepath.Join(folder, "landscape.db"), keys: filepath.Join(folder, "keys"), anchor: filepath.Join(folder, "anchor"), now: time.Now()}
	require.NoError(t, os.Mkdir(p.anchor, 0o700))
	_, err := keys.Generate(p.keys, keys.Log, name)
	require.NoError(t, err)
	return p
}

// policy is the one that trusts the log of a place, and requires these witnesses.
func (p *place) policy(witnesses ...*observer) string {
	p.t.Helper()
	key, err := keys.Load(p.keys, keys.Log)
	require.NoError(p.t, err)
	var trusted []trust.Witness
	for _, o := range witnesses {
		trusted = append(trusted, evidence.Witness(o.anchor()).Trust())
	}
	text, err := trust.Text([]string{key.VKey}, trusted...)
	require.NoError(p.t, err)
	return text
}

// step begins and stops a run, and lets the notary pass, before which something happens; the error is that of the notary.
func (p *place) step(id string, before ...func()) (err error) {
	p.t.Helper()
	require.NoError(p.t, p.open(func(e *evidence.Evidence) {
		p.begin(e, id)
		require.NoError(p.t, e.Log.StopRun(p.t.Context(), id, pipeline.Failed, "no reason"))
		for _, happens := range before {
			happens()
		}
		err = e.Notary.Pass(p.t.Context())
	}))
	return err
}

// read does something with the log of a place.
func (p *place) read(do func(context.Context, *landscape.Reader)) {
	p.t.Helper()
	store, err := sqlitestore.Open(p.t.Context(), p.path, sqlitestore.Options{})
	require.NoError(p.t, err)
	defer store.Close()
	do(p.t.Context(), landscape.NewReader(store))
}

// proven verifies the proofs of a run by a policy.
func (p *place) proven(run, policy string) (proven *evidence.Proven, err error) {
	p.t.Helper()
	parsed, wrong := trust.Parse(policy)
	require.NoError(p.t, wrong)
	p.read(func(ctx context.Context, log *landscape.Reader) {
		proofs, _, wrong := evidence.ProofsOf(ctx, log, run, evidence.Beside{})
		require.NoError(p.t, wrong)
		proven, err = evidence.VerifyProofs(parsed, proofs)
	})
	return proven, err
}

// TestTwoLandscapesWitnessEachOther: each has a witness of the other's, requests and answers are lost, and witnesses are killed. What a witness knows never
// shrinks, and in the end every head that it cosigned has its cosignature.
func TestTwoLandscapesWitnessEachOther(t *testing.T) {
	one, two := newNamed(t, "one.example/log"), newNamed(t, "two.example/log")
	of := map[*place]*observer{one: newObserver(t, "two.example/witness", one), two: newObserver(t, "one.example/witness", two)}
	one.bucket, two.bucket = of[one].anchor(), of[two].anchor()
	knows := map[*place]int64{}
	for i := range 24 {
		p := []*place{one, two}[i%2]
		o := of[p]
		err := p.step(fmt.Sprintf("r%d", i), func() { o.fate = fate(i / 2 % 3) })
		if o.fate == delivered {
			require.NoError(t, err)
		} else {
			require.ErrorAs(t, err, new(*evidence.UnreachableError), "no run waits for a witness")
		}
		if i/2%4 == 1 {
			o.restart()
		}
		size := o.size([]string{"one.example/log", "two.example/log"}[i%2])
		require.Equal(t, o.fate == lostRequest, size == knows[p], "step %d", i)
		require.GreaterOrEqual(t, size, knows[p])
		knows[p] = size
		o.fate = delivered
	}
	for _, p := range []*place{one, two} {
		require.NoError(t, p.step("last"))
		report := p.check()
		require.Empty(t, report.Problems)
		require.Equal(t, evidence.Anchor{Anchor: of[p].server.URL, Entries: report.Entries}, report.Anchors[1])
		proven, err := p.proven("last", p.policy(of[p]))
		require.NoError(t, err)
		require.Len(t, proven.Cosigned, 1)
		require.Equal(t, of[p].key.Name(), proven.Cosigned[0].Witness)
		require.WithinDuration(t, time.Now(), proven.Cosigned[0].At, time.Hour)
	}
}

// TestNothingNewIsNotAskedAgain: a witness hears of new heads only.
func TestNothingNewIsNotAskedAgain(t *testing.T) {
	p := newNamed(t, "p.example/log")
	o := newObserver(t, "o.example/witness", p)
	p.bucket = o.anchor()
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		p.begin(e, "r1")
		require.NoError(t, e.Notary.Pass(t.Context()))
		before := o.asked
		require.NoError(t, e.Notary.Pass(t.Context()))
		require.Equal(t, before, o.asked)
	}))
}

// copyOf is what somebody kept of a place, to put it back.
func (p *place) copyOf(t *testing.T) *place {
	t.Helper()
	kept := *p
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Dir(p.path))))
	kept.path, kept.keys, kept.anchor = filepath.Join(folder, "landscape.db"), filepath.Join(folder, "keys"), filepath.Join(folder, "anchor")
	for _, kind := range []keys.Kind{keys.Log, keys.Sealer} {
		require.NoError(t, os.Chmod(filepath.Join(kept.keys, string(kind)+".key"), 0o600))
	}
	return &kept
}

// TestWitnessRemembers: everything that there was on a machine yesterday is put back: record, anchor, and what the notary knows.
func TestWitnessRemembers(t *testing.T) {
	p := newNamed(t, "p.example/log")
	o := newObserver(t, "o.example/witness", p)
	p.bucket = o.anchor()
	require.NoError(t, p.step("r1"))
	yesterday := p.copyOf(t)
	require.NoError(t, p.step("r2"))
	back := new(evidence.RolledBackError)
	require.ErrorAs(t, yesterday.open(func(*evidence.Evidence) {}), &back)
	require.Equal(t, evidence.RolledBackError{Here: 4, There: 6, Place: o.server.URL}, *back)
	require.Contains(t, back.Error(), "waymark log restore --from FOLDER --why TEXT")
	require.Contains(t, problems(yesterday), o.server.URL+": cosigned a head of 6 entries, and the last signed head here has 4")
	require.EqualValues(t, 6, o.size("p.example/log"), "who looks changes nothing")

	require.ErrorContains(t, yesterday.restoreFrom(o.anchor()), "restore it from an anchor that is a folder")
	require.NoError(t, yesterday.restoreFrom(p.anchor))
	require.NoError(t, yesterday.step("r3"), "the log continues the one that the witness knows")
	require.Empty(t, problems(yesterday))
}

// restoreFrom restores the log from an anchor.
func (p *place) restoreFrom(anchor string) error {
	store, err := sqlitestore.Open(p.t.Context(), p.path, sqlitestore.Options{})
	require.NoError(p.t, err)
	defer store.Close()
	_, err = evidence.Restore(p.t.Context(), landscape.New(store, time.Now), p.options(), anchor, "the disk failed")
	return err
}

// TestWitnessRefusesAFork: a copy of the landscape, with its keys, records other runs at the same time.
func TestWitnessRefusesAFork(t *testing.T) {
	for name, more := range map[string][]string{"of the same size": {"s2"}, "that is longer": {"s2", "s3"}} {
		t.Run(name, func(t *testing.T) {
			p := newNamed(t, "p.example/log")
			o := newObserver(t, "o.example/witness", p)
			p.bucket = o.anchor()
			p.runs("r1")
			fork := p.copyOf(t)
			forked := new(evidence.ForkedError)
			require.NoError(t, fork.open(func(e *evidence.Evidence) {
				p.runs("r2")
				fork.begin(e, more...)
				require.ErrorAs(t, e.Notary.Pass(t.Context()), &forked)
				require.Equal(t, o.server.URL, forked.Place)
			}))
			require.EqualValues(t, 4, o.size("p.example/log"))
			require.Contains(t, problems(fork), o.server.URL)
			require.Empty(t, problems(p))
			if len(more) == 1 {
				require.ErrorAs(t, fork.open(func(*evidence.Evidence) {}), &forked, "nothing is written then")
				require.Contains(t, problems(fork), o.server.URL+": cosigned another head")
			}
			_, err := fork.proven("s2", fork.policy(o))
			require.ErrorContains(t, err, "the witness o.example/witness did not cosign the head")
			_, err = p.proven("r2", p.policy(o))
			require.NoError(t, err)
		})
	}
}

// TestWitnessAway: runs go on, the backlog shows what waits, and proofs are under the last head that was cosigned.
func TestWitnessAway(t *testing.T) {
	p := newNamed(t, "p.example/log")
	o := newObserver(t, "o.example/witness", p)
	p.bucket = o.anchor()
	require.NoError(t, p.step("r1"))
	o.fate = lostRequest
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.Len(t, e.Away, 1)
		p.begin(e, "r2")
		require.NoError(t, e.Notary.Pass(t.Context()), "it is not asked again soon")
	}))
	p.read(func(ctx context.Context, log *landscape.Reader) {
		backlog, err := evidence.BacklogOf(ctx, log, p.anchors())
		require.NoError(t, err)
		require.Equal(t, []evidence.Anchor{{Anchor: p.anchor, Entries: 5}, {Anchor: o.server.URL, Entries: 4}}, backlog.Anchors)
		require.False(t, backlog.Oldest.IsZero())
	})
	require.Contains(t, problems(p), o.server.URL+": was not compared: ")
	proven, err := p.proven("r1", p.policy(o))
	require.NoError(t, err)
	require.EqualValues(t, 4, proven.Size, "the newest head is not cosigned")
	_, err = p.proven("r2", p.policy(o))
	require.ErrorContains(t, err, "the witness o.example/witness did not cosign the head")
	o.fate = delivered
	require.NoError(t, p.open(func(e *evidence.Evidence) { require.NoError(t, e.Notary.Pass(t.Context())) }))
	_, err = p.proven("r2", p.policy(o))
	require.NoError(t, err)
}

// TestAnswersThatAreNone: what a witness should not answer is as if it did not, and never a cosignature.
func TestAnswersThatAreNone(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"nothing":                  {func(http.ResponseWriter, *http.Request) {}, "no cosignature of the key o.example/witness+"},
		"another's cosignature":    {nil, "no cosignature of the key o.example/witness+"},
		"garbage":                  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\u2014 o.example/witness AAAA\n") }, "no cosignature of the key"},
		"a redirection":            {http.RedirectHandler("/elsewhere", http.StatusFound).ServeHTTP, "it answered 302"},
		"it does not know the log": {http.NotFound, "its operator needs the line `log` that waymark keys policy prints"},
		"a conflict without size":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "5", http.StatusConflict) }, "it answered 409"},
		"a conflict with no size":  {sized("05"), "it answered 409"},
		"another size each time":   {sized("0"), "it names another size each time"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newNamed(t, "p.example/log")
			if test.answer == nil {
				test.answer = newObserver(t, "other.example/witness", p).ServeHTTP
			}
			server := httptest.NewServer(test.answer)
			defer server.Close()
			key, err := keys.Generate(t.TempDir(), keys.Witness, "o.example/witness")
			require.NoError(t, err)
			p.bucket = server.URL + "?key=" + key.VKey
			err = p.step("r1")
			require.ErrorAs(t, err, new(*evidence.UnreachableError))
			require.ErrorContains(t, err, test.want)
			require.EqualValues(t, 4, p.check().Signed)
		})
	}
}

// sized answers that the witness has a head of another size.
func sized(size string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/x.tlog.size")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintln(w, size)
	}
}

// TestChangedCosignatures: the owner of the database changes what is kept.
func TestChangedCosignatures(t *testing.T) {
	p := newNamed(t, "p.example/log")
	o := newObserver(t, "o.example/witness", p)
	p.bucket = o.anchor()
	require.NoError(t, p.step("r1"))
	require.NoError(t, p.step("r2"))
	require.Empty(t, problems(p))
	var good string
	p.sqlDo(func(db *sql.DB) error {
		return db.QueryRow(`select receipt from log_anchors where receipt <> '' and size = 4`).Scan(&good)
	})
	for name, receipt := range map[string]string{"of another head": good, "none": "", "twice": good + good, "garbage": "x\n"} {
		t.Run(name, func(t *testing.T) {
			p := p.copyOf(t)
			p.attack(fmt.Sprintf(`update log_anchors set receipt = '%s' where receipt <> '' and size = 6`, receipt))
			require.Contains(t, problems(p),
				"log_anchors: the cosignature of "+o.server.URL+" under the head of 6 entries does not verify")
		})
	}
	p.attack(`insert into log_anchors (anchor, size, at_us, receipt) select 'https://another.name', size, at_us, receipt from log_anchors where receipt <> ''`,
		`insert into log_anchors (anchor, size, at_us, receipt) values ('tsa:https://a/b', 6, 1, 'MAAA')`)
	_, err := p.proven("r2", p.policy(o))
	require.NoError(t, err, "a head gets the cosignature of a witness once, and nothing else")
	p.attack(fmt.Sprintf(`update log_anchors set receipt = '%s' where receipt <> '' and size = 6`, good))
	_, err = p.proven("r2", p.policy(o))
	require.ErrorContains(t, err, "invalid signature")
}

// sqlDo does something with the database.
func (p *place) sqlDo(do func(*sql.DB) error) {
	p.t.Helper()
	db, err := sql.Open("sqlite", p.path)
	require.NoError(p.t, err)
	defer db.Close()
	require.NoError(p.t, do(db))
}

// TestAnchorsThatAreNoWitness: what is wrong with a URL is said before anything is asked.
func TestAnchorsThatAreNoWitness(t *testing.T) {
	key, err := keys.Generate(t.TempDir(), keys.Witness, "o.example/witness")
	require.NoError(t, err)
	log, err := keys.Generate(t.TempDir(), keys.Log, "p.example/log")
	require.NoError(t, err)
	for anchor, want := range map[string]string{
		"https://o.example":                      "its ?key= says whose cosignatures count",
		"https://o.example?key=" + log.VKey:      "it is not the public key of a witness",
		"http://o.example?key=" + key.VKey:       "write https",
		"https://?key=" + key.VKey:               "is not the URL of a witness",
		"https://o.example?a=b?key=" + key.VKey:  "is not the URL of a witness",
		"https://me@o.example/?key=" + key.VKey:  "is not the URL of a witness",
		"https://o.example/x?key=" + key.VKey:    "",
		"http://localhost:8787/?key=" + key.VKey: "",
		"http://127.0.0.1?key=" + strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(key.VKey): "",
	} {
		err := evidence.CheckAnchor(anchor)
		if want == "" {
			require.NoError(t, err, anchor)
			require.Equal(t, key.VKey, evidence.Witness(anchor).Key())
			require.Equal(t, anchor, evidence.Whole(anchor))
			continue
		}
		require.ErrorContains(t, err, want, anchor)
	}
	require.Equal(t, "http://localhost:8787", evidence.PlaceOf("http://localhost:8787/?key="+key.VKey).String())
}

// TestOtherWitnesses: by the specification one that has another root of the same size answers 409, and need not say the size.
func TestOtherWitnesses(t *testing.T) {
	p := newNamed(t, "p.example/log")
	require.NoError(t, p.step("r1"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "another root", http.StatusConflict) }))
	defer server.Close()
	key, err := keys.Generate(t.TempDir(), keys.Witness, "o.example/witness")
	require.NoError(t, err)
	p.bucket = server.URL + "?key=" + key.VKey
	forked := new(evidence.ForkedError)
	require.ErrorAs(t, p.open(func(*evidence.Evidence) {}), &forked)
	require.Equal(t, evidence.ForkedError{Size: 4, Place: server.URL}, *forked)
}
