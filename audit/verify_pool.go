package audit

import (
	"waymark/internal/defect"
	"waymark/internal/processors"
)

// roomBytes is how much memory chunks that are looked at side by side may take; one that takes more is looked at alone.
const roomBytes = 128 << 20

// inOrder does work for every item, some of them side by side, as long as what they take together, by size, is no more than roomBytes.
// What comes of each is merged in the order of the items, by the caller's goroutine, until merge returns false or an error.
func inOrder[T, R any](items []T, size func(T) int64, work func(T) R, merge func(T, R) (bool, error)) error {
	type done struct {
		result R
		err    error // of work that panicked
	}
	results := make([]chan done, len(items))
	begun, taken := 0, int64(0)
	defer func() {
		for ; begun > 0 && results[begun-1] != nil; begun-- { // nothing is left behind
			<-results[begun-1]
		}
	}()
	for i, item := range items {
		fits := func() bool { return begun == i || taken+size(items[begun]) <= roomBytes }
		for begun < len(items) && begun-i < processors.Computing() && fits() {
			came, next := make(chan done, 1), items[begun]
			results[begun] = came
			taken += size(next)
			begun++
			go func() {
				var now done
				now.err = defect.Catch("audit", func() error { now.result = work(next); return nil })
				came <- now
			}()
		}
		now := <-results[i]
		results[i] = nil
		taken -= size(item)
		if now.err != nil {
			return now.err
		}
		if more, err := merge(item, now.result); !more || err != nil {
			return err
		}
	}
	return nil
}
