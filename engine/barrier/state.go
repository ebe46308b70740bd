package barrier

import (
	"errors"
	"fmt"
	"math"
)

// stateVersion is the first byte of a state. A state of another form needs another version.
const stateVersion = 1

// AppendState appends the state of the machine to dst. Machines that have taken the same folds have the same bytes, and so has
// one that was restored from them.
//
// The bytes are: the version; the operation of the node, as text; the shapes of rows, as a count and for each the count of its
// names and these; the moment of the last fold and the number of the last batch; then what the kind of barrier holds, in
// order of opening. Counts and numbers are varints, signed where they may be negative; a text is its length and its UTF-8; a
// value is the byte of its kind and its content; a row is the number of its shape and its values.
func (m *Machine) AppendState(dst []byte) []byte {
	w := newWriter()
	w.signed(m.now)
	w.number(uint64(m.number))
	m.rule.save(w)
	dst = append(dst, stateVersion)
	return w.appendTo(appendText(dst, m.operation))
}

// Restore gives a new machine of the same node a state that AppendState made. The error says that it is none: the state was
// damaged, or it is one of another node. It keeps nothing of state's memory.
func (m *Machine) Restore(state []byte) error {
	r := &reader{data: state}
	if version := r.take(1)[0]; r.err == nil && version != stateVersion {
		r.failf("its version is %d, and this program reads version %d", version, stateVersion)
	}
	if operation := r.text(); r.err == nil && operation != m.operation {
		r.failf("it is one of a %q, not of a %s", operation, m.operation)
	}
	r.table()
	m.now = r.signed()
	m.number = uint32(r.natural(math.MaxUint32))
	m.rule.load(r)
	if len(r.data) > 0 {
		r.fail(errors.New("something follows its end"))
	}
	if r.err != nil {
		return fmt.Errorf("the state of the barrier cannot be read: %w", r.err)
	}
	return nil
}
