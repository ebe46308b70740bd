package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/internal/disk"
	"waymark/payload"
)

var errFault = errors.New("input/output error")

// faultDisk records every call and fails those that failAt names, by their number from 0. A failing create, rename or
// link is not made, a failing write is made by half, and anything else is made before it is said to have failed.
type faultDisk struct {
	disk.Disk
	calls  []string
	failAt map[int]error
	before func(call string)
}

func (d *faultDisk) step(call string, args ...string) error {
	call = strings.Join(append([]string{call}, args...), " ")
	if d.before != nil {
		d.before(call)
	}
	d.calls = append(d.calls, call)
	return d.failAt[len(d.calls)-1]
}

func (d *faultDisk) Mkdir(name string, perm fs.FileMode) error {
	return errors.Join(d.step("mkdir", name), d.Disk.Mkdir(name, perm))
}

func (d *faultDisk) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	if flag&os.O_CREATE == 0 {
		return d.Disk.OpenFile(name, flag, perm)
	}
	if err := d.step("create", name); err != nil {
		return nil, err
	}
	f, err := d.Disk.OpenFile(name, flag, perm)
	return &faultFile{File: f, disk: d}, err
}

func (d *faultDisk) Rename(from, to string) error {
	if err := d.step("rename", from, to); err != nil {
		return err
	}
	return d.Disk.Rename(from, to)
}

func (d *faultDisk) Link(from, to string) error {
	if err := d.step("link", from, to); err != nil {
		return err
	}
	return d.Disk.Link(from, to)
}

func (d *faultDisk) Remove(name string) error {
	return errors.Join(d.step("remove", name), d.Disk.Remove(name))
}

func (d *faultDisk) RemoveAll(name string) error {
	return errors.Join(d.step("removeall", name), d.Disk.RemoveAll(name))
}

func (d *faultDisk) SyncDir(name string) error {
	return errors.Join(d.step("syncdir", name), d.Disk.SyncDir(name))
}

type faultFile struct {
	disk.File
	disk *faultDisk
}

// Write writes half before it fails.
func (f *faultFile) Write(p []byte) (int, error) {
	if err := f.disk.step("write"); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultFile) Sync() error  { return errors.Join(f.disk.step("sync"), f.File.Sync()) }
func (f *faultFile) Close() error { return errors.Join(f.disk.step("close"), f.File.Close()) }

// faulty returns a Store on a faultDisk, and its folder.
func faulty(t *testing.T) (*Store, *faultDisk, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "payloads")
	s, err := Create(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	d := &faultDisk{Disk: s.disk}
	s.disk = d
	return s, d, dir
}

var tempName = regexp.MustCompile(`tmp-\w+`)

// TestWriteOrder holds the write path to its list of system calls: with any two exchanged, a crash can lose or tear.
func TestWriteOrder(t *testing.T) {
	s, d, _ := faulty(t)
	key := string(payload.Of([]byte("x")))
	shard := "objects/" + key[:2]
	require.NoError(t, s.Write(t.Context(), key, []byte("x")))
	want := []string{
		"mkdir " + shard,
		"create " + shard + "/tmp-",
		"write",
		"sync",
		"rename " + shard + "/tmp- " + shard + "/" + key,
		"close",
		"syncdir " + shard,
		"syncdir objects",
	}
	for i, call := range d.calls {
		d.calls[i] = tempName.ReplaceAllString(call, "tmp-")
	}
	require.Equal(t, want, d.calls)
}

// TestStatFinishesTheWork: a dedup hit relies on an object whose writer may have died before it synced the folders.
func TestStatFinishesTheWork(t *testing.T) {
	s, d, _ := faulty(t)
	key := string(payload.Of([]byte("x")))
	require.NoError(t, s.Write(t.Context(), key, []byte("x")))
	d.calls = nil
	_, err := s.Stat(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, []string{"syncdir objects/" + key[:2], "syncdir objects"}, d.calls)

	for fail := range 2 {
		d.calls, d.failAt = nil, map[int]error{fail: errFault}
		_, err := payload.New(s, payload.Options{}).Put(t.Context(), []byte("x"))
		require.ErrorIs(t, err, errFault)
	}
}

// TestEveryFault fails each step of a write in turn. What is visible afterwards is correct, no temp file stays, and the
// next Put succeeds.
func TestEveryFault(t *testing.T) {
	const steps = 8
	data := []byte("the good bytes")
	for fail := range steps {
		for _, fault := range []error{errFault, syscall.ENOSPC, syscall.EDQUOT} {
			t.Run(fmt.Sprintf("step %d %v", fail, fault), func(t *testing.T) {
				s, d, dir := faulty(t)
				d.failAt = map[int]error{fail: fault}
				store := payload.New(s, payload.Options{OnHeal: func(h payload.Heal) { t.Errorf("poisoned: %+v", h) }})
				_, err := store.Put(t.Context(), data)
				require.ErrorIs(t, err, fault)
				requireNoTemps(t, dir)
				got, err := store.Get(t.Context(), payload.Of(data))
				require.True(t, string(got) == string(data) || errors.Is(err, payload.ErrNotFound), "%v", err)

				d.failAt = nil
				_, err = store.Put(t.Context(), data)
				require.NoError(t, err)
			})
		}
	}
}

