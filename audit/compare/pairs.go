package compare

import (
	"bytes"
	"context"
	"iter"
	"math/bits"
	"slices"

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
	was, stopWas := iter.Pull2(c.was.records(ctx, name))
	defer stopWas()
	is, stopIs := iter.Pull2(c.is.records(ctx, name))
	defer stopIs()
	var left, right []hash // of rows that are not at the same place
	var leftAt, rightAt []int64
	crowded := false // there are too many of them
	for number := int64(1); ; number++ {
		before, err, more := was()
		after, err2, also := is()
		if err != nil || err2 != nil {
			return nil, firstError(err, err2)
		}
		if !more && !also {
			break
		}
		if more {
			p.about.Was++
		}
		if also {
			p.about.Is++
		}
		if more && also && bytes.Equal(before, after) && known(before) {
			p.stays(number)
			continue
		}
		if crowded = crowded || max(len(left), len(right)) >= mostMoved; crowded {
			continue
		}
		if more {
			left, leftAt = append(left, hash(before)), append(leftAt, number)
		}
		if also {
			right, rightAt = append(right, hash(after)), append(rightAt, number)
		}
	}
	if crowded {
		p.about.NotPaired = p.about.Was - p.count()
		return p, nil
	}
	p.match(left, leftAt, right, rightAt)
	p.about.Moved = int64(len(p.moved))
	p.about.OnlyWas, p.about.OnlyIs = int64(len(left)-len(p.moved)), int64(len(right)-len(p.moved))
	return p, nil
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

func firstError(errs ...error) error {
	at := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	return errs[at]
}

// count is how many rows stand at the same place.
func (p *pairs) count() (n int64) {
	for _, word := range p.here {
		n += int64(bits.OnesCount64(word))
	}
	return n
}

// match pairs rows that are equal, the first with the first.
func (p *pairs) match(left []hash, leftAt []int64, right []hash, rightAt []int64) {
	waiting := map[hash][]int64{}
	for i, h := range right {
		if !known(h[:]) {
			continue
		}
		waiting[h] = append(waiting[h], rightAt[i])
	}
	for i, h := range left {
		if others := waiting[h]; len(others) > 0 {
			p.moved[leftAt[i]], waiting[h] = others[0], others[1:]
		}
	}
}

// records returns the hashes of the records of a source as they were read, in order; none if the run has no such source.
func (s *side) records(ctx context.Context, source string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if !slices.Contains(s.sources, source) {
			return
		}
		for about, err := range s.log.Chunks(ctx, s.run, source) {
			var columns landscape.Records
			if err == nil {
				columns, err = s.log.Records(ctx, s.run, about.Key())
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range int(about.Rows) {
				if !yield(columns.Hashes[landscape.HashBytes*i:landscape.HashBytes*(i+1)], nil) {
					return
				}
			}
		}
	}
}
