package api

import (
	"slices"
	"strings"

	"waymark/landscape"
)

// A scope is what the holder of an access token must be allowed to do for a route.
type scope string

const (
	anybody scope = "any"    // with an access token
	own     scope = "own"    // see at least what he started, without values of rows
	look    scope = "look"   // see what there is, without values of rows
	read    scope = "read"   // see values, which is recorded before
	start   scope = "start"  // start runs
	order   scope = "order"  // give orders to runs
	deploy  scope = "deploy" // change which version of a pipeline is current
	admin   scope = "admin"  // see who has access, and who was shown values
	open    scope = "open"   // nobody has to say who he is
)

// allowed are the roles that each scope is for. Which runs and pipelines somebody sees, visible says.
var allowed = map[scope][]landscape.Role{
	anybody: landscape.Roles(),
	own:     {landscape.Viewer, landscape.Auditor, landscape.Service, landscape.Operator, landscape.Deployer, landscape.Admin},
	look:    {landscape.Viewer, landscape.Auditor, landscape.Operator, landscape.Deployer, landscape.Admin},
	read:    {landscape.Auditor},
	start:   {landscape.Service, landscape.Operator, landscape.Deployer},
	order:   {landscape.Operator, landscape.Deployer},
	deploy:  {landscape.Deployer},
	admin:   {landscape.Admin},
}

// A route is one thing that can be asked for.
type route struct {
	method string
	path   string // as net/http's patterns have it, without the method
	scope  scope
	and    scope   // what the caller must be allowed to do as well; empty for nothing else
	about  string  // what it does, for people
	query  []param // that it takes; others are refused
	others bool    // are not: another service says what comes
	body   any     // of a request: a zero value of what it is decoded into; nil for none
	media  string  // of a request with a body that is no JSON; empty for JSON
	also   string  // another media type that the body may have; empty for none
	most   int64   // bytes that the body may have; 0 for mostBody, or mostForm of a page
	answer any     // a zero value of what is encoded; nil for what is no JSON
	status int     // of a success
	stream string  // media type of an answer that is no JSON; empty for JSON
	handle func(*call) (any, error)
}

// scopes are what the caller must be allowed to do: all of it.
func (r *route) scopes() []scope {
	if r.and == "" {
		return []scope{r.scope}
	}
	return []scope{r.scope, r.and}
}

// needs returns sets of roles: the caller needs one role of each set. It is nil if nobody has to say who he is.
func (r *route) needs() (sets [][]landscape.Role) {
	for _, s := range r.scopes() {
		if s != open {
			sets = append(sets, allowed[s])
		}
	}
	return sets
}

// page reports whether the route is for people: it answers with HTML, and knows who asks by a session.
func (r *route) page() bool { return isPage(r.path) }

// isPage reports whether a path is one of a page, and not of the API.
func isPage(path string) bool {
	return !strings.HasPrefix(path, "/v1/") && !isDelivery(path) && path != "/openapi.json"
}

// A param is a parameter of a query.
type param struct {
	name   string
	about  string
	values []string // one of which it has; nil for any text
	number bool     // it is a whole number, 0 or greater
	many   bool     // it may be given several times
}

// list are the parameters of every list.
var list = []param{
	{name: "limit", about: "at most so many items, from 1 to 500; 50 by default", number: true},
	{name: "after", about: "next of the page before", number: false},
}

func (r *route) takes(name string) *param {
	if i := slices.IndexFunc(r.query, func(p param) bool { return p.name == name }); i >= 0 {
		return &r.query[i]
	}
	return nil
}
