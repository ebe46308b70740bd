// Package activities does what the workflow decides: it fetches, lets the engine work, stores and records. It holds no
// policy. Every activity may run twice, also at the same time: each says by which key a repeat is harmless.
package activities

import (
	"fmt"
	"os"

	"waymark/landscape"
	"waymark/payload"
	"waymark/plan"
)

// Planner compiles documents on this machine, with this machine's environment variables and secrets.
type Planner interface {
	// Plan compiles a document. folder is where its relative paths start. tables are the contents of its lookup tables by
	// node; those that are not there are read from their files. The error is pipeline.Problems if the document is at fault.
	Plan(file, folder string, document []byte, params map[string]string, tables map[string][]byte) (*plan.Plan, error)
}

// Activities are the activities of a worker. Make one for each process.
type Activities struct {
	log      *landscape.Log
	payloads *payload.Store
	planner  Planner
	code     string
	worker   string
	host     string
	runs     runs
}

// New returns the activities. code is the version of the program, recorded with every run.
func New(log *landscape.Log, payloads *payload.Store, planner Planner, code string) *Activities {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Activities{
		log: log, payloads: payloads, planner: planner, code: code,
		host: host, worker: fmt.Sprintf("%s/%d", host, os.Getpid()),
	}
}
