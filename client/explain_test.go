package client

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
)

// TestAnswered: every way in which a question has no answer has a kind of its own.
func TestAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		kind Kind
		cure Cure
	}{
		"of one of several sources": {&audit.QuestionError{Message: "name one", Sources: 2}, Invalid, NameSource},
		"without sense":             {&audit.QuestionError{Message: "no sink"}, Invalid, ""},
		"of several rows":           {&audit.AmbiguousError{Tokens: []audit.Token{{Source: "s", Row: 1}, {Source: "s", Row: 2}}}, Invalid, NameRow},
		"of no row":                 {fmt.Errorf("row 7: %w", landscape.ErrNotFound), NotFound, ""},
		"of a damaged record":       {fmt.Errorf("chunk 0: %w", landscape.ErrIncomplete), Damaged, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := errors.AsType[*Error](answered(c.err))
			require.True(t, ok)
			require.Equal(t, c.kind, got.Kind)
			require.Equal(t, c.cure, got.Cure)
			require.ErrorIs(t, got, c.err)
		})
	}
	broken := errors.New("broken")
	require.Equal(t, broken, answered(broken), "what nobody classified stays as it is")
	require.NoError(t, answered(nil))
}
