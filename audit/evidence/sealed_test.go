package evidence_test

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
	"waymark/plugin"
)

// ends begins and stops runs, and has the log signed and anchored.
func (p *place) ends(ids ...string) {
	p.t.Helper()
	require.NoError(p.t, p.open(func(e *evidence.Evidence) {
		p.begin(e, ids...)
		for _, id := range ids {
			require.NoError(p.t, e.Log.StopRun(p.t.Context(), id, pipeline.Failed, "broken"))
			landscapetest.RequireSealed(p.t, e.Log, id)
		}
		require.NoError(p.t, e.Notary.Pass(p.t.Context()))
	}))
}

func (p *place) problems() string {
	p.t.Helper()
	var found []string
	for _, problem := range p.check().Problems {
		found = append(found, problem.Where+": "+problem.What)
	}
	return strings.Join(found, "\n")
}

// TestEntriesOfSeals compares what the owner of the landscape may do to the seals of runs with their entries.
func TestEntriesOfSeals(t *testing.T) {
	whole := newPlace(t)
	whole.ends("r1", "r2")
	report := whole.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 2, report.Sealed)
	seal := `replace into run_seals select run_id, seq, epoch, zeroblob(32), leaves, late, tables, marks, at_us from run_seals where run_id = 'r2'`
	for name, attack := range map[string]struct{ statement, want string }{
		"the seal is removed":   {`delete from run_seals where run_id = 'r2'`, "run r2: was sealed, says entry 5, and the seal is not recorded: somebody removed or changed it"},
		"its root is changed":   {seal, "run r2: is recorded with another seal 0 than its entry says"},
		"it was late":           {strings.Replace(strings.Replace(seal, "zeroblob(32)", "root", 1), " late,", " 1,", 1), "run r2: is recorded with another seal 0 than its entry says"},
		"it is of another time": {`update run_seals set at_us = at_us + 1 where run_id = 'r2'`, "run r2: is recorded with the seal 0 made at "},
		"its run is running again": {
			`update runs set status = 'running', finished_us = null where run_id = 'r2'`,
			"run r2: is recorded as running in epoch 0, and its entry 5 says that it ended in epoch 0: somebody took its end back",
		},
		"another one is added": {
			`insert into run_seals select run_id, 1, epoch, zeroblob(32), leaves, late, tables, marks, at_us + 1 from run_seals where run_id = 'r2'`,
			"run r2: has a seal 1 without an entry: a process without a key made it, or it was made up",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.ends("r1", "r2")
			p.attack(attack.statement)
			require.Contains(t, p.problems(), attack.want)
			require.NotContains(t, p.problems(), "r1")
			require.Len(t, p.check().Problems, 1)
		})
	}
}

// TestEntriesOfAttestations compares what the owner of the landscape may do to attestations with their entries.
func TestEntriesOfAttestations(t *testing.T) {
	p := newPlace(t)
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.NoError(t, landscapetest.Published(t.Context(), e.Log, "r1"))
		for range 2 {
			_, err := landscapetest.Attest(t.Context(), e.Log, "r1", plugin.Changed)
			require.NoError(t, err)
		}
		require.NoError(t, e.Notary.Pass(t.Context()))
	}))
	report := p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 2, report.Attested)
	const gone = "run r1: was attested (changed), says entry 5, and what was found is not recorded so: somebody removed or changed it"
	p.attack(`update attestations set result = 'equal', findings = '[]' where seq = 1`)
	require.Equal(t, gone, p.problems())
	p.attack(`delete from attestations where seq = 1`)
	require.Equal(t, gone, p.problems())
	p.attack(`insert into attestations select run_id, 1, sink, path, unit, sample, looked_at, looked_at, 0, 0, 0, 0, 'equal', '', '[]', actor, at_us + 1 from attestations where seq = 0`)
	require.Equal(t, gone, p.problems())
	require.Len(t, p.check().Warnings, 1)
	require.Contains(t, p.check().Warnings[0].What, "has an attestation 1 without an entry")
}

