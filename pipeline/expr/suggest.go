package expr

import (
	"fmt"
	"strings"
)

// maxListed is how many names a message lists.
const maxListed = 12

// suggest returns the end of a message about an unknown name: the closest known name, and the known names.
func suggest(name string, known []string, what string) string {
	var b strings.Builder
	if near := closest(name, known); near != "" {
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

// closest returns the known name with the fewest changed characters, if these are about a third of the name or fewer,
// else "".
func closest(name string, known []string) string {
	best, bestDistance := "", (len(name)+1)/3+1
	for _, candidate := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance returns how many characters are inserted, deleted or replaced between a and b (Levenshtein).
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	costs := make([]int, len(to)+1)
	for j := range costs {
		costs[j] = j
	}
	for i, r := range from {
		diagonal := costs[0]
		costs[0] = i + 1
		for j, s := range to {
			replace := diagonal
			if r != s {
				replace++
			}
			diagonal = costs[j+1]
			costs[j+1] = min(replace, diagonal+1, costs[j]+1)
		}
	}
	return costs[len(to)]
}

// isWord reports whether name is a plain identifier, as opposed to CEL's names for operators.
func isWord(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return r == '_' || !isNameRune(r) }) < 0
}
