// Package workers_test runs pipelines on worker processes beside a Temporal server: on a cluster as docker-compose.yml
// makes one (cluster), in the test's process (daemon), with documents and an environment full of secrets (secrets), and
// with processes that stand still in the middle of their work (zombies).
package workers_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"waymark/internal/temporal/embedded"
	"waymark/tests/services"
	"waymark/tests/services/buckets"
)

// atOnce is how many tests go on at the same time, unless -parallel says otherwise: they mostly wait.
const atOnce = 6

// With these variables the test's binary is a Temporal server on a database and a port: what a cluster's server is to
// its workers. With the third, Temporal's schedules fire.
const (
	serverVariable    = "WORKERS_SERVER"
	portVariable      = "WORKERS_PORT"
	schedulesVariable = "WORKERS_SCHEDULES"
)

// workerVariable makes the test's binary a worker that can be stopped at a moment.
const workerVariable = "WORKERS_WORKER"

func TestMain(m *testing.M) {
	if database := os.Getenv(serverVariable); database != "" {
		os.Exit(serveTemporal(database))
	}
	if os.Getenv(workerVariable) != "" {
		os.Exit(workForRuns(os.Args[1:]))
	}
	services.SideBySide(atOnce)
	flag.Parse()
	code := buckets.Main(m)
	if line := scaleLine(); line != "" {
		fmt.Println(line)
	}
	os.Exit(code)
}

// serveTemporal is a Temporal server until the process is killed. It returns the exit code if it cannot be one.
func serveTemporal(database string) int {
	port, err := strconv.Atoi(os.Getenv(portVariable))
	if err == nil {
		_, err = embedded.Start(context.Background(), embedded.Options{
			DatabasePath: database, Port: port, Schedules: os.Getenv(schedulesVariable) != "",
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	select {}
}
