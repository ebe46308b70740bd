//go:build !failpoints

package failpoint

// Enabled says whether this build has failpoints.
const Enabled = false

// Hit marks a moment. The error, if any, is one that the code around it must treat as its own.
func Hit(string) error { return nil }

// Short returns how many of n bytes the write that follows is to make: n, or fewer for a write that is cut short.
func Short(_ string, n int) int { return n }
