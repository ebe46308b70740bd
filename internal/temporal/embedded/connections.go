package embedded

import (
	"errors"
	"sync"

	"go.temporal.io/server/client"
	"go.temporal.io/server/common"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/testing/testhooks"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// connections are those between the services of a server, which Temporal leaves open when it stops.
type connections struct {
	mu   sync.Mutex
	open []*grpc.ClientConn
}

// NewFactory makes what connects a service to the others.
func (c *connections) NewFactory(
	factory common.RPCFactory, monitor membership.Monitor, handler metrics.Handler, dc *dynamicconfig.Collection,
	hooks testhooks.TestHooks, shards int32, logger, throttled log.Logger,
) client.Factory {
	return client.NewFactoryProvider().NewFactory(connecting{factory, c}, monitor, handler, dc, hooks, shards, logger, throttled)
}

func (c *connections) add(opened *grpc.ClientConn) *grpc.ClientConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, opened)
	return opened
}

// close closes the connections. One that Temporal closed itself is no error.
func (c *connections) close() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, connection := range c.open {
		if failed := connection.Close(); status.Code(failed) != codes.Canceled {
			err = errors.Join(err, failed)
		}
	}
	c.open = nil
	return err
}

// connecting notes the connections that a service opens.
type connecting struct {
	common.RPCFactory
	opened *connections
}

func (c connecting) CreateRemoteFrontendGRPCConnection(address string) *grpc.ClientConn {
	return c.opened.add(c.RPCFactory.CreateRemoteFrontendGRPCConnection(address))
}

func (c connecting) CreateLocalFrontendGRPCConnection() *grpc.ClientConn {
	return c.opened.add(c.RPCFactory.CreateLocalFrontendGRPCConnection())
}

func (c connecting) CreateHistoryGRPCConnection(address string) *grpc.ClientConn {
	return c.opened.add(c.RPCFactory.CreateHistoryGRPCConnection(address))
}

func (c connecting) CreateMatchingGRPCConnection(address string) *grpc.ClientConn {
	return c.opened.add(c.RPCFactory.CreateMatchingGRPCConnection(address))
}