// TestEntriesOfSignOffs compares what the owner of the landscape may do to sign-offs with their entries.
func TestEntriesOfSignOffs(t *testing.T) {
	for name, attack := range map[string]struct{ statement, want string }{
		"":                     {`select 1`, ""},
		"it is removed":        {`delete from sign_offs`, "run r1: was signed off, says entry 4, and the sign-off is not recorded: somebody removed it"},
		"its signature is new": {`update sign_offs set signature = 'other'`, "run r1: is recorded with another sign-off 0 than its entry 4 says"},
		"its line is new":      {`update sign_offs set approver = 'other'`, "run r1: is recorded with another sign-off 0 than its entry 4 says"},
		"another one is added": {
			`insert into sign_offs select run_id, 1, seal, 'bob', role, statement, signature, approver, at_us from sign_offs`,
			"run r1: has a sign-off 1 without an entry: a process without a key recorded it, or it was made up",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.ends("r1")
			require.NoError(t, p.open(func(e *evidence.Evidence) {
				require.NoError(t, landscapetest.SignedOff(t.Context(), e.Log, "r1"))
				require.NoError(t, e.Notary.Pass(t.Context()))
			}))
			p.attack(attack.statement)
			require.Equal(t, attack.want, p.problems())
		})
	}
}

// TestEntriesOfOrders compares what the owner of the landscape may do to approval requests with their entries.
func TestEntriesOfOrders(t *testing.T) {
	p := newPlace(t)
	p.ends("r1")
	copyFile(t, p.path, p.path+".backup")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.NoError(t, landscapetest.Ordered(t.Context(), e.Log, "r1"))
		require.NoError(t, e.Notary.Pass(t.Context()))
	}))
	require.EqualValues(t, 5, p.check().Orders)
	require.Empty(t, p.problems())
	for _, attack := range []struct{ statement, want string }{
		{`update approval_rules set persons = 1 where seq = 0`,
			"rule 0 of waive: is recorded otherwise than its entry 4 says"},
		{`update approval_requests set approver = 'eve key'`, "is recorded otherwise than its entry 5 says"},
		{`update approvals set person = 'eve'`, "is recorded otherwise than its entry 6 says"},
		{`insert into approvals select run_id, request_sha256, 1, kind, 'dan', statement, signature, approver, at_us from approvals`, "has no entry: a process without a key recorded it, or it was made up"},
		{`delete from approved_executions`,
			"says entry 8, and that is not recorded so: somebody removed or changed it"},
	} {
		p.attack(attack.statement)
		require.Contains(t, p.problems(), attack.want)
	}
	copyFile(t, p.path+".backup", p.path)
	lost := gone(p.restore("a wrong backup").Missing)
	require.Len(t, lost, 5)
	require.Contains(t, lost[0], "entry 4 is about it, and it is not recorded: it was lost when the record was restored from a backup; make the rule again")
	require.Empty(t, p.problems())
	require.Len(t, p.check().Warnings, 5)
}

// TestSignOffAfterARestore: a sign-off that was lost with a restored record does not keep another one of its number from having an entry.
func TestSignOffAfterARestore(t *testing.T) {
	p := newPlace(t)
	p.ends("r1")
	copyFile(t, p.path, p.path+".backup")
	sign := func(at landscape.Micros) {
		require.NoError(t, p.open(func(e *evidence.Evidence) {
			s := landscapetest.SignOff("r1", "ann", "reviewer")
			s.At = at
			_, err := e.Log.RecordSignOff(t.Context(), s)
			require.NoError(t, err)
			require.NoError(t, e.Notary.Pass(t.Context()))
		}))
	}
	sign(1)
	copyFile(t, p.path+".backup", p.path)
	restored := p.restore("a wrong backup")
	require.Len(t, restored.Missing, 1)
	restored.Missing = nil
	require.Equal(t, evidence.Restoration{Found: 4, Anchored: 5, Lost: []string{}}, restored)
	sign(2)
	report := p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 1, report.Signoffs)
	p.attack(`delete from sign_offs`)
	require.Equal(t, "run r1: was signed off, says entry 6, and the sign-off is not recorded: somebody removed it", p.problems())
}

// gone tells what is missing.
func gone(missing []evidence.Missing) (told []string) {
	for _, m := range missing {
		told = append(told, m.Where()+" "+m.String())
	}
	return told
}

