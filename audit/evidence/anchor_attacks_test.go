package evidence_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
)

// cutHeads leaves the lines of an anchor's list from one number on and before another.
func (p *place) cutHeads(from, to int) {
	p.t.Helper()
	path := filepath.Join(p.anchor, "heads.log")
	text, err := os.ReadFile(path)
	require.NoError(p.t, err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	require.NoError(p.t, os.WriteFile(path, bytes.Join(lines[from:to], nil), 0o600))
}

// olderCheckpoint makes the head of 3 entries, which the landscape has, the anchor's checkpoint.
func (p *place) olderCheckpoint() {
	p.t.Helper()
	var text string
	require.NoError(p.t, p.sql().QueryRow(`select note from log_heads where size = 3`).Scan(&text))
	p.overwrite("checkpoint", text)
}

func (p *place) overwrite(name, text string) {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(filepath.Join(p.anchor, name), []byte(text), 0o600))
}

// change turns the first of some text around in a file of the anchor.
func (p *place) change(name, old, new string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.anchor, name))
	require.NoError(p.t, err)
	require.Contains(p.t, string(text), old)
	p.overwrite(name, strings.Replace(string(text), old, new, 1))
}

func (p *place) remove(name string) {
	p.t.Helper()
	require.NoError(p.t, os.RemoveAll(filepath.Join(p.anchor, name)))
}

// TestAttacksOnAnchors are what somebody may do to an anchor, alone or together with the landscape.
func TestAttacksOnAnchors(t *testing.T) {
	whole := newPlace(t)
	whole.runs("r1")
	copyFile(t, whole.path, whole.path+".backup")
	copyFile(t, "anchor/heads.log", "heads.backup")
	whole.runs("r2", "r3")
	require.Empty(t, whole.check().Problems)
	folder, err := os.Getwd()
	require.NoError(t, err)
	for name, attack := range map[string]struct {
		do   func(*place)
		want []string
	}{
		"the checkpoint is changed":     {func(p *place) { p.change("checkpoint", "\n5\n", "\n4\n") }, []string{"anchor/checkpoint: this head is not one that the log signed"}},
		"the checkpoint is removed":     {func(p *place) { p.remove("checkpoint") }, []string{"has no checkpoint, and heads.log ends with the head of 5 entries"}},
		"the checkpoint is an older":    {func(p *place) { p.olderCheckpoint() }, []string{"checkpoint is the head of 3 entries, and heads.log ends with that of 5"}},
		"the checkpoint is another log": {func(p *place) { p.overwrite("checkpoint", p.signed()) }, []string{"anchor/checkpoint: the signed head of 5 entries is not that of the entries"}},
		"the list is cut": {
			func(p *place) {
				text, err := os.ReadFile("anchor/heads.log")
				require.NoError(p.t, err)
				p.overwrite("heads.log", string(text[:len(text)-20]))
			},
			[]string{"anchor: has 3 entries, and the landscape says that 5 were brought there", "checkpoint is the head of 5 entries, and heads.log ends with that of 3"},
		},
		"the list is removed":      {func(p *place) { p.remove("heads.log") }, []string{"checkpoint is the head of 5 entries, and heads.log ends with that of 0"}},
		"the list is in disorder":  {func(p *place) { copyFile(p.t, "anchor/heads.log", "l"); p.cutHeads(1, 2); p.appendHeads("l") }, []string{"has the head of 3 entries after that of 5"}},
		"hashes are changed":       {func(p *place) { p.overwrite("tile/0/000.p/5", strings.Repeat("x", 160)) }, []string{"tile/0/000.p/5 does not have the hashes of the entries"}},
		"older hashes are changed": {func(p *place) { p.overwrite("tile/0/000.p/3", "") }, []string{"tile/0/000.p/3 does not have the hashes"}},
		"an older tile of entries is changed": {
			func(p *place) { p.change("tile/entries/000.p/3", `"run":"r1"`, `"run":"r8"`) }, []string{"has another entry 2, in tile/entries/000.p/3"},
		},
		"a tile of entries is cut":   {func(p *place) { p.overwrite("tile/entries/000.p/5", "x") }, []string{"tile/entries/000.p/5 is too short"}},
		"an older tile is removed":   {func(p *place) { p.remove("tile/0/000.p/3") }, []string{"has no tile/0/000.p/3"}},
		"tiles of entries are gone":  {func(p *place) { p.remove("tile/entries") }, []string{"has no tile/entries/000.p/3", "has no tile/entries/000.p/5"}},
		"something else is there":    {func(p *place) { p.overwrite("tile/0/x", "") }, []string{"tile/0/x is no tile"}},
		"all tiles are gone":         {func(p *place) { p.remove("tile") }, []string{"has no tile/0/000.p/3"}},
		"the folder is gone":         {func(p *place) { p.remove("") }, []string{"anchor: has 0 entries, and the landscape says that 5 were brought there"}},
		"the folder is moved, empty": {func(p *place) { p.anchor = "other" }, []string{"anchor: 5 entries were brought there, says the landscape, and no anchor that was looked at has as many"}},
		"the landscape and the list are older, the checkpoint is not": {
			func(p *place) { p.back(); p.remove("tile") }, []string{"anchor/checkpoint: a head of 5 entries was signed, and 3 are there"},
		},
		"the landscape, the list and the checkpoint are older, the tiles are not": {
			func(p *place) { p.back(); p.olderCheckpoint() }, []string{"tile/entries/000.p/5 is of 5 entries, and 3 are there", "tile/0/000.p/5 is of 5 entries"},
		},
		"a head is removed from the landscape":  {func(p *place) { p.attack(`delete from log_heads where size = 3`) }, []string{"log_heads: the head of 3 entries is at anchor, and is not recorded: somebody removed it"}},
		"all heads are":                         {func(p *place) { p.attack(`delete from log_heads`) }, []string{"log_heads: the head of 5 entries is at anchor, and is not recorded"}},
		"an anchor is made up":                  {func(p *place) { p.attack(`insert into log_anchors values ('/mnt', 4, 1, '')`) }, []string{"log_anchors: 4 entries are said to be at /mnt, and no head of that size was signed"}},
		"what is said to be there is increased": {func(p *place) { p.attack(`update log_anchors set size = 7 where size = 5`) }, []string{"has 5 entries, and the landscape says that 7 were brought there"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := whole.copied(t, folder)
			attack.do(p)
			for _, want := range attack.want {
				require.Contains(t, p.problems(), want)
			}
		})
	}
}

