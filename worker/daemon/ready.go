package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"waymark/internal/defect"
)

// probeTimeout is how long a service may take to answer a probe.
const probeTimeout = 3 * time.Second

// probePause is how long an answer counts, however many ask.
const probePause = time.Second

// errNotYet is the state of a service before the first try to reach it.
var errNotYet = errors.New("not reached yet")

// readiness knows whether the process can work: every service that it needs answers. It is safe for concurrent use.
type readiness struct {
	mu       sync.Mutex
	services []service // in the order in which they are shown
	probed   time.Time
}

type service struct {
	name  string
	probe func(context.Context) error // nil before the service is reached
	err   error
}

// newReadiness returns one of services that are not reached yet.
func newReadiness(names ...string) *readiness {
	r := new(readiness)
	for _, name := range names {
		r.services = append(r.services, service{name: name, err: errNotYet})
	}
	return r
}

// set says how the service is doing: probe tells, or else err. Neither says that it is well.
func (r *readiness) set(name string, probe func(context.Context) error, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.services {
		if r.services[i].name == name {
			r.services[i] = service{name, probe, err}
		}
	}
	r.probed = time.Time{}
}

// ask probes all services at once, unless that was done just now, and returns a line for each, and whether all are well.
func (r *readiness) ask(ctx context.Context) (lines []string, ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.probed) > probePause {
		r.probe(ctx)
	}
	ready = true
	for _, s := range r.services {
		if s.err != nil {
			ready = false
			lines = append(lines, fmt.Sprintf("%s: %v", s.name, s.err))
			continue
		}
		lines = append(lines, s.name+": ok")
	}
	return lines, ready
}

// checks returns of each service whether it is well, as ask finds it.
func (r *readiness) checks(ctx context.Context) map[string]bool {
	r.ask(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	well := map[string]bool{}
	for _, s := range r.services {
		well[s.name] = s.err == nil
	}
	return well
}

func (r *readiness) probe(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, probeTimeout)
	defer done()
	var all sync.WaitGroup
	for i := range r.services {
		if s := &r.services[i]; s.probe != nil {
			all.Go(func() { s.err = defect.Catch("probe", func() error { return s.probe(ctx) }) })
		}
	}
	all.Wait()
	r.probed = time.Now()
}

// ServeHTTP answers 200 if the process is ready, else 503, with a line for each service.
func (r *readiness) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	lines, ready := r.ask(context.WithoutCancel(request.Context()))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintln(w, strings.Join(lines, "\n"))
}
