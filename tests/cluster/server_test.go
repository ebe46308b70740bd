package cluster_test

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"waymark/internal/temporal/embedded"
)

// With these variables the test's binary is a Temporal server on a database and a port: what a cluster's server is to
// its workers.
const (
	serverVariable = "CLUSTER_SERVER"
	portVariable   = "CLUSTER_PORT"
)

// serve is a Temporal server until the process is killed. It returns the exit code if it cannot be one.
func serve(database string) int {
	port, err := strconv.Atoi(os.Getenv(portVariable))
	if err == nil {
		_, err = embedded.Start(context.Background(), embedded.Options{DatabasePath: database, Port: port})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	select {}
}
