// Package history tells what happened in a run, in order: events that follow from its records alone, and what they add up to. The same records
// give the same events, byte for byte. docs/bundle.md describes both forms.
package history
