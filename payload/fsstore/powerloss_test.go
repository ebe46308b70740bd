package fsstore

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/disk/disktest"
	"waymark/payload"
)

var losses = flag.Uint64("losses", 3, "in how many ways TestPowerLoss takes the power at a moment, for each percentage that survives; make nightly has 40")

// percents are how likely what was not synced is to survive; all but 0 are tried with as many seeds as there are losses.
var percents = []int{0, 10, 50, 100}

const leastMoments = 820

// lab is a disk that loses its power after every call that changes something, and what must be true of what is left.
type lab struct {
	t      *testing.T
	disk   *disktest.Disk
	states *atomic.Int64
	moment uint64

	universe map[payload.Digest][]byte // all that is ever put
	kept     map[payload.Digest]bool   // acknowledged and not deleted since
	deleted  map[payload.Digest]bool   // deletion acknowledged and not put since
	poisoned map[payload.Digest]bool   // planted, and not healed yet
}

func newLab(t *testing.T, states *atomic.Int64) *lab {
	t.Helper()
	l := &lab{
		t: t, disk: disktest.New(), states: states, universe: map[payload.Digest][]byte{},
		kept: map[payload.Digest]bool{}, deleted: map[payload.Digest]bool{}, poisoned: map[payload.Digest]bool{},
	}
	require.NotNil(t, l.store(nil))
	return l
}

// store opens the store as a process of its own, in which after is called after each call that changed something.
func (l *lab) store(after func(call string) error) *payload.Store {
	l.t.Helper()
	s, err := newStore("payloads", l.disk.Process(after))
	require.NoError(l.t, err)
	return payload.New(s, payload.Options{})
}

// put puts the payload and, once that is acknowledged, expects it to be there whatever happens.
func (l *lab) put(store *payload.Store, data []byte) error {
	d := payload.Of(data)
	l.universe[d] = data
	delete(l.deleted, d)
	_, err := store.Put(context.Background(), data)
	if err == nil {
		l.kept[d] = true
		delete(l.poisoned, d)
		l.losePower("put")
	}
	return err
}

func (l *lab) delete(store *payload.Store, data []byte) {
	l.t.Helper()
	d := payload.Of(data)
	delete(l.kept, d)
	require.NoError(l.t, store.Delete(context.Background(), d))
	l.deleted[d] = true
	delete(l.poisoned, d)
	l.losePower("delete")
}

// blackout is losePower for what wants an error; there is none.
func (l *lab) blackout(call string) error {
	l.losePower(call)
	return nil
}

// losePower takes the power away in many ways, and checks what is left each time.
func (l *lab) losePower(call string) {
	l.moment++
	for _, percent := range percents {
		seeds := *losses
		if percent == 0 {
			seeds = 1
		}
		for seed := range seeds {
			l.states.Add(1)
			if err := l.check(l.disk.Crash(percent, l.moment<<8|seed), seed == 0); err != nil {
				l.t.Fatalf("moment %d, after %s, %d %% survive, seed %d: %v\n%s", l.moment, call, percent, seed, err, l.disk)
			}
		}
	}
}

// check opens the store on what is left. Where recover is set it continues as a run would, up to another loss of power.
func (l *lab) check(left *disktest.Disk, recover bool) error {
	s, err := newStore("payloads", left)
	if err != nil {
		return err
	}
	if err := l.checkObjects(payload.New(s, payload.Options{})); err != nil {
		return err
	}
	if err := s.Walk(context.Background(), l.checkKey); err != nil {
		return err
	}
	if !recover {
		return nil
	}
	if err := l.recover(s); err != nil {
		return fmt.Errorf("while it recovers: %w", err)
	}
	s, err = newStore("payloads", left.Crash(0, 0))
	if err != nil {
		return err
	}
	if err := (&lab{universe: l.universe, kept: all(l.universe)}).checkObjects(payload.New(s, payload.Options{})); err != nil {
		return fmt.Errorf("after it recovered and the power went again: %w", err)
	}
	return nil
}

func all(universe map[payload.Digest][]byte) map[payload.Digest]bool {
	keys := map[payload.Digest]bool{}
	for d := range universe {
		keys[d] = true
	}
	return keys
}

// checkObjects requires that what was acknowledged is there, that what was deleted is not, and that nothing is torn.
func (l *lab) checkObjects(store *payload.Store) error {
	for d, data := range l.universe {
		got, err := store.Get(context.Background(), d)
		switch {
		case err == nil && string(got) != string(data):
			return fmt.Errorf("another object of %d bytes is returned for %s", len(got), d)
		case err == nil && l.deleted[d]:
			return fmt.Errorf("deleted object %s is there", d)
		case errors.Is(err, payload.ErrNotFound) && !l.kept[d], errors.Is(err, payload.ErrCorrupt) && l.poisoned[d]:
		case err != nil:
			return fmt.Errorf("acknowledged: %v: %w", l.kept[d], err)
		}
	}
	return nil
}

func (l *lab) checkKey(key string) error {
	if _, known := l.universe[payload.Digest(key)]; !known {
		return fmt.Errorf("object %s was never put", key)
	}
	return nil
}

// recover puts everything, as a run that continues would, after what was left of earlier writes was swept.
func (l *lab) recover(s *Store) error {
	if _, err := s.Sweep(context.Background(), -1); err != nil {
		return err
	}
	store := payload.New(s, payload.Options{})
	for _, data := range l.universe {
		if _, err := store.Put(context.Background(), data); err != nil {
			return err
		}
	}
	return nil
}

// pages returns payloads of no byte, one, a page, and several that are no whole pages.
func pages() [][]byte {
	var out [][]byte
	for i, size := range []int{0, 1, 4096, 4097, 9000} {
		data := make([]byte, size)
		rand.NewChaCha8([32]byte{byte(i)}).Read(data)
		out = append(out, data)
	}
	return out
}

