package payload

import "sync"

// verifiedGeneration bounds the memory of a Store: at most two generations of entries, about 200 bytes each.
const verifiedGeneration = 1 << 14

// verified remembers which version of which object was read and found good by this process. The oldest entries are
// forgotten in bulk; forgetting costs one more read. The zero value is empty and ready for use.
type verified struct {
	mu         sync.Mutex
	young, old map[Digest]string
}

func (v *verified) has(d Digest, version string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.young[d]
	if !ok {
		known, ok = v.old[d]
	}
	return ok && known == version
}

func (v *verified) add(d Digest, version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.young == nil || len(v.young) >= verifiedGeneration {
		v.old, v.young = v.young, make(map[Digest]string)
	}
	v.young[d] = version
}
