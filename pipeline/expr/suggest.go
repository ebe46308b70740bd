package expr

import (
	"fmt"
	"strings"

	"waymark/pipeline"
)

// maxListed is how many names a message lists.
const maxListed = 12

// suggest returns the end of a message about an unknown name: the closest known name, and the known names.
func suggest(name string, known []string, what string) string {
	var b strings.Builder
	if near := pipeline.Nearest(name, known); near != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", near)
	}
	switch {
	case len(known) == 0:
		fmt.Fprintf(&b, "; there are none")
	case len(known) <= maxListed:
		fmt.Fprintf(&b, "; %s: %s", what, strings.Join(known, ", "))
	default:
		fmt.Fprintf(&b, "; %s: %s and %d more", what, strings.Join(known[:maxListed], ", "), len(known)-maxListed)
	}
	return b.String()
}

// isWord reports whether name is a plain identifier, as opposed to CEL's names for operators.
func isWord(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return r == '_' || !isNameRune(r) }) < 0
}
