package embedded

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
)

// TestTheNamespaceGetsItsAttributes: also that of a database which has some, and without those for which there is no
// room. One that is there stays what it is.
func TestTheNamespaceGetsItsAttributes(t *testing.T) {
	const keyword, number, list = enums.INDEXED_VALUE_TYPE_KEYWORD, enums.INDEXED_VALUE_TYPE_INT, enums.INDEXED_VALUE_TYPE_KEYWORD_LIST
	type types = map[string]enums.IndexedValueType
	path := filepath.Join(t.TempDir(), "temporal.db")
	for _, step := range []struct{ wanted, has types }{
		{nil, nil},
		{types{"A": keyword, "B": list}, types{"A": keyword, "B": list}},
		{types{"A": number, "C": list, "D": list, "E": list}, types{"A": keyword, "B": list, "C": list, "D": list}},
		{nil, types{"A": keyword, "B": list, "C": list, "D": list}},
	} {
		s := startServer(t, Options{DatabasePath: path, Attributes: step.wanted})
		c := dial(t, s)
		answer, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: Namespace})
		require.NoError(t, err)
		require.Equal(t, step.has, answer.GetCustomAttributes())
		c.Close()
		stopServer(t, s)
	}
}
