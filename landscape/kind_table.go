package landscape

import "slices"

// kindTable holds the kinds of many merges, each once. Most merges are of the kind of one of the last few.
type kindTable struct {
	kinds []MergeKind
	ids   []string
	byID  map[string]bool
}

// recentKinds is how many kinds are compared before an id is computed.
const recentKinds = 8

// recent returns the number of the kind if it is one of the last few; else -1.
func (t *kindTable) recent(k MergeKind) int {
	for i := len(t.kinds) - 1; i >= max(0, len(t.kinds)-recentKinds); i-- {
		if t.kinds[i].same(k) {
			return i
		}
	}
	return -1
}

// add checks the kind and adds it if it is new.
func (t *kindTable) add(k MergeKind) error {
	if t.recent(k) >= 0 {
		return nil
	}
	if err := k.check(); err != nil {
		return err
	}
	id := k.ID()
	if t.byID == nil {
		t.byID = map[string]bool{}
	}
	if !t.byID[id] {
		t.byID[id] = true
		t.kinds, t.ids = append(t.kinds, k), append(t.ids, id)
	}
	return nil
}

// id returns the id of a kind.
func (t *kindTable) id(k MergeKind) string {
	if i := t.recent(k); i >= 0 {
		return t.ids[i]
	}
	return k.ID()
}

// same reports whether two kinds are the same.
func (k MergeKind) same(o MergeKind) bool {
	return k.Node == o.Node && k.Policy == o.Policy && k.Merge == o.Merge && k.Quorum == o.Quorum && k.Timeout == o.Timeout &&
		k.FiredBy == o.FiredBy && k.Result == o.Result && k.Code == o.Code && slices.Equal(k.Expected, o.Expected) &&
		slices.Equal(k.Arrived, o.Arrived) && slices.Equal(k.Lost, o.Lost) && slices.Equal(k.NotNeeded, o.NotNeeded) &&
		slices.Equal(k.Collisions, o.Collisions) && slices.Equal(k.Origins, o.Origins)
}
