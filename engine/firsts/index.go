// Package firsts remembers which token was the first with a value: of hundreds of millions of values, in little memory.
//
// An Index is disposable. What it holds can be computed again from the record of a run, so it is made for speed: nothing of it
// is synced, and it is gone with the process.
package firsts

import (
	"encoding/binary"
	"errors"
	"sync"
)

// Value is the first 16 bytes of the SHA-256 of what must be unique. docs/adr/0012-firsts.md says why that is enough.
type Value [16]byte

// key is a Value as two numbers, which sort as its bytes do.
type key struct{ hi, lo uint64 }

func (v Value) key() key {
	return key{binary.BigEndian.Uint64(v[:8]), binary.BigEndian.Uint64(v[8:])}
}

func (k key) less(other key) bool { return k.hi < other.hi || k.hi == other.hi && k.lo < other.lo }

const (
	// freshValues is how many values are held in memory, 48 bytes each, before they become a sorted run on disk.
	freshValues = 1 << 19

	// fanIn is how many runs of one level become one of the next: a look-up asks at most fanIn-1 filters of each level.
	fanIn = 8
)

// Index says which token has which value. It is safe for concurrent use. Of every value it holds 24 bytes on disk and two in
// memory, besides a table of at most 25 MB.
type Index struct {
	folder string
	most   int // values in fresh

	mu    sync.RWMutex
	fresh table
	runs  []*sorted // a later one is of no higher level than those before it
	shut  bool
}

// New returns an empty index that keeps its files in the folder; "" is the system's for temporary files. The files have no names
// there: they are gone when the process is. Close the index.
func New(folder string) *Index { return &Index{folder: folder, most: freshValues} }

// Find returns the token that has the value; 0 if none has.
func (x *Index) Find(v Value) (token uint64, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.find(v.key())
}

func (x *Index) find(k key) (uint64, error) {
	if x.shut {
		return 0, errClosed
	}
	if token := x.fresh.find(k); token != 0 {
		return token, nil
	}
	for _, run := range x.runs {
		if token, err := run.find(k); err != nil || token != 0 {
			return token, err
		}
	}
	return 0, nil
}

// First returns the token that has the value. If none had, that is the one given, which must not be 0. An error says that a file
// could not be written or read, for lack of space perhaps; asked again, it says the same as it would have.
func (x *Index) First(v Value, token uint64) (uint64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := v.key()
	first, err := x.find(k)
	if err != nil || first != 0 {
		return first, err
	}
	return token, x.add(k, token)
}

// add adds a value that no other token has. It must be called with mu held. After an error the value is there.
func (x *Index) add(k key, token uint64) error {
	if x.shut {
		return errClosed
	}
	x.fresh.put(k, token)
	if x.fresh.used < x.most {
		return nil
	}
	return x.flush()
}

// flush makes a run of what is in memory, and one of several runs where there are enough.
func (x *Index) flush() error {
	run, err := write(x.folder, 0, int64(x.fresh.used), x.fresh.sorted())
	if err != nil {
		return err
	}
	x.fresh.clear()
	x.runs = append(x.runs, run)
	for {
		first := len(x.runs) - fanIn
		if first < 0 || x.runs[first].level != x.runs[len(x.runs)-1].level {
			return nil
		}
		merged, err := merge(x.folder, x.runs[first:])
		if err != nil {
			return err
		}
		x.runs = append(x.runs[:first], merged)
	}
}

// Close releases the index's files. It must not be used afterwards; what still uses it gets errors.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var failed error
	for _, run := range x.runs {
		failed = errors.Join(failed, run.file.Close())
	}
	x.runs, x.fresh, x.shut = nil, table{}, true
	return failed
}

var errClosed = errors.New("the index of first values is closed")
