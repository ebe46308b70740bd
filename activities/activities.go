// Package activities does what the workflow decides: it fetches, lets the engine work, stores and records. It holds no
// policy. Every activity may run twice, also at the same time: each says by which key a repeat is harmless.
package activities

import (
	"cmp"
	"fmt"
	"os"

	"waymark/landscape"
	"waymark/payload"
	"waymark/plan"
)

// Planner compiles documents on this machine, with this machine's environment variables and secrets.
type Planner interface {
	// Plan compiles a document. Equal requests give equal plans as long as environment variables, secrets, and the tables
	// that the request does not hold stay as they are. The error is pipeline.Problems if the document is at fault.
	Plan(request plan.Request) (*plan.Plan, error)
}

// Activities are the activities of a worker. Make one for each process.
type Activities struct {
	log      *landscape.Log
	payloads *payload.Store
	planner  Planner
	code     string
	worker   string
	host     string
	place    Place
	runs     *runs
}

// New returns the activities of a process that works alone. code is the version of the program, recorded with every run.
func New(log *landscape.Log, payloads *payload.Store, planner Planner, code string) *Activities {
	return NewAt(Place{}, log, payloads, planner, code)
}

// NewAt returns the activities of a process at the place.
func NewAt(place Place, log *landscape.Log, payloads *payload.Store, planner Planner, code string) *Activities {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Activities{
		log: log, payloads: payloads, planner: planner, code: code, runs: new(runs), place: place,
		host: cmp.Or(place.Files, host), worker: fmt.Sprintf("%s/%d", host, os.Getpid()),
	}
}
