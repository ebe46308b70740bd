package row

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The scanner's second task: to write the normal form of ParseJSON to out, if it is asked to.

// normalize reads the whole text as one JSON value and writes its normal form to out.
func (s *scanner) normalize() error {
	s.normal = true
	s.skipSpace()
	if _, err := s.value(); err != nil {
		return err
	}
	return s.end()
}

// normalized returns the value that normalize has read. The text is that of out.
func (s *scanner) normalized(text string) Value {
	v := Value{kind: JSON, str: text}
	if s.marked {
		v.num = 1
	}
	return v
}

func (s *scanner) write(c byte) {
	if s.normal {
		s.out = append(s.out, c)
	}
}

func (s *scanner) writeKey(key string) {
	if s.normal {
		s.out = append(appendJSONString(s.out, key), ':')
		s.marked = s.marked || strings.HasPrefix(key, "$")
	}
}

// writeScalar writes raw, which begins at start in text.
func (s *scanner) writeScalar(raw RawValue, start int) error {
	switch raw.Kind {
	case Null, Bool:
		s.out = append(s.out, raw.Literal...)
		return nil
	case String:
		s.out = appendJSONString(s.out, raw.text())
		return nil
	}
	v, err := raw.Natural()
	if bad, ok := errors.AsType[*ConvertError](err); ok {
		return s.failAt(start, bad.Code, bad.Hint)
	}
	s.out = AppendText(s.out, v)
	return nil
}

// fewMembers is the number of keys up to which comparing all pairs is faster than sorting.
const fewMembers = 16

// distinct checks that the keys of an object that has been read up to its closing bracket are distinct. It may change the
// order of members. With normal it puts the members in out into the order of their keys.
func (s *scanner) distinct(members []member) error {
	if len(members) <= fewMembers && !s.normal {
		return s.distinctPairs(members)
	}
	if slices.IsSortedFunc(members, byKey) {
		return s.distinctNeighbours(members)
	}
	start := members[0].start
	slices.SortStableFunc(members, byKey)
	if err := s.distinctNeighbours(members); err != nil {
		return err
	}
	if s.normal {
		s.reorder(members, start)
	}
	return nil
}

func byKey(a, b member) int { return strings.Compare(a.key, b.key) }

func (s *scanner) distinctPairs(members []member) error {
	for i := range members {
		for j := range i {
			if members[i].key == members[j].key {
				return s.duplicate(members[i])
			}
		}
	}
	return nil
}

func (s *scanner) distinctNeighbours(members []member) error {
	for i := 1; i < len(members); i++ {
		if members[i].key == members[i-1].key {
			return s.duplicate(members[i])
		}
	}
	return nil
}

func (s *scanner) duplicate(second member) error {
	return s.failAt(second.pos, CodeDuplicateKey, fmt.Sprintf("an object has the key %q twice", cut(second.key)))
}

// reorder writes the members, which fill out from start to its end in some order, in the order of the slice.
func (s *scanner) reorder(members []member, start int) {
	ordered := make([]byte, 0, len(s.out)-start)
	for i, m := range members {
		if i > 0 {
			ordered = append(ordered, ',')
		}
		ordered = append(ordered, s.out[m.start:m.end]...)
	}
	copy(s.out[start:], ordered)
}
