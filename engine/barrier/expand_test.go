package barrier

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

func TestExpand(t *testing.T) {
	tests := map[string]struct {
		spec pipeline.Expand
		rows string
		want string
	}{
		"in place": {pipeline.Expand{Field: "x"}, `
			{"x":[1,"a,]\"",null],"id":1}
			{"id":2,"x":[[1,2],{"b":[3],"a":"}"},1.5]}`, `
			members [1 1]
			batch 1 arrival expand_parent rows 2, 7s to 7s
			out 1 {"x":1,"id":1} for 1
			out 1 {"x":"a,]\"","id":1} for 1
			out 1 {"x":null,"id":1} for 1
			out 1 {"id":2,"x":[1,2]} for 2
			out 1 {"id":2,"x":{"a":"}","b":[3]}} for 2
			out 1 {"id":2,"x":1.5} for 2`},
		"beside the list, with numbers": {pipeline.Expand{Field: "x", As: "item", Index: "nr"}, `{"x":[true,false]}`, `
			members [1]
			batch 1 arrival expand_parent rows 1, 7s to 7s
			out 1 {"x":[true,false],"item":true,"nr":1} for 1
			out 1 {"x":[true,false],"item":false,"nr":2} for 1`},
		"a text, over fields that are there": {pipeline.Expand{Field: "x", Split: "; ", As: "id", Index: "x"}, `{"id":0,"x":"a; b;c; "}`, `
			members [1]
			batch 1 arrival expand_parent rows 1, 7s to 7s
			out 1 {"id":"a","x":1} for 1
			out 1 {"id":"b;c","x":2} for 1
			out 1 {"id":"","x":3} for 1`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, expandNode(test.spec))
			require.Equal(t, lines(test.want), b.accept(7, test.rows))
			require.Empty(t, b.tick(8)+b.end(9))
			require.Zero(t, b.machine.Deadline())
		})
	}
}

// Elements of a JSON list are of kind json, so that the field has one kind; a null is none.
func TestElementKinds(t *testing.T) {
	var kinds []row.Kind
	for _, element := range elements(mustParse(row.JSON, `[1,"a",null,[],9223372036854775808]`), "") {
		kinds = append(kinds, element.Kind())
	}
	require.Equal(t, []row.Kind{row.JSON, row.JSON, row.Null, row.JSON, row.JSON}, kinds)
}

// Folds are numbered on, and one without arrivals makes no batch.
func TestExpandNumbersFolds(t *testing.T) {
	b := newBench(t, expandNode(pipeline.Expand{Field: "x"}))
	b.accept(0, `{"x":[1]}`)
	s, err := b.machine.Accept(at(1), &Arrivals{})
	require.NoError(t, err)
	require.Equal(t, "members []\n", tellOf(s))
	require.Contains(t, b.accept(2, `{"x":[2]}`), "members [2]")
}

func TestExpandIntake(t *testing.T) {
	tests := []struct {
		split, in, want string
	}{
		{"", `{"x":[]}`, "empty"}, {"", `{"x":null}`, "empty"}, {"", `{"y":1}`, "empty"}, {"", `{"x":[null]}`, "kept"},
		{"", `{"x":{}}`, "expected a JSON list, found other JSON"}, {"", `{"x":"a"}`, "expected a JSON list, found string"}, {"", `{"x":1}`, "expected a JSON list, found int"},
		{";", `{"x":""}`, "empty"}, {";", `{"x":null}`, "empty"}, {";", `{"x":";"}`, "kept"},
		{";", `{"x":[]}`, "expected a string to split, found json"}, {";", `{"x":5}`, "expected a string to split, found int"},
	}
	for _, test := range tests {
		node := expandNode(pipeline.Expand{Field: "x", Split: test.split})
		_, empty, rejected := NewIntake(&node).Take(newJSONRows()(test.in))
		got := "kept"
		switch {
		case rejected != nil:
			require.Equal(t, "x", rejected.Field)
			require.Equal(t, CodeNotAList, rejected.Code)
			got = rejected.Message
		case empty:
			got = "empty"
		}
		require.Equal(t, test.want, got, test.in)
	}
}
