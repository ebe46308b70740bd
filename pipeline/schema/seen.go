package schema

import "waymark/pipeline/row"

// Seen notes of which kinds the values of the rows of a part are. The zero value has seen none.
type Seen struct {
	shape *row.Shape // of the row before
	kinds []Kinds    // of its fields
	by    map[*row.Shape][]Kinds
}

// Note notes a row.
func (s *Seen) Note(r row.Row) {
	if r.Shape != s.shape {
		s.turn(r.Shape)
	}
	kinds := s.kinds[:len(r.Values)]
	for i := range r.Values {
		kinds[i] |= 1 << r.Values[i].Kind()
	}
}

// turn continues with rows of another shape.
func (s *Seen) turn(shape *row.Shape) {
	if s.by == nil {
		s.by = map[*row.Shape][]Kinds{}
	}
	if s.by[shape] == nil {
		s.by[shape] = make([]Kinds, shape.Len())
	}
	s.shape, s.kinds = shape, s.by[shape]
}

// Beyond returns what the rows have beyond the layout, as a Schema is stored; empty if that says it all.
func (s *Seen) Beyond(l Layout) string {
	u := newUnion(l)
	for shape, kinds := range s.by {
		u.parts++
		lacks := len(l.Fields)
		for i, name := range shape.Fields() {
			if at, known := u.at[name]; known {
				lacks--
				u.known[at] |= kinds[i]
			} else if !l.Columns {
				u.add(name, kinds[i])
			}
		}
		if lacks > 0 {
			u.lack(l, shape)
		}
	}
	beyond := Schema{Fields: []Field{}}
	for i, f := range l.Fields {
		if more := u.known[i] &^ f.Kinds; more != 0 {
			beyond.Fields = append(beyond.Fields, fieldOf(f.Name, more, true))
		}
	}
	beyond.Fields, beyond.Others = append(beyond.Fields, u.rest()...), u.others
	if len(beyond.Fields) == 0 && !u.others {
		return ""
	}
	return beyond.String()
}

// lack notes which fields of the layout rows of a shape do not have.
func (u *union) lack(l Layout, shape *row.Shape) {
	without := Missing
	if l.Columns {
		without = 1 << row.Null
	}
	for i, f := range l.Fields {
		if _, has := shape.Index(f.Name); !has {
			u.known[i] |= without
		}
	}
}
