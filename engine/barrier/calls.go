package barrier

import (
	"slices"

	"waymark/engine/plan"
	"waymark/pipeline/expr"
)

// calls are the aggregate functions that the computed fields of a barrier need. Fields with the same call share it.
type calls struct {
	list  []expr.Call
	field []string // for each call: the field that needs it first
	slots [][]int  // for each computed field: the positions in list of its own calls
}

func callsOf(compute []plan.Computed) calls {
	var c calls
	for _, computed := range compute {
		var slots []int
		for _, call := range computed.Program.Calls() {
			i := slices.IndexFunc(c.list, func(known expr.Call) bool { return known.Source == call.Source })
			if i < 0 {
				i = len(c.list)
				c.list, c.field = append(c.list, call), append(c.field, computed.Field)
			}
			slots = append(slots, i)
		}
		c.slots = append(c.slots, slots)
	}
	return c
}
