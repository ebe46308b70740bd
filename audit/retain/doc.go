// Package retain says how long payloads are kept, and deletes what is due: rules, plans and purges. Records, hashes and ways stay for ever; only the bytes
// that were read, and what can be computed of them, go. docs/retention.md says what that leaves of a run's proof.
package retain
