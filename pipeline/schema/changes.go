package schema

import "slices"

// Change is a field that two schemas describe otherwise. Was is nil if only the later one has it, and Is if only the
// earlier one has.
type Change struct {
	Field string `json:"field"`
	Was   *Field `json:"was"`
	Is    *Field `json:"is"`
}

// Changes returns the fields that two stored schemas describe otherwise: those of the later one in its order, then those that only the earlier one has;
// empty, not nil, if there is none, or one of the schemas is not known. Whether a type was declared or seen is no difference, nor is a field that one does not name among its others.
func Changes(was, is string) ([]Change, error) {
	before, err := Parse(was)
	if err != nil {
		return nil, err
	}
	after, err := Parse(is)
	changes := []Change{}
	if before == nil || after == nil {
		return changes, err
	}
	for i := range after.Fields {
		f := &after.Fields[i]
		if old := before.find(f.Name); old == nil && !before.Others || old != nil && old.Text() != f.Text() {
			changes = append(changes, Change{f.Name, old, f})
		}
	}
	for i := range before.Fields {
		if f := &before.Fields[i]; after.find(f.Name) == nil && !after.Others {
			changes = append(changes, Change{f.Name, f, nil})
		}
	}
	return changes, nil
}

func (s *Schema) find(name string) *Field {
	i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Fields[i]
}
