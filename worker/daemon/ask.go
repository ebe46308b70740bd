package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// askTimeout is more than a process takes to probe its services.
const askTimeout = probeTimeout + time.Second

// maxAnswerBytes is more than a process has to say of its services.
const maxAnswerBytes = 16 << 10

// Ready asks the process that listens on this machine whether it can work; c says where it listens. The error says what it lacks.
// Containers without a shell are checked by it.
func Ready(ctx context.Context, c Config) error {
	if c.HTTP == off {
		return &UsageError{fmt.Errorf("--http is off: nobody can be asked")}
	}
	host, port, err := net.SplitHostPort(c.HTTP)
	if err != nil {
		return &UsageError{checkAddress("--http", c.HTTP)}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // it listens on all addresses
	}
	ctx, done := context.WithTimeout(ctx, askTimeout)
	defer done()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := new(http.Transport).RoundTrip(request) // without a proxy
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	if closed := answer.Body.Close(); err == nil {
		err = closed
	}
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("not ready: %s", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; "))
	}
	return err
}
