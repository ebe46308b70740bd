// Temporal is a Temporal server in a process of its own, for tests: what a cluster's server is to its workers. It listens on
// 127.0.0.1 at the port of its second argument, keeps its state in the file of its first, and ends with SIGTERM, or without any
// warning.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"waymark/internal/temporal/embedded"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: %s DATABASE PORT", os.Args[0])
	}
	port, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server, err := embedded.Start(ctx, embedded.Options{DatabasePath: os.Args[1], Port: port})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	<-ctx.Done()
	return server.Stop()
}
