package firsts

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"sort"
	"sync"
)

const (
	entryBytes  = 24
	pageEntries = 128
	pageBytes   = pageEntries * entryBytes
)

// sorted is a run of entries on disk, by key. It does not change.
type sorted struct {
	file    *os.File
	level   int
	entries int64
	fences  []uint64 // the first half of the first key of each page
	filter  filter
}

// write makes a run of at most so many entries, which come by key.
func write(folder string, level int, most int64, entries iter.Seq2[entry, error]) (*sorted, error) {
	file, err := os.CreateTemp(folder, "waymark-firsts-*")
	if err != nil {
		return nil, fmt.Errorf("index of first values: %w", err)
	}
	run := &sorted{file: file, level: level, filter: newFilter(most)}
	err = os.Remove(file.Name()) // a process that dies leaves nothing behind
	if err == nil {
		err = run.fill(entries)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("index of first values: %w", err), file.Close())
	}
	return run, nil
}

func (s *sorted) fill(entries iter.Seq2[entry, error]) error {
	out := bufio.NewWriterSize(s.file, 1<<18)
	var packed [entryBytes]byte
	for e, err := range entries {
		if err != nil {
			return err
		}
		if s.entries%pageEntries == 0 {
			s.fences = append(s.fences, e.hi)
		}
		s.filter.add(e.key)
		s.entries++
		binary.BigEndian.PutUint64(packed[:], e.hi)
		binary.BigEndian.PutUint64(packed[8:], e.lo)
		binary.BigEndian.PutUint64(packed[16:], e.token)
		if _, err := out.Write(packed[:]); err != nil {
			return err
		}
	}
	return out.Flush()
}

func unpack(packed []byte) entry {
	return entry{key{binary.BigEndian.Uint64(packed), binary.BigEndian.Uint64(packed[8:])}, binary.BigEndian.Uint64(packed[16:])}
}

var pages = sync.Pool{New: func() any { return new([pageBytes]byte) }}

// find returns the token of a key; 0 if the run does not have it.
func (s *sorted) find(k key) (uint64, error) {
	if !s.filter.mayHave(k) {
		return 0, nil
	}
	page := pages.Get().(*[pageBytes]byte)
	defer pages.Put(page)
	at := sort.Search(len(s.fences), func(i int) bool { return s.fences[i] >= k.hi })
	for at = max(at-1, 0); at < len(s.fences) && s.fences[at] <= k.hi; at++ {
		n, err := s.file.ReadAt(page[:], int64(at)*pageBytes)
		if err != nil && !errors.Is(err, io.EOF) { // the last page is shorter
			return 0, fmt.Errorf("index of first values: %w", err)
		}
		held := n / entryBytes
		i := sort.Search(held, func(i int) bool { return !unpack(page[i*entryBytes:]).less(k) })
		if i == held {
			continue
		}
		if e := unpack(page[i*entryBytes:]); e.key == k {
			return e.token, nil
		}
	}
	return 0, nil
}

// merge makes one run of several of one level, and closes them.
func merge(folder string, runs []*sorted) (*sorted, error) {
	var entries int64
	for _, run := range runs {
		entries += run.entries
	}
	merged, err := write(folder, runs[0].level+1, entries, merging(runs))
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		err = errors.Join(err, run.file.Close())
	}
	return merged, err
}

// merging yields the entries of several runs by key.
func merging(runs []*sorted) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		var heads []*head
		for _, run := range runs {
			h := &head{in: bufio.NewReaderSize(io.NewSectionReader(run.file, 0, run.entries*entryBytes), 1<<17)}
			if h.advance() {
				heads = append(heads, h)
			}
		}
		for len(heads) > 0 {
			least := 0
			for i, h := range heads {
				if h.less(heads[least].key) {
					least = i
				}
			}
			if !yield(heads[least].entry, heads[least].err) {
				return
			}
			if !heads[least].advance() {
				heads = slices.Delete(heads, least, least+1)
			}
		}
	}
}

// head is the next entry of a run that is being merged.
type head struct {
	entry
	err    error
	in     *bufio.Reader
	packed [entryBytes]byte
}

// advance takes the next entry, or the error of reading it, and reports whether there is one.
func (h *head) advance() (more bool) {
	if _, h.err = io.ReadFull(h.in, h.packed[:]); errors.Is(h.err, io.EOF) {
		return false
	}
	h.entry = unpack(h.packed[:])
	return true
}
