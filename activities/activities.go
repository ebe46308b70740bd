// Package activities does what the workflow decides: it fetches, lets the engine work, stores and records. It holds no
// policy. Every activity may run twice, also at the same time: each says by which key a repeat is harmless.
package activities

import (
	"cmp"
	"fmt"
	"os"

	"waymark/activities/recompute"
	"waymark/internal/processors"
	"waymark/landscape"
	"waymark/payload"
)

// Activities are the activities of a worker. Make one for each process.
type Activities struct {
	log      *landscape.Log
	payloads *payload.Store
	planner  recompute.Planner
	code     string
	worker   string
	host     string
	epoch    int64 // of the run, in the copy that an attempt works with: see inEpoch
	affinity Affinity
	runs     *runs
	flights  *flights
	usable   *usable
	shares   *shares

	publications *publications
}

// New returns the activities of a process that works alone. code is the version of the program, recorded with every run.
func New(log *landscape.Log, payloads *payload.Store, planner recompute.Planner, code string) *Activities {
	return NewAt(Affinity{}, log, payloads, planner, code)
}

// NewAt returns the activities of a process at the place.
func NewAt(affinity Affinity, log *landscape.Log, payloads *payload.Store, planner recompute.Planner, code string) *Activities {
	host, _ := HostName()
	return &Activities{
		log:      log,
		payloads: payloads,
		planner:  planner,
		code:     code,
		runs:     &runs{places: processors.OfProcess()},
		flights:  &flights{over: executionOver},
		affinity: affinity,
		usable:   new(usable),
		shares:   new(shares),

		publications: new(publications),
		host:         cmp.Or(affinity.Files, host),
		worker:       ProcessName(),
	}
}

// ProcessName names this process in records: host and process id. The host is "unknown" if the system does not name it.
func ProcessName() string {
	host, _ := HostName()
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// HostName returns the name of this machine as records have it: "unknown", and an error, if the system does not say.
func HostName() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "unknown", err
	}
	return host, nil
}
