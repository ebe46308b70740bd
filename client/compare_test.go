package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestParamChanges shows that parameters which both runs were given alike are no difference.
func TestParamChanges(t *testing.T) {
	run := func(params string) landscape.Run { return landscape.Run{Params: params} }
	one, two := "1", "2"
	for _, c := range []struct {
		was, is string
		want    []ParamChange
	}{
		{`{"least":"1"}`, `{"least":"1"}`, []ParamChange{}}, {"{}", "{}", []ParamChange{}},
		{`{"least":"1","b":"1"}`, `{"least":"2","a":"1","b":"1"}`, []ParamChange{{"a", nil, &one}, {"least", &one, &two}}},
		{`{"least":"1"}`, "{}", []ParamChange{{"least", &one, nil}}},
	} {
		changes, err := paramChanges(run(c.was), run(c.is))
		require.NoError(t, err)
		require.Equal(t, c.want, changes, "%s and %s", c.was, c.is)
	}
}