// TestWhatARestoreLoses is named from then on, and what is done again has entries of its own.
func TestWhatARestoreLoses(t *testing.T) {
	p := newPlace(t)
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.NoError(t, landscapetest.Published(t.Context(), e.Log, "r1"))
		require.NoError(t, e.Notary.Pass(t.Context()))
	}))
	whole := p.path + ".whole"
	copyFile(t, p.path, whole)
	act := func() (order int64) {
		require.NoError(t, p.open(func(e *evidence.Evidence) {
			signed := landscapetest.SignOff("r1", "ann", "reviewer")
			signed.At = landscape.MicrosOf(p.now)
			_, err := e.Log.RecordSignOff(t.Context(), signed)
			require.NoError(t, err)
			_, err = landscapetest.Attest(t.Context(), e.Log, "r1", plugin.Changed)
			require.NoError(t, err)
			given, err := e.Log.BeginForgetting(t.Context(), landscape.Purge{Actor: "ann", Why: "request 88"}, []string{"r1"}, []landscape.RowKey{{Run: "r1", Source: landscapetest.Source, Row: 1}})
			require.NoError(t, err)
			order = given.ID
			_, err = e.Log.EndForgetting(t.Context(), landscape.Forgetting{Order: order, Rows: 1}, "certificate\n")
			require.NoError(t, err)
			require.NoError(t, e.Notary.Pass(t.Context()))
		}))
		return order
	}
	require.EqualValues(t, 1, act())
	require.Empty(t, p.check().Warnings)
	const lost = ": it was lost when the record was restored from a backup"
	want := []string{
		"run r1 was signed off, says entry 4, and the sign-off is not recorded" + lost,
		"run r1 was attested (changed), says entry 5, and what was found is not recorded so" + lost,
		"order 1 to forget rows (1) was carried out, says entry 6, and that is not recorded" + lost + "; what it forgot may be back: give the order again",
	}
	p.attack(`delete from forgettings`)
	require.Equal(t, "order 1: to forget rows (1) was carried out, says entry 6, and that is not recorded: somebody removed or changed it", p.problems())
	copyFile(t, whole, p.path)
	require.Equal(t, want, gone(p.restore("the disk failed").Missing))
	require.Empty(t, p.problems())
	var warned []string
	for _, w := range p.check().Warnings {
		warned = append(warned, w.Where+" "+w.What)
	}
	require.ElementsMatch(t, want, warned)
	p.read(func(ctx context.Context, log *landscape.Reader) {
		missing, err := evidence.MissingOf(ctx, log, "r1")
		require.NoError(t, err)
		require.Equal(t, want[:2], gone(missing))
		_, entry, err := evidence.CheckedSeal(ctx, log, "r1")
		require.NoError(t, err)
		require.NotNil(t, entry)
	})
	p.now = p.now.Add(time.Hour)
	require.EqualValues(t, 1, act(), "the number of the lost one")
	require.Empty(t, p.problems())
	for _, attack := range []string{`delete from sign_offs`, `delete from attestations`} {
		copyFile(t, p.path, whole)
		p.attack(attack)
		p.read(func(ctx context.Context, log *landscape.Reader) {
			_, _, err := evidence.CheckedSeal(ctx, log, "r1")
			require.ErrorIs(t, err, landscape.ErrSealBroken, attack)
		})
		copyFile(t, whole, p.path)
	}
}

