package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"waymark/client"
	"waymark/client/remote"
	"waymark/internal/defect"
	"waymark/landscape"
)

// The codes of problems that only requests of HTTP have. docs/api.md lists them; never rename one.
const (
	malformed     client.Code = "MALFORMED"     // the body is no JSON, or not the JSON that the route takes
	badQuery      client.Code = "BAD_QUERY"     // the query has what the route does not take
	badCursor     client.Code = "BAD_CURSOR"    // after is no place in this list
	badKey        client.Code = "BAD_KEY"       // the Idempotency-Key cannot be one
	noToken       client.Code = "NO_TOKEN"      // the request has no access token
	badToken      client.Code = "BAD_TOKEN"     // the access token does not count
	badSignature  client.Code = "BAD_SIGNATURE" // a delivery is not signed as its trigger says, or there is no such trigger
	tooSlow       client.Code = "TOO_SLOW"      // the body did not come in time
	issuerAway    client.Code = "ISSUER_AWAY"   // the issuer of the token cannot be asked for its keys
	forbidden     client.Code = "FORBIDDEN"     // the access token is not for this
	wrongHost     client.Code = "WRONG_HOST"    // the request is for another host
	crossSite     client.Code = "CROSS_SITE"    // a page of another site sent it
	noRoute       client.Code = "NO_ROUTE"      // there is nothing at the path
	wrongMethod   client.Code = "WRONG_METHOD"  // the path takes other methods
	tooLarge      client.Code = "TOO_LARGE"     // the body has too many bytes
	wrongMedia    client.Code = "WRONG_MEDIA"   // the body is of a type that the route does not take
	keyReused     client.Code = "KEY_REUSED"    // the key belongs to a run that was asked for in other words
	tooMany       client.Code = "TOO_MANY"      // requests come faster than they may
	tooMuchAtOnce client.Code = "TOO_MUCH"      // the bodies of all requests have too many bytes at this moment
	notVerified   client.Code = "NOT_VERIFIED"  // no verification of the run is known
	notDisclosed  client.Code = "NOT_DISCLOSED" // that values are shown could not be recorded, so none were
	internalFault client.Code = "INTERNAL"      // something went wrong that the caller did not cause; the log of the server says what
)

func problem(status int, code client.Code, detail string) *remote.Problem {
	return &remote.Problem{Status: status, Code: code, Kind: remote.KindOf(status), Detail: detail}
}

// statuses are those of the kinds of errors, as package client names them.
var statuses = map[client.Kind]int{
	client.Invalid: http.StatusBadRequest, client.NotFound: http.StatusNotFound, client.Conflict: http.StatusConflict, client.Busy: http.StatusConflict,
	client.Interrupted: 499, client.Failed: http.StatusInternalServerError, client.Damaged: http.StatusInternalServerError, client.Unavailable: http.StatusServiceUnavailable,
}

// problemOf returns the problem that an error is. known is false of one that nobody outside should read.
func problemOf(err error) (p *remote.Problem, known bool) {
	if problem, ok := errors.AsType[*remote.Problem](err); ok {
		return problem, true
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem(http.StatusRequestEntityTooLarge, tooLarge, "the body has more than "+strconv.FormatInt(large.Limit, 10)+" bytes"), true
	}
	if fault, ok := errors.AsType[*defect.Error](err); ok {
		return problem(http.StatusInternalServerError, internalFault, fault.Error()), false
	}
	// What reads an archived run may not know of its bundle.
	failure, ok := errors.AsType[*client.Error](client.UnlessAway(err))
	if !ok {
		return problem(http.StatusInternalServerError, internalFault, "something went wrong; the log of the server says what, under the id of this request"), false
	}
	p = problem(statuses[failure.Kind], failure.Code, failure.Message)
	p.Kind, p.Cure, p.Run = failure.Kind, failure.Cure, failure.Run
	switch failure.Code {
	case client.RowsTooLarge:
		p.Status = http.StatusRequestEntityTooLarge
	case client.BodyUnreadable:
		p.Status = http.StatusUnsupportedMediaType
	}
	switch failure.Kind {
	case client.Unavailable, client.Busy:
		p.After = 1
	case client.Failed, client.Damaged: // it may quote a row
		p.Detail = landscape.WithoutValues(failure.Message)
	}
	return p, true
}

// sendProblem answers a request with a problem.
func sendProblem(w http.ResponseWriter, p *remote.Problem, request string) {
	p.Type, p.Title, p.Request = "urn:waymark:"+string(p.Code), cmp.Or(http.StatusText(p.Status), "Client Closed Request"), request
	header := w.Header()
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	if p.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="waymark"`)
	}
	if p.After > 0 {
		header.Set("Retry-After", strconv.Itoa(p.After))
	}
	w.WriteHeader(p.Status)
	encoder := json.NewEncoder(w)
	_ = encoder.Encode(p) // with <, > and & escaped: whatever a browser takes it for
}
