package audit

import "waymark/internal/processors"

// roomBytes is how much memory chunks that are looked at side by side may take; one that takes more is looked at alone.
const roomBytes = 128 << 20

// inOrder does work for every item, some of them side by side, as long as what they take together, by size, is no more than roomBytes.
// What comes of each is merged in the order of the items, by the caller's goroutine, until merge returns false or an error.
func inOrder[T, R any](items []T, size func(T) int64, work func(T) R, merge func(T, R) (bool, error)) error {
	results := make([]chan R, len(items))
	begun, taken := 0, int64(0)
	defer func() {
		for ; begun > 0 && results[begun-1] != nil; begun-- { // nothing is left behind
			<-results[begun-1]
		}
	}()
	for i, item := range items {
		fits := func() bool { return begun == i || taken+size(items[begun]) <= roomBytes }
		for begun < len(items) && begun-i < processors.Computing() && fits() {
			result, next := make(chan R, 1), items[begun]
			results[begun] = result
			taken += size(next)
			begun++
			go func() { result <- work(next) }()
		}
		result := <-results[i]
		results[i] = nil
		taken -= size(item)
		if more, err := merge(item, result); !more || err != nil {
			return err
		}
	}
	return nil
}