// TestNoSecondSyncOfOneFile: after a failed fsync the file is given up, never synced again.
func TestNoSecondSyncOfOneFile(t *testing.T) {
	s, d, _ := faulty(t)
	d.failAt = map[int]error{3: errFault}
	key := string(payload.Of([]byte("x")))
	require.ErrorIs(t, s.Write(t.Context(), key, []byte("x")), errFault)
	require.Equal(t, "sync", d.calls[3])
	require.Equal(t, "close", d.calls[4])
	require.True(t, strings.HasPrefix(d.calls[5], "remove objects/"), d.calls[5])
	require.Len(t, d.calls, 6)
}

// TestTempSweptUnderAStoppedWriter: somebody removes the temp file just before it gets its final name.
func TestTempSweptUnderAStoppedWriter(t *testing.T) {
	s, d, dir := faulty(t)
	swept := 0
	d.before = func(call string) {
		if temp, ok := strings.CutPrefix(call, "rename "); ok && swept < publishAttempts-1 {
			swept++
			require.NoError(t, d.Disk.Remove(strings.Fields(temp)[0]))
		}
	}
	_, err := payload.New(s, payload.Options{}).Put(t.Context(), []byte("x"))
	require.NoError(t, err)
	requireNoTemps(t, dir)

	swept = -1000
	_, err = payload.New(s, payload.Options{}).Put(t.Context(), []byte("y"))
	require.ErrorContains(t, err, fmt.Sprintf("gave up after %d attempts", publishAttempts))
}

// TestSweepLeavesALivingWriterAlone sweeps, whatever the age, just before each step of a write.
func TestSweepLeavesALivingWriterAlone(t *testing.T) {
	s, d, _ := faulty(t)
	sweeps := 0
	d.before = func(call string) {
		if call == "write" || call == "sync" || strings.HasPrefix(call, "rename ") {
			sweeps++
			removed, err := s.Sweep(t.Context(), -time.Hour)
			require.NoError(t, err)
			require.Zero(t, removed, "swept before %s", call)
		}
	}
	require.NoError(t, s.Write(t.Context(), string(payload.Of([]byte("x"))), []byte("x")))
	require.Equal(t, 3, sweeps)
}

// TestQuarantineNeverTakesAGoodObjectAway: another writer heals just before a folder is moved out of the way.
func TestQuarantineNeverTakesAGoodObjectAway(t *testing.T) {
	s, d, _ := faulty(t)
	key := string(payload.Of([]byte("x")))
	require.NoError(t, s.disk.Mkdir(shardPath(key), dirMode))
	require.NoError(t, s.disk.Mkdir(objectPath(key), dirMode))
	d.before = func(call string) {
		if strings.HasPrefix(call, "rename ") {
			d.before = nil
			require.NoError(t, d.Disk.Remove(objectPath(key)))
			require.NoError(t, publish(d.Disk, key, []byte("x")))
		}
	}
	_, err := s.Quarantine(t.Context(), key)
	require.ErrorIs(t, err, syscall.ENOTDIR)
	got, err := s.Read(t.Context(), key, 1)
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
}

// noLinks is a file system without hard links.
type noLinks struct{ disk.Disk }

func (noLinks) Link(from, to string) error { return syscall.EPERM }

func TestQuarantineWithoutLinks(t *testing.T) {
	s, d, dir := faulty(t)
	s.disk = noLinks{d}
	key := string(payload.Of([]byte("x")))
	for n := range 3 {
		require.NoError(t, s.Write(t.Context(), key, make([]byte, n)))
		place, err := s.Quarantine(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("quarantine/%s.%d", key, n), place)
		info, err := s.disk.Lstat(place)
		require.NoError(t, err)
		require.EqualValues(t, n, info.Size())
	}
	_, err := s.Quarantine(t.Context(), key)
	require.ErrorIs(t, err, payload.ErrNotFound)
	aside, err := filepath.Glob(filepath.Join(dir, quarantineDir, "*"))
	require.NoError(t, err)
	require.Len(t, aside, 3)
}

func requireNoTemps(t *testing.T, dir string) {
	t.Helper()
	temps, err := filepath.Glob(filepath.Join(dir, objectsDir, "*", tempPrefix+"*"))
	require.NoError(t, err)
	require.Empty(t, temps)
}
