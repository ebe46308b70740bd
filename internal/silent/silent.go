// Package silent ends TCP connections whose other end is unreachable. A machine that loses its power, or a network that
// drops packets, closes no connection: by default the kernel gives up only after a quarter of an hour.
package silent

import (
	"context"
	"net"
	"syscall"
	"time"
)

// Patience is how long the other end of a connection may acknowledge nothing: neither what was sent, nor the question
// whether it is still there, which is asked on a connection at rest. One that acknowledges, and computes, has all the
// time that it wants.
const Patience = 30 * time.Second

// probes is how often a connection at rest is asked within the patience.
const probes = 3

// Dialer returns a dialer whose connections end after the patience; beyond Linux, those at rest. Each operation that
// waits on such a connection fails with syscall.ETIMEDOUT, and so does each later one. control is called before a
// connection is made, as in [net.Dialer]; it may be nil.
func Dialer(
	patience time.Duration, control func(ctx context.Context, network, address string, c syscall.RawConn) error,
) *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: patience / probes, Interval: patience / probes, Count: probes - 1,
		},
		ControlContext: func(ctx context.Context, network, address string, c syscall.RawConn) error {
			if control != nil {
				if err := control(ctx, network, address, c); err != nil {
					return err
				}
			}
			return limit(network, c, patience)
		},
	}
}
