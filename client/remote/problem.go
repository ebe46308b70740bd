package remote

import (
	"cmp"
	"net/http"

	"waymark/client"
)

// A Problem says why a request did not do what it asked for, as RFC 9457 has it.
type Problem struct {
	Type    string         `json:"type"`  // urn:waymark:CODE
	Title   string         `json:"title"` // of its status
	Status  int            `json:"status"`
	Code    client.Code    `json:"code"` // names it, for programs
	Kind    client.Kind    `json:"kind"` // who can do something about it
	Detail  string         `json:"detail"`
	Cure    client.Cure    `json:"cure,omitempty"` // what can be done about it
	Run     string         `json:"run,omitempty"`  // that the cure is about
	Request string         `json:"request"`        // id of the request, which the log of the server has
	Errors  []PointerFault `json:"errors,omitempty"`

	After int `json:"-"` // seconds, before which it makes no sense to try again; 0: that is not known. The header Retry-After has it
}

// A PointerFault is one thing that is wrong with the body of a request.
type PointerFault struct {
	Pointer string `json:"pointer"` // where, as RFC 6901 has it
	Detail  string `json:"detail"`
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// KindOf is the kind of a problem with this status that only HTTP has.
func KindOf(status int) client.Kind {
	switch status {
	case http.StatusNotFound:
		return client.NotFound
	case http.StatusConflict:
		return client.Conflict
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return client.Unavailable
	}
	if status >= http.StatusInternalServerError {
		return client.Failed
	}
	return client.Invalid
}

// failure is the problem as an error of package client.
func (p *Problem) failure() *client.Error {
	message := p.Detail
	if p.Status == http.StatusInternalServerError && p.Request != "" {
		message += " (request " + p.Request + ")"
	}
	return &client.Error{Kind: cmp.Or(p.Kind, KindOf(p.Status)), Code: p.Code, Message: message, Cure: p.Cure, Run: p.Run, Err: p}
}
