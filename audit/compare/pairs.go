package compare

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math/bits"
	"slices"

	"waymark/internal/defect"
	"waymark/landscape"
)

// pairs say which rows of a source are the same ones in both runs: those that stand at the same place and are equal, and of the others those that are
// equal, in the order in which they stand.
type pairs struct {
	about Source
	here  []uint64        // bits: the row with this number less 1 stands at the same place
	moved map[int64]int64 // number in the first run to number in the second one
}

// other is the number in the second run of a row of the first one; 0 if it has no such row.
func (p *pairs) other(number int64) int64 {
	if at := (number - 1) / 64; at < int64(len(p.here)) && p.here[at]>>(uint(number-1)%64)&1 == 1 {
		return number
	}
	return p.moved[number]
}

// hash is the SHA-256 of a record as it was read.
type hash = [landscape.HashBytes]byte

// pair finds out which rows of a source are in both runs.
func (c *comparing) pair(ctx context.Context, name string) (*pairs, error) {
	p := &pairs{about: Source{Name: name}, moved: map[int64]int64{}}
	was, stopWas := ahead(ctx, func(ctx context.Context) iter.Seq2[[]byte, error] { return c.was.records(ctx, name) })
	defer stopWas()
	is, stopIs := ahead(ctx, func(ctx context.Context) iter.Seq2[[]byte, error] { return c.is.records(ctx, name) })
	defer stopIs()
	var left, right waiting
	for before, after := (block{}), (block{}); ; {
		err := errors.Join(before.fill(was), after.fill(is))
		if err != nil {
			return nil, err
		}
		n := min(before.left(), after.left())
		if n == 0 { // one of the two ended
			n = max(before.left(), after.left())
		}
		if n == 0 {
			break
		}
		p.same(before.take(n), after.take(n), &left, &right)
	}
	p.about.Was, p.about.Is, p.about.Forgotten = left.rows, right.rows, max(left.forgotten, right.forgotten)
	if left.crowded || right.crowded {
		p.about.NotPaired = p.about.Was - p.count() - left.forgotten
		return p, nil
	}
	p.match(left, right)
	p.about.Moved = int64(len(p.moved))
	p.about.OnlyWas, p.about.OnlyIs = int64(len(left.hashes)-len(p.moved)), int64(len(right.hashes)-len(p.moved))
	return p, nil
}

// ahead returns what a sequence yields, and reads the next element while the last one is looked at. After stop nothing is read any more.
func ahead(ctx context.Context, seq func(context.Context) iter.Seq2[[]byte, error]) (next func() ([]byte, error, bool), stop func()) {
	type element struct {
		hashes []byte
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	read := make(chan element)
	go func() {
		defer close(read)
		err := defect.Catch("comparison", func() error {
			for hashes, err := range seq(ctx) {
				select {
				case read <- element{hashes, err}:
				case <-ctx.Done():
					return nil
				}
			}
			return nil
		})
		if err != nil {
			select {
			case read <- element{err: err}:
			case <-ctx.Done():
			}
		}
	}()
	next = func() ([]byte, error, bool) {
		e, more := <-read
		return e.hashes, e.err, more
	}
	return next, func() {
		cancel()
		for range read { // until it is closed
		}
	}
}

// block is hashes of records that follow each other, and have not been looked at.
type block struct {
	hashes []byte
	ended  bool // there are no more
}

// fill reads the next hashes, if there are none left.
func (b *block) fill(next func() ([]byte, error, bool)) error {
	for len(b.hashes) == 0 && !b.ended {
		hashes, err, more := next()
		if b.hashes, b.ended = hashes, !more; err != nil {
			return err
		}
	}
	return nil
}

func (b *block) left() int { return len(b.hashes) / landscape.HashBytes }

// take returns the next n hashes; fewer if there are not so many.
func (b *block) take(n int) (hashes []byte) {
	n = min(n, b.left()) * landscape.HashBytes
	hashes, b.hashes = b.hashes[:n], b.hashes[n:]
	return hashes
}

// waiting are rows of one run that are not at the same place in the other one.
type waiting struct {
	rows      int64 // of the source that were looked at
	forgotten int64 // of those, rows that were forgotten; they do not wait
	hashes    []hash
	at        []int64 // their numbers
	crowded   bool    // there are too many of them
}

// wait notes the next row.
func (w *waiting) wait(h []byte, crowded bool) {
	w.rows++
	if !known(h) {
		w.forgotten++
		return
	}
	if w.crowded = w.crowded || crowded || len(w.hashes) >= mostMoved; !w.crowded {
		w.hashes, w.at = append(w.hashes, hash(h)), append(w.at, w.rows)
	}
}

// same notes which of the next records of both runs are equal. One of the two may have no more.
func (p *pairs) same(before, after []byte, left, right *waiting) {
	equal := bytes.Equal(before, after)
	for i := 0; i < max(len(before), len(after)); i += landscape.HashBytes {
		switch {
		case i < len(before) && i < len(after) && (equal || bytes.Equal(before[i:i+landscape.HashBytes], after[i:i+landscape.HashBytes])) && known(before[i:i+landscape.HashBytes]):
			left.rows, right.rows = left.rows+1, right.rows+1
			p.stays(left.rows)
			continue
		}
		if i < len(before) {
			left.wait(before[i:i+landscape.HashBytes], right.crowded)
		}
		if i < len(after) {
			right.wait(after[i:i+landscape.HashBytes], left.crowded)
		}
	}
}

// known reports whether a hash is there: that of a forgotten record is not.
func known(h []byte) bool { return hash(h) != hash{} }

// stays notes that a row stands at the same place in both runs.
func (p *pairs) stays(number int64) {
	for int64(len(p.here)) <= (number-1)/64 {
		p.here = append(p.here, 0)
	}
	p.here[(number-1)/64] |= 1 << (uint(number-1) % 64)
}

// count is how many rows stand at the same place.
func (p *pairs) count() (n int64) {
	for _, word := range p.here {
		n += int64(bits.OnesCount64(word))
	}
	return n
}

// match pairs rows that are equal, the first with the first.
func (p *pairs) match(left, right waiting) {
	if len(left.hashes) == 0 || len(right.hashes) == 0 {
		return
	}
	numbers := map[hash][]int64{}
	for i, h := range right.hashes {
		numbers[h] = append(numbers[h], right.at[i])
	}
	for i, h := range left.hashes {
		if others := numbers[h]; len(others) > 0 {
			p.moved[left.at[i]], numbers[h] = others[0], others[1:]
		}
	}
}

// records returns the hashes of the records of a source as they were read, some at a time; none if the run has no such source.
func (s *side) records(ctx context.Context, source string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if !slices.Contains(s.sources, source) {
			return
		}
		for about, err := range s.log.Chunks(ctx, s.run, source) {
			more := true
			if err == nil {
				err = s.log.RawHashes(ctx, s.run, about.Key(), func(hashes []byte) bool {
					more = yield(hashes, nil)
					return more
				})
			}
			if err != nil && more {
				yield(nil, err)
			}
			if err != nil || !more {
				return
			}
		}
	}
}
