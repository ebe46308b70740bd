package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/schema"
)

// TestChanges names the fields that are described otherwise. (0 CPU-s.)
func TestChanges(t *testing.T) {
	const before = `{"fields":[{"name":"id","types":["int"]},{"name":"old","types":["bool"]},{"name":"x","types":["int"],"seen":true}]}`
	const after = `{"fields":[{"name":"new","types":[],"nullable":true},{"name":"id","types":["int","string"]},{"name":"x","types":["int"]}]}`
	for name, c := range map[string]struct {
		was, is string
		want    []string
	}{
		"nothing":             {before, before, nil},
		"not known":           {"", before, nil},
		"changed, new, gone":  {before, after, []string{"new: no such field → null", "id: int → int or string", "old: bool → no such field"}},
		"among others before": {`{"fields":[],"others":true}`, before, nil},
		"among others after":  {before, `{"fields":[],"others":true}`, nil},
	} {
		changes, err := schema.Changes(c.was, c.is)
		require.NoError(t, err)
		var found []string
		for _, change := range changes {
			found = append(found, change.Field+": "+change.Was.Text()+" → "+change.Is.Text())
		}
		require.Equal(t, c.want, found, name)
	}
	_, err := schema.Changes(before, `{`)
	require.Error(t, err)
}