// TestCheckedSeal: a seal counts only if the log agrees with it, no matter who made it.
func TestCheckedSeal(t *testing.T) {
	p := newPlace(t)
	p.ends("r1")
	checked := func() (landscape.RunSeal, *int64, error) {
		store, err := sqlitestore.Open(t.Context(), p.path, sqlitestore.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		return evidence.CheckedSeal(t.Context(), landscape.NewReader(store), "r1")
	}
	sealed, entry, err := checked()
	require.NoError(t, err)
	require.Zero(t, sealed.Seq)
	require.EqualValues(t, 3, *entry)

	whole := p.path + ".whole"
	copyFile(t, p.path, whole)
	for _, attack := range []string{`delete from run_seals`, `update run_seals set root = zeroblob(32)`, `update run_seals set at_us = at_us + 1`, `update run_seals set seq = 1`} {
		p.attack(attack)
		_, _, err := checked()
		require.ErrorIs(t, err, landscape.ErrSealBroken, attack)
		require.ErrorContains(t, err, "entry 3 of the log is about seal 0 of run r1, which is not recorded so: ")
		copyFile(t, whole, p.path)
	}

	store, err := sqlitestore.Open(t.Context(), p.path, sqlitestore.Options{})
	require.NoError(t, err)
	require.ErrorIs(t, landscape.New(store, nil).RecordAction(t.Context(), "r1", "v", "ann", ""), landscape.ErrKeyless)
	require.NoError(t, store.Close())
	require.NoError(t, p.open(func(e *evidence.Evidence) { require.NoError(t, e.Log.RecordAction(t.Context(), "r1", "v", "ann", "")) }))
	p.attack(`delete from log where about like 'sealed/r1/1%'`) // as if a process without a key had made the seal
	sealed, entry, err = checked()
	require.NoError(t, err)
	require.EqualValues(t, 1, sealed.Seq)
	require.Nil(t, entry)
}

// TestARunThatIsResumedMayRun, and nobody takes it back to the end before.
func TestARunThatIsResumedMayRun(t *testing.T) {
	p := newPlace(t)
	p.ends("r1")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.NoError(t, e.Log.Resume(t.Context(), landscape.Resumption{Run: "r1", Epoch: 1, Claim: "c"}))
	}))
	require.Empty(t, p.problems())
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.NoError(t, e.Log.StopRun(t.Context(), "r1", pipeline.Failed, "broken"))
	}))
	require.Empty(t, p.problems())
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		_, err := e.Log.LastSeal(t.Context(), "r1")
		require.NoError(t, err)
	}))
	whole := p.path + ".whole"
	copyFile(t, p.path, whole)
	p.attack(`update runs set epoch = 2`, `insert into resumptions select run_id, 2, claim, was, actor, why, code, host, at_us from resumptions`)
	report := p.check()
	require.Empty(t, report.Problems)
	require.Len(t, report.Warnings, 1)
	require.Contains(t, report.Warnings[0].What, "is recorded as failed in epoch 2, and no entry about a seal is newer than entry 4, of epoch 1: ")
	copyFile(t, whole, p.path)
	p.attack(`update runs set epoch = 0`)
	require.Equal(t, "run r1: is recorded as failed in epoch 0, and its entry 4 says that it ended in epoch 1: somebody took its end back", p.problems())
}

// TestASealThatABackupDoesNotHave is no problem, once somebody said that the backup was restored. The run is sealed again, with another entry.
func TestASealThatABackupDoesNotHave(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	copyFile(t, p.path, p.path+".backup")
	end := func() {
		require.NoError(t, p.open(func(e *evidence.Evidence) {
			require.NoError(t, e.Log.StopRun(t.Context(), "r1", pipeline.Failed, "broken"))
			require.NoError(t, e.Notary.Pass(t.Context()))
		}))
	}
	end()
	copyFile(t, p.path+".backup", p.path)
	require.Equal(t, []string{"run r1 was sealed, says entry 3, and the seal is not recorded: it was lost when the record was restored from a backup"}, gone(p.restore("the disk failed").Missing))
	require.Empty(t, p.problems())
	p.now = p.now.Add(1e9)
	end()
	report := p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 1, report.Sealed)
	p.attack(`delete from run_seals`)
	require.Contains(t, p.problems(), "run r1: was sealed, says entry")
}

// TestTheLongestEntryOfASeal has room for all names that there can be.
func TestTheLongestEntryOfASeal(t *testing.T) {
	p := newPlace(t)
	p.ends("r1")
	store, err := sqlitestore.Open(t.Context(), p.path, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	log := landscape.New(store, nil)
	entries, err := evidence.Entries(t.Context(), log.Reader, 3, 1)
	require.NoError(t, err)
	seals, err := log.RunSeals(t.Context(), "r1")
	require.NoError(t, err)
	want := evidence.Statement{
		Type: evidence.Sealed, V: 1, N: entries[0].N, At: entries[0].At, Run: "r1", Pipeline: "bird-strikes", Status: "failed",
		Root: hex.EncodeToString(seals[0].Root), Leaves: seals[0].Leaves,
	}
	require.Equal(t, want, entries[0].Statement)
	position, err := evidence.EntryOfSeal(t.Context(), log.Reader, seals[0])
	require.NoError(t, err)
	require.EqualValues(t, 3, position)
	stored, err := log.LogEntries(t.Context(), 3, 1)
	require.NoError(t, err)
	longer := len(stored[0].Entry) - len("r1") + 64 - len("bird-strikes") + 64 - len("failed") + len(pipeline.CompletedWithFailures) + len(`"epoch":1000000,"late":true,"seal":1000000,`) + 7 - 2 + 56 - len("worker-a/sealer")
	require.Less(t, longer, 600)
}
