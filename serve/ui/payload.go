package ui

import (
	"net/url"

	"waymark/audit"
)

// Payload is what is stored under a digest that a run needs.
type Payload struct {
	*audit.Payload
	Next string // path of the next page of its records; empty if there is none
}

// Beginning is the beginning of what it holds, if that is no records.
func (p Payload) Beginning() *record { return recordOf(audit.Origin{RawBase64: p.Data}) }

// PayloadPath is the path of the page of a payload that a run needs.
func PayloadPath(run, digest string) string {
	return RunPath(run, "payloads", url.PathEscape(digest))
}
