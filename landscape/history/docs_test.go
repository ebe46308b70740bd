package history

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPageHasTheTypes holds the table of docs/events.md against the kinds.
func TestPageHasTheTypes(t *testing.T) {
	page, err := os.ReadFile("../../docs/events.md")
	require.NoError(t, err)
	var table strings.Builder
	for _, k := range kinds {
		typ := "`" + k.event + "`"
		if k.word != "" {
			typ += " and `" + k.word + "`"
		}
		fmt.Fprintf(&table, "| %s | `%s`, at `%s` | `%s` |\n", typ, k.table, k.at, strings.Join(k.columns, "`, `"))
	}
	require.Contains(t, string(page), "| --- | --- | --- |\n"+table.String()+"\n")
	require.Contains(t, string(page), "also has `"+strings.Join(stateColumns[:len(stateColumns)-1], "`, `")+"` and `state`")
}
