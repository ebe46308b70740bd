//go:build !race

package activities_test

// fateStride is how far apart the writes are that TestFates loses: every one.
const fateStride = 1
