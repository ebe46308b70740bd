// Package freeport finds ports of this machine that are free, and stay so until who is told of one opens it.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// The ports from which Listen chooses. Systems give them neither to connections that go out nor to who listens on port
// 0 (those of Linux begin at 32768, others' at 49152): on a busy machine such a port, closed to be opened by another
// process, is soon taken.
const (
	first = 20_000
	after = 32_768
)

// attempts is how many ports Listen tries. Even if half of all ports were taken, it would fail once in 10¹⁰ calls.
const attempts = 33

// Listen listens on a port of the loopback; 0 stands for one that was free. The error is syscall.EADDRINUSE if another
// process listens on the port, or on all that were tried.
func Listen(port int) (net.Listener, error) {
	for attempt := 1; ; attempt++ {
		tried := port
		if port == 0 {
			tried = first + rand.IntN(after-first) //nolint:gosec // a port is no secret
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(tried)))
		if err == nil || port != 0 || attempt == attempts || !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
}
