package firsts

// Layer is what one chunk brings, over an index that it does not change until it is settled. It is not safe for concurrent use.
type Layer struct {
	under *Index
	news  table // values that no other token had, with the chunk's first
	known table // values that others had
}

// Layer returns an empty layer over the index.
func (x *Index) Layer() *Layer { return &Layer{under: x} }

// First returns the token that has the value, in the index or in the layer. If none had, that is the one given, which must not
// be 0.
func (l *Layer) First(v Value, token uint64) (uint64, error) {
	k := v.key()
	if first := l.news.find(k); first != 0 {
		return first, nil
	}
	if first := l.known.find(k); first != 0 {
		return first, nil
	}
	first, err := l.under.first(k)
	switch {
	case err != nil:
		return 0, err
	case first != 0:
		l.known.put(k, first)
		return first, nil
	}
	l.news.put(k, token)
	return token, nil
}

// first returns the token that has a value in the index; 0 if none has.
func (x *Index) first(k key) (uint64, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.find(k)
}

// Stands reports whether all that First said is still so: no value that was new has come into the index since.
func (l *Layer) Stands() (bool, error) {
	l.under.mu.RLock()
	defer l.under.mu.RUnlock()
	for e := range l.news.all() {
		if first, err := l.under.find(e.key); err != nil || first != 0 {
			return false, err
		}
	}
	return true, nil
}

// Settle adds what is new to the index. The layer must stand. After an error part of it may be there; then it must be settled again
// before anybody asks.
func (l *Layer) Settle() error {
	l.under.mu.Lock()
	defer l.under.mu.Unlock()
	l.under.fresh.reserve(min(l.news.used, l.under.most))
	for e := range l.news.all() {
		if err := l.under.add(e.key, e.token); err != nil {
			return err
		}
	}
	return nil
}
