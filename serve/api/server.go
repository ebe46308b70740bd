package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"waymark/activities"
	"waymark/client"
	"waymark/client/local"
	"waymark/client/remote"
	"waymark/internal/connections"
	"waymark/internal/defect"
	"waymark/internal/processors"
	"waymark/landscape"
	"waymark/serve/oidc"
)

// Limits of requests.
const (
	mostBody     = 1 << 20                        // bytes
	mostForm     = 16 << 10                       // of a form of a page that brings no document
	mostRowsBody = client.MostRowBytes + mostBody // of a request that brings rows
	mostHeader   = 16 << 10
	mostURL      = 8 << 10
	headerTime   = 5 * time.Second
	bodyTime     = 10 * time.Second
	idleTime     = time.Minute
	failedLogins = 10 // of an address in a minute; deliveries that do not count as well
	failedWait   = int(time.Minute / failedLogins / time.Second)
	drainTime    = 10 * time.Second
	filesPart    = 2 // half of the files that the process may have open are connections at most
)

// Options say what a Server needs.
type Options struct {
	Home    *local.Home // whose runs it is about; not closed by the Server
	Logger  *slog.Logger
	Code    string       // version of the program
	Rate    float64      // requests of an access token in a second; 0 for no limit
	TLS     *tls.Config  // with which it answers; nil for without TLS
	Private bool         // it listens on loopback only: requests for other hosts are refused
	Issuer  *oidc.Issuer // whose tokens count beside our own; nil for none
	// Link lets one person sign in to the pages without an access token; nil if nobody may.
	Link *Link
	// Received is called for each delivery to a trigger, with what became of it: new, again or refused; then the trigger is empty. It may be nil.
	Received func(trigger, outcome string)
	// Later accepts requests for runs that come while Temporal is away: they begin when it is back. It is for a cluster; on one machine this process has a Temporal of its own.
	Later bool
	// Served is the folder whose documents start by their names; empty for none.
	Served string
	// CursorKey binds the cursors of lists; processes that share it understand each other's. nil for one of its own.
	CursorKey []byte
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	Options
	routes        []route
	mux           *http.ServeMux
	cursorKey     []byte
	crossSite     *http.CrossOriginProtection
	starting      sync.Map    // ids of runs that requests are about to start
	away          atomic.Bool // Temporal did not answer when it was asked last: what comes meanwhile is recorded at once
	rates         rates
	following     following
	sessions      sessions
	verifications verifications
	health        health
	endings       endings
	answers       answers
	bodies        bodies
	streams       atomic.Int64 // of events, that are open
	patience      time.Duration
	drained       chan struct{}
	drain         func()
}

// New returns a Server.
func New(o Options) (*Server, error) {
	s := &Server{Options: o, routes: append(table(), pages()...), mux: http.NewServeMux(), cursorKey: o.CursorKey, crossSite: http.NewCrossOriginProtection(), drained: make(chan struct{})}
	s.drain = sync.OnceFunc(func() { close(s.drained) })
	s.endings.inFlight, s.patience = o.Home.InFlight, slowest
	if s.cursorKey == nil {
		s.cursorKey = make([]byte, sha256.Size)
		if _, err := rand.Read(s.cursorKey); err != nil {
			return nil, err
		}
	}
	methods := map[string][]string{}
	for i := range s.routes {
		r := &s.routes[i]
		s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, request *http.Request) { s.serve(w, request, r) })
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, methods := range methods {
		if slices.Contains(methods, http.MethodGet) {
			methods = append(methods, http.MethodHead)
		}
		s.mux.HandleFunc(path, func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			s.refuse(w, request, problem(http.StatusMethodNotAllowed, wrongMethod, fmt.Sprintf("%s takes %s", path, strings.Join(methods, ", "))))
		})
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, request *http.Request) {
		s.refuse(w, request, problem(http.StatusNotFound, noRoute, "there is nothing at this path: GET /openapi.json lists what there is"))
	})
	return s, nil
}

