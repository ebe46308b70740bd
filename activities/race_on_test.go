//go:build race

package activities_test

// fateStride: the race detector makes runs ten times as slow, and finds in every tenth fate what it finds in all.
const fateStride = 10