// back puts the landscape and the anchor's list back.
func (p *place) back() {
	copyFile(p.t, p.path+".backup", p.path)
	copyFile(p.t, "heads.backup", "anchor/heads.log")
}

// appendHeads appends a list to that of the anchor.
func (p *place) appendHeads(list string) {
	p.t.Helper()
	first, err := os.ReadFile("anchor/heads.log")
	require.NoError(p.t, err)
	then, err := os.ReadFile(list)
	require.NoError(p.t, err)
	p.overwrite("heads.log", string(first)+string(then))
}

// signed is a head that the log's key signed, and that is of other entries.
func (p *place) signed() string {
	p.t.Helper()
	key, err := keys.Load(p.keys, keys.Log)
	require.NoError(p.t, err)
	head, err := note.Sign(&note.Note{Text: key.Name() + "\n5\n" + strings.Repeat("A", 43) + "=\n"}, key.Signer)
	require.NoError(p.t, err)
	return string(head)
}

// TestAnAnchorThatAKillLeaves has the tiles of a head that is not in its list, half a line there, and files that were not renamed.
func TestAnAnchorThatAKillLeaves(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	heads, err := os.ReadFile("anchor/heads.log")
	require.NoError(t, err)
	p.runs("r2")
	p.attack(`delete from log_anchors where size > 3`)
	p.olderCheckpoint()
	p.overwrite("heads.log", string(heads)+"4 abc")
	p.overwrite("tile/0/.new-1", "half a")
	report := p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 3, report.Anchors[0].Entries)
	p.runs("r3")
	report = p.check()
	require.Empty(t, report.Problems)
	require.EqualValues(t, 5, report.Anchors[0].Entries)
}

// TestARecordThatIsOlderThanACheckpoint is not written, though the list was put back with it.
func TestARecordThatIsOlderThanACheckpoint(t *testing.T) {
	p := newPlace(t)
	p.runs("r1")
	copyFile(t, p.path, p.path+".backup")
	copyFile(t, "anchor/heads.log", "heads.backup")
	p.runs("r2")
	p.back()
	require.NoError(t, os.Remove(filepath.Join(p.keys, "notary.state")))
	require.ErrorContains(t, p.open(func(*evidence.Evidence) { t.Fatal("it may be written") }), "LOG_ROLLED_BACK: the log has 3 entries here, and anchor knows 4")
}

// TestALogWithoutHeads contradicts nothing, if somebody removed its heads and anchors and renumbered what is left. It is warned of when it is old enough.
func TestALogWithoutHeads(t *testing.T) {
	for age, warned := range map[time.Duration]bool{0: false, time.Hour: true} {
		p := newPlace(t)
		p.now = p.now.Add(-age)
		p.runs("r1")
		p.attack(`delete from log_heads`, `delete from log_hashes`, `delete from log_anchors`)
		p.remove("")
		report := p.check()
		require.Empty(t, report.Problems)
		require.Equal(t, warned, report.Warnings != nil)
		if warned {
			require.Contains(t, report.Warnings[0].What, "no head of it is signed, and its first entry was made at ")
		}
	}
}

// TestAnEntryThatWaits is warned of: no process with the key of the log works.
func TestAnEntryThatWaits(t *testing.T) {
	p := newPlace(t)
	p.now = p.now.Add(-time.Hour)
	p.runs("r1")
	require.NoError(t, p.open(func(e *evidence.Evidence) { p.begin(e, "r2") }))
	report := p.check()
	require.Empty(t, report.Problems)
	require.Contains(t, report.Warnings[0].What, "entry 3 was made at ")
}