// Serve answers what comes in through a listener until ctx ends, and then lets the requests in hand come to their ends, for a moment.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, MaxHeaderBytes: mostHeader,
		ErrorLog: slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
	}
	listener = taking{connections.Limit(server, listener, filesPart), s.patience}
	if s.TLS != nil {
		listener = tls.NewListener(listener, s.TLS)
	}
	later, end := context.WithCancel(ctx)
	defer end()
	go defect.Again(later, "starts", func() { s.beginAccepted(later) })()
	ended := make(chan error, 1)
	go func() { ended <- defect.Catch("api", func() error { return server.Serve(listener) }) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.drain()
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer done()
	if server.Shutdown(closing) != nil {
		return server.Close()
	}
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// of what is around routes: serve has theirs
	if err := defect.Catch("request", func() error { s.answer(w, r); return nil }); err != nil {
		p, _ := problemOf(err)
		sendProblem(w, p, w.Header().Get("Request-Id"))
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	defer processors.OfProcess().Brief()() // somebody waits, perhaps until the run has ended that this starts
	id := make([]byte, 8)
	_, _ = rand.Read(id)
	w.Header().Set("Request-Id", hex.EncodeToString(id))
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if isPage(r.URL.Path) {
		pageHeaders(header)
	}
	switch {
	case len(r.RequestURI) > mostURL:
		s.refuse(w, r, problem(http.StatusRequestURITooLong, badQuery, "the address is too long"))
	case s.Private && !loopback(r.Host) && !isDelivery(r.URL.Path): // a proxy sends those on, and their signatures tell who posts
		s.refuse(w, r, problem(http.StatusForbidden, wrongHost, "this server is for this machine only: ask for localhost"))
	case s.crossSite.Check(r) != nil:
		s.refuse(w, r, problem(http.StatusForbidden, crossSite, "a page of another site sent this request"))
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// loopback reports whether a Host header names this machine, by a name that nobody else can give an address.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, p *remote.Problem) {
	s.tell(w, r, p, landscape.AccessToken{})
}

// tell sends a problem to who asked, as a page or as JSON.
func (s *Server) tell(w http.ResponseWriter, r *http.Request, p *remote.Problem, token landscape.AccessToken) {
	if isPage(r.URL.Path) {
		s.refusePage(w, r, p, token)
	} else {
		sendProblem(w, p, w.Header().Get("Request-Id"))
	}
	s.log(r, p.Status, token.ID, p.Code)
}

// log writes one line about a request: never a body, a query or a header.
func (s *Server) log(r *http.Request, status int, token string, code client.Code) {
	level := slog.LevelInfo
	if status < 400 && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		level = slog.LevelDebug
	}
	s.Logger.Log(r.Context(), level, "request", "method", r.Method, "route", r.Pattern, "status", status, "access", token, "code", string(code))
}

// A call is a request that a route answers.
type call struct {
	*http.Request
	server *Server
	route  *route
	w      http.ResponseWriter
	token  oidc.Caller
	query  url.Values
	// counted is when the token was last found to count.
	counted time.Time
	sent    bool // the handler sent its answer itself
	status  int  // of the answer; 0 for that of the route
}

// serve answers a request that a route is for.
func (s *Server) serve(w http.ResponseWriter, request *http.Request, r *route) {
	c := &call{Request: request, server: s, route: r, w: w}
	defer c.limited().release()
	err := defect.Catch("request", func() error {
		answer, err := c.run()
		switch {
		case err != nil || c.sent:
		case r.page():
			err = c.sendPage(answer)
		default:
			err = c.send(answer)
		}
		return err
	})
	if err == nil {
		s.log(request, c.status, c.token.ID, "")
		return
	}
	if c.sent { // too late to say anything
		s.Logger.Debug("a stream broke off", "route", request.Pattern, "error", err)
		if _, defective := errors.AsType[*defect.Error](err); defective {
			panic(http.ErrAbortHandler) // what came must not pass for all of it
		}
		return
	}
	if request.Context().Err() != nil { // the client has gone: nothing is wrong here
		err = client.UnlessStopped(request.Context(), err)
	}
	p, known := problemOf(err)
	if !known {
		s.Logger.Error("request failed", "route", request.Pattern, "request", w.Header().Get("Request-Id"), "error", err)
	}
	s.tell(w, request, p, c.token.AccessToken)
}

// run does what the route does, for who may.
func (c *call) run() (any, error) {
	if err := c.admit(); err != nil {
		return nil, err
	}
	if err := c.readQuery(); err != nil {
		return nil, err
	}
	if c.Method != http.MethodGet && c.Method != http.MethodHead {
		defer c.server.answers.orders.Add(1) // what is done, nobody sees undone
	}
	return c.route.handle(c)
}

// admit refuses who may not use the route.
func (c *call) admit() error {
	if c.route.scope == open {
		return nil
	}
	token, err := c.who()
	if err != nil {
		return err
	}
	c.token, c.counted = token, time.Now()
	if r := c.server.Rate; r > 0 && !c.server.rates.bucket("token "+callerOf(token), rate.Limit(r), int(2*r)).Allow() {
		return tooFast(1, "requests with this access token come faster than they may")
	}
	for _, s := range c.route.scopes() {
		if !token.Has(allowed[s]...) {
			return needs(c.route.scopes()...)
		}
	}
	return nil
}

// needs is the problem with an access token that lacks a role for one of these scopes. It names the roles of all of
// them: who is granted one should not come back to hear of the next.
func needs(scopes ...scope) *remote.Problem {
	var sets []string
	for _, s := range scopes {
		sets = append(sets, "one of the roles "+rolesText(s))
	}
	return problem(http.StatusForbidden, forbidden,
		"this access token is not for this: it needs "+strings.Join(sets, ", and with it "))
}

// known returns the access token that somebody sent, if it counts.
func (c *call) known(sent string) (landscape.AccessToken, error) {
	token, counts, err := c.server.Home.Authenticate(c.Context(), sent)
	switch {
	case err != nil:
		return token, err
	case !counts && !c.server.mayFail(c.RemoteAddr):
		return token, tooManyFail()
	case !counts:
		return token, problem(http.StatusUnauthorized, badToken, "this access token does not count: nobody granted it, it has expired, or somebody revoked it")
	}
	return token, nil
}

// mayFail reports whether one more request from an address may have an access token that does not count. Those that count always may come.
func (s *Server) mayFail(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	return s.Rate == 0 || s.rates.bucket("address "+host, rate.Every(time.Minute/failedLogins), failedLogins).Allow()
}

func rolesText(s scope) string {
	var words []string
	for _, role := range allowed[s] {
		words = append(words, string(role))
	}
	return strings.Join(words, ", ")
}

// rolesText says which roles the route is for.
func (r *route) rolesText() string {
	words := make([]string, 0, 2)
	for _, s := range r.scopes() {
		words = append(words, rolesText(s))
	}
	return strings.Join(words, " and ")
}

func tooFast(after int, detail string) *remote.Problem {
	p := problem(http.StatusTooManyRequests, tooMany, detail)
	p.After = after
	return p
}

// mostRates is of how many callers it is known how often they ask. When there are more, all begin again.
const mostRates = 10_000

// rates count the requests of access tokens, and of addresses whose access tokens do not count.
type rates struct {
	mu sync.Mutex
	of map[string]*rate.Limiter
}

// bucket returns what counts the requests of somebody.
func (r *rates) bucket(of string, limit rate.Limit, burst int) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil || len(r.of) > mostRates {
		r.of = map[string]*rate.Limiter{}
	}
	if r.of[of] == nil {
		r.of[of] = rate.NewLimiter(limit, burst)
	}
	return r.of[of]
}

