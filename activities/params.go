package activities

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Params are values of a pipeline's parameters, as texts, by name.
type Params map[string]string

// MarshalJSON writes an object, also of no parameters.
func (p Params) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]string(p))
}

// UnmarshalJSON reads an object. A number, true or false stands for its own text: people write JSON that way.
func (p *Params) UnmarshalJSON(text []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*p = nil
	var misfit error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		if *p == nil {
			*p = Params{}
		}
		switch value = bytes.TrimSpace(value); value[0] {
		case '"':
			var word string
			if err := json.Unmarshal(value, &word); err != nil {
				return err
			}
			(*p)[name] = word
		case '{', '[', 'n':
			misfit = cmp.Or(misfit, fmt.Errorf("the value of parameter %.64q must be a string, a number, true or false", name))
		default:
			(*p)[name] = string(value)
		}
	}
	return misfit
}
