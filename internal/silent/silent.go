// Package silent ends TCP connections on which nobody answers any more. A machine that lost its power, or a network
// that carries nothing, says no word: by default the kernel waits for a quarter of an hour, and the program with it.
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