// readQuery refuses a query with anything that the route does not take.
func (c *call) readQuery() (err error) {
	if c.query, err = url.ParseQuery(c.URL.RawQuery); err != nil {
		return problem(http.StatusBadRequest, badQuery, "the query cannot be read: "+err.Error())
	}
	if c.route.page() { // a field of a form that nobody filled
		for name, values := range c.query {
			if len(values) == 1 && values[0] == "" {
				c.query.Del(name)
			}
		}
	}
	for name, values := range c.query {
		p := c.route.takes(name)
		switch {
		case p == nil && c.route.others:
			continue
		case p == nil:
			return problem(http.StatusBadRequest, badQuery, fmt.Sprintf("there is no parameter %.64q: %s", name, c.route.paramsText()))
		case len(values) > 1 && !p.many:
			return problem(http.StatusBadRequest, badQuery, name+" is there twice")
		}
		for _, value := range values {
			if p.values != nil && !slices.Contains(p.values, value) {
				return problem(http.StatusBadRequest, badQuery, fmt.Sprintf("%s %.64q: choose among %s", name, value, strings.Join(p.values, ", ")))
			}
			if n, err := strconv.ParseInt(value, 10, 64); p.number && (err != nil || n < 0) {
				return problem(http.StatusBadRequest, badQuery, fmt.Sprintf("%s %.64q is no whole number from 0", name, value))
			}
		}
	}
	return nil
}

