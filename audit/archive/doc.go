// Package archive moves what is recorded of old runs into bundles elsewhere, and reads it there: places for bundles, what is due, how a run is archived, and the
// records of runs that are. docs/retention.md says what that leaves in the landscape.
package archive
