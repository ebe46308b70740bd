package barrier

import "waymark/engine/plan"

// bySize is a heap of batches: the one that keeps most is first, the older of equals.
type bySize []*batch

func (h bySize) Len() int { return len(h) }

func (h bySize) Less(i, j int) bool {
	if h[i].bytes != h[j].bytes {
		return h[i].bytes > h[j].bytes
	}
	return h[i].number < h[j].number
}

func (h bySize) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *bySize) Push(b any) {
	b.(*batch).place = len(*h)
	*h = append(*h, b.(*batch))
}

func (h *bySize) Pop() any {
	last := len(*h) - 1
	b := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	b.place = plan.None
	return b
}
