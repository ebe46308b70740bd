package embedded

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"

	"waymark/internal/freeport"
)

// loopback is the only address that the server listens on.
const loopback = "127.0.0.1"

const (
	frontend = primitives.FrontendService
	history  = primitives.HistoryService
	matching = primitives.MatchingService
	worker   = primitives.WorkerService
)

// ports are where the server's services listen.
type ports map[primitives.ServiceName]int

// choosePorts returns the given port, or a free one if it is 0, for the frontend, and free ones for the other services.
// The server opens them later; until then another process can take one that it chose as well.
func choosePorts(forFrontend int) (ports, error) {
	p := ports{}
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close() // nobody connected to it
		}
	}()
	for _, service := range []primitives.ServiceName{frontend, history, matching, worker} {
		port := 0
		if service == frontend {
			port = forFrontend
		}
		l, err := freeport.Listen(port)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("%w: another process listens on %s:%d", ErrPortTaken, loopback, port)
		}
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, l)
		p[service] = l.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

func (p ports) address(service primitives.ServiceName) string {
	return net.JoinHostPort(loopback, strconv.Itoa(p[service]))
}

func (p ports) hosts() map[primitives.ServiceName]static.Hosts {
	hosts := map[primitives.ServiceName]static.Hosts{}
	for service := range p {
		hosts[service] = static.SingleLocalHost(p.address(service))
	}
	return hosts
}

func (p ports) services() map[string]config.Service {
	services := map[string]config.Service{}
	for service, port := range p {
		services[string(service)] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: loopback}}
	}
	return services
}