// neighbours returns n payloads in one shard folder.
func neighbours(n int) [][]byte {
	shards := map[string][][]byte{}
	for i := 0; ; i++ {
		data := []byte(strings.Repeat(fmt.Sprint(i), 900))
		shard := shardPath(string(payload.Of(data)))
		if shards[shard] = append(shards[shard], data); len(shards[shard]) == n {
			return shards[shard]
		}
	}
}

// workloads are what processes do to the store while the power may go at any moment.
var workloads = map[string]func(l *lab){
	"one writer": func(l *lab) {
		store := l.store(l.blackout)
		for _, data := range append(pages(), neighbours(3)...) {
			require.NoError(l.t, l.put(store, data))
			require.NoError(l.t, l.put(l.store(l.blackout), data), "again, by another process")
		}
	},
	"two writers of the same": func(l *lab) {
		for _, data := range append(pages(), neighbours(2)...) {
			require.NoError(l.t, l.put(l.store(func(call string) error {
				return errors.Join(l.put(l.store(nil), data), l.blackout(call))
			}), data))
		}
	},
	"the second writer comes late": func(l *lab) {
		for n := range 8 {
			data := fmt.Appendf(nil, "%d", n)
			calls := 0
			require.NoError(l.t, l.put(l.store(func(call string) error {
				if calls++; calls == n {
					return errors.Join(l.put(l.store(l.blackout), data), l.blackout(call))
				}
				return l.blackout(call)
			}), data))
		}
	},
	"a writer dies and another continues": func(l *lab) {
		for n := range 8 {
			for _, data := range [][]byte{fmt.Appendf(nil, "dies %d", n), append(make([]byte, 5000), byte(n))} {
				calls := 0
				dying := l.disk.Process(nil)
				dying.After = func(string) error {
					if calls++; calls <= n {
						return nil
					}
					dying.Dead = true
					return disktest.ErrDied
				}
				s, err := newStore("payloads", dying)
				if err == nil {
					err = l.put(payload.New(s, payload.Options{}), data)
				}
				require.True(l.t, err == nil || errors.Is(err, disktest.ErrDied), "%v", err)
				require.NoError(l.t, l.put(l.store(l.blackout), data))
			}
		}
	},
	"deleted and put again": func(l *lab) {
		store := l.store(l.blackout)
		for _, data := range append(neighbours(3), pages()[3:]...) {
			require.NoError(l.t, l.put(store, data))
			l.delete(store, data)
			l.delete(store, data)
			require.NoError(l.t, l.put(store, data))
		}
		for _, data := range neighbours(3) {
			l.delete(store, data)
		}
	},
	"the shard goes while another writes into it": func(l *lab) {
		passing := neighbours(5)
		for _, data := range passing[1:] {
			removed := false
			require.NoError(l.t, l.put(l.store(func(call string) error {
				if call == "mkdir" && !removed {
					removed = true
					other := l.store(nil)
					require.NoError(l.t, l.put(other, passing[0]))
					l.delete(other, passing[0])
				}
				return l.blackout(call)
			}), data))
			l.delete(l.store(l.blackout), data)
		}
	},
	"poisoned and healed": func(l *lab) {
		for i, data := range append(pages(), neighbours(2)...) {
			d := payload.Of(data)
			l.universe[d] = data
			for round, poison := range [][]byte{[]byte("poison"), make([]byte, len(data)), append([]byte("x"), data...), nil} {
				if string(poison) == string(data) {
					continue
				}
				delete(l.kept, d)
				l.poisoned[d] = true
				l.plant(d, poison, (i+round)%2 == 0)
				require.NoError(l.t, l.put(l.store(l.blackout), data))
			}
			l.delete(l.store(l.blackout), data)
			require.NoError(l.t, l.put(l.store(l.blackout), data))
		}
	},
	"two heal at once": func(l *lab) {
		for _, data := range pages() {
			d := payload.Of(data)
			l.universe[d], l.poisoned[d] = data, true
			l.plant(d, []byte("poison"), true)
			require.NoError(l.t, l.put(l.store(func(call string) error {
				return errors.Join(l.put(l.store(nil), data), l.blackout(call))
			}), data))
		}
	},
}

// plant puts other bytes, which survive, in the place of an object.
func (l *lab) plant(d payload.Digest, poison []byte, synced bool) {
	l.t.Helper()
	key := string(d)
	if err := l.disk.Mkdir(shardPath(key), dirMode); err != nil {
		require.ErrorIs(l.t, err, fs.ErrExist)
	}
	require.NoError(l.t, l.disk.RemoveAll(objectPath(key)))
	f, err := create(l.disk, objectPath(key))
	require.NoError(l.t, err)
	_, err = f.Write(poison)
	require.NoError(l.t, err)
	if synced {
		require.NoError(l.t, f.Sync())
		require.NoError(l.t, syncNames(l.disk, key))
	}
	require.NoError(l.t, f.Close())
}

// TestPowerLoss takes the power away after every call that changes something. Whatever was acknowledged is there afterwards
// (CAS-02, CAS-03), nothing under a hash is torn or another object (CAS-01, CAS-05), and a run can go on.
func TestPowerLoss(t *testing.T) {
	var states atomic.Int64
	t.Run("workloads", func(t *testing.T) {
		for name, work := range workloads {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, &states)
				work(l)
				require.NotZero(t, l.moment)
			})
		}
	})
	t.Logf("%d crash states", states.Load())
	require.GreaterOrEqual(t, uint64(states.Load()), leastMoments*(1+3**losses))
}