// paramsText lists the parameters of a route.
func (r *route) paramsText() string {
	if len(r.query) == 0 {
		return "this route takes none"
	}
	var names []string
	for _, p := range r.query {
		names = append(names, p.name)
	}
	return "this route takes " + strings.Join(names, ", ")
}

// send encodes an answer. One that the caller has already is not sent again.
func (c *call) send(answer any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body) // with <, > and & escaped: whatever a browser takes it for
	if err := encoder.Encode(answer); err != nil {
		return err
	}
	if c.status == 0 {
		c.status = c.route.status
	}
	header := c.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	if c.Method == http.MethodGet || c.Method == http.MethodHead {
		sum := sha256.Sum256(body.Bytes())
		tag := `"` + hex.EncodeToString(sum[:16]) + `"`
		header.Set("ETag", tag)
		header.Set("Cache-Control", "private, no-cache")
		if matches(c.Header.Get("If-None-Match"), tag) {
			c.status = http.StatusNotModified
			c.w.WriteHeader(c.status)
			return nil
		}
	}
	c.w.WriteHeader(c.status)
	_, err := c.w.Write(body.Bytes())
	if err != nil {
		c.server.Logger.Debug("an answer was not taken", "error", err)
	}
	return nil
}

// matches reports whether an If-None-Match names the tag.
func matches(header, tag string) bool {
	return slices.ContainsFunc(strings.Split(header, ","), func(word string) bool {
		word = strings.TrimSpace(word)
		return word == "*" || strings.TrimPrefix(word, "W/") == tag
	})
}

// by says who the caller is, for the record.
func (c *call) by(why string) client.By {
	return client.By{Actor: c.token.Name, Trigger: activities.TriggerAPI, Why: why}
}

// decode reads the body: JSON, or a form of a page.
func (c *call) decode(v any) error {
	if c.route.page() {
		return c.form(v)
	}
	return decode(c.Request, v)
}

// disclose records that the caller is about to be shown values, whose token may have ended while they were found.
func (c *call) disclose(run, what, subject string) error {
	if err := c.counts(); err != nil {
		return err
	}
	if err := c.server.Home.Disclose(c.Context(), run, c.token.AccessToken, what, subject); err != nil {
		if c.Context().Err() != nil || errors.Is(err, context.Canceled) {
			return client.UnlessStopped(c.Context(), err)
		}
		c.server.Logger.Error("who is shown values cannot be recorded", "error", err)
		return problem(http.StatusServiceUnavailable, notDisclosed, "that you are shown values could not be recorded, so you are not")
	}
	return nil
}
