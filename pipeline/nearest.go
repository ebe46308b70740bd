package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the candidate that word was probably meant to be, the first of equally near ones, or "" if none is
// near: at most one edit for every three characters of the word, rounded. A swap of neighbours is one edit, case is none.
// It gives up on words and lists that are too long for typing errors.
func Nearest(word string, candidates []string) string {
	if len(word) > maxNearestBytes || len(candidates) > maxNearestWords {
		return ""
	}
	best, limit := "", (len([]rune(word))+1)/3
	for _, candidate := range candidates {
		if distance := editDistance(word, candidate, limit); distance <= limit && candidate != word {
			best, limit = candidate, distance-1
		}
	}
	return best
}

// The limits of Nearest keep hostile documents cheap.
const (
	maxNearestBytes = 64
	maxNearestWords = 500
)

// suggestion returns ` (did you mean "review"?)`, or "" if no candidate is near.
func suggestion(word string, candidates []string) string {
	if nearest := Nearest(word, candidates); nearest != "" {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return ""
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours that make a into b, case ignored.
// The result is exact up to limit and only some greater number beyond it; words of very different length cost nothing.
func editDistance(a, b string, limit int) int {
	from, to := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	if abs(len(from)-len(to)) > limit {
		return limit + 1
	}
	var before []int // the row before the previous one
	previous := make([]int, len(to)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range from {
		current := make([]int, len(to)+1)
		current[0] = i + 1
		for j := range to {
			current[j+1] = min(previous[j+1]+1, current[j]+1, previous[j]+differ(from[i], to[j]))
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}
		if slices.Min(current) > limit {
			return limit + 1
		}
		before, previous = previous, current
	}
	return previous[len(to)]
}

func differ(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
}

func abs(n int) int { return max(n, -n) }
