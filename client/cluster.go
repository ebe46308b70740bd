package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"unicode"

	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"waymark/internal/temporal/belonging"
	"waymark/internal/temporal/cluster"
	"waymark/internal/temporal/codec"
	"waymark/workflows"
)

// Cluster says how to reach a Temporal cluster whose workers execute runs.
type Cluster struct {
	Address   string // HOST:PORT, or env for what the environment says, as TEMPORAL_ADDRESS
	Queue     string // of its workers; empty for the default
	Files     string // how its workers call the files that this machine sees; empty for the host's name
	CodecFile string // with the keys by which the workers encrypt what Temporal stores; empty for those in CodecKeys
	CodecKeys string // empty if the workers do not encrypt

	// Present returns the address at which the server is now, or an empty one while it is away: a connection that broke is made again there. Nil
	// if it is always at Address.
	Present func() string

	// Gone reports whether the server ended and nobody has started it again for some time; nil if others look after it.
	Gone func() bool

	// Env has Temporal's environment configuration, which says what Address does not: the namespace, certificates, an API key. Nil for the
	// environment of the process.
	Env Lookup
}

// CodecIDs returns the id of the key with which this process encrypts what Temporal stores, and those of the others that it reads with; empty and nil if it encrypts
// nothing.
func (c *Cluster) CodecIDs() (first string, others []string, err error) {
	encrypts, err := codec.Load(c.CodecFile, c.CodecKeys, false)
	first, others = encrypts.Keys()
	return first, others, err
}

// Lookup returns the value of an environment variable, and whether it is set.
type Lookup = func(name string) (value string, set bool)

// TaskQueue is the queue of the cluster's workers.
func (c *Cluster) TaskQueue() string { return cmp.Or(c.Queue, workflows.TaskQueue) }

// FilesName is how the cluster's workers call the files that this machine sees.
func (c *Cluster) FilesName() string { return cmp.Or(c.Files, HostName()) }

// Dial connects to the cluster, which knows this process by the identity. The error is an *Error of kind Invalid if the Cluster is
// malformed, and Unavailable if the cluster does not answer; it says what to check. The caller closes the Temporal client of the Connection.
func (c *Cluster) Dial(ctx context.Context, identity string) (*Connection, error) {
	o, err := c.options(identity)
	if err != nil {
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: err.Error(), Err: err}
	}
	connected, err := cluster.Dial(ctx, o)
	if err != nil {
		return nil, c.away(err)
	}
	return Connect(connected, o, "temporal at "+cluster.Place(o)), nil
}

// Share returns a connection that Dial made, for one more user, who closes the Temporal client as if it were his own:
// no other connection is made. The error is that of Dial if the cluster does not answer now.
func (c *Cluster) Share(ctx context.Context, made *Connection) (*Connection, error) {
	patience, done := context.WithTimeout(ctx, 2*AnswerTimeout)
	defer done()
	if err := cluster.Answers(patience, made.Temporal, made.options); err != nil {
		return nil, c.away(UnlessStopped(ctx, err))
	}
	again, err := sdk.NewClientFromExistingWithContext(ctx, made.Temporal, made.options)
	if err != nil {
		return nil, c.away(err)
	}
	shared := *made
	shared.Temporal = again
	return &shared, nil
}

// away words why a cluster does not answer.
func (c *Cluster) away(err error) error {
	if fault, is := errors.AsType[*cluster.Fault](err); is && c.Present != nil && !fault.Lasting {
		fault.Cure = "it is the server of the state folder, which starts or ends just now: " +
			"try again, or start it again with waymark serve"
	}
	return UnlessAway(err)
}

func (c *Cluster) options(identity string) (sdk.Options, error) {
	env := environment(os.LookupEnv)
	if c.Env != nil {
		env = c.Env
	}
	if strings.ContainsFunc(c.Files, func(r rune) bool { return strings.ContainsRune("@/ ", r) || unicode.IsControl(r) }) {
		return sdk.Options{}, fmt.Errorf("%.64q is not the name of files: no worker can be started with such --files, which may have no spaces, @ or /", c.Files)
	}
	o, err := cluster.Options(c.Address, env)
	if err != nil {
		return o, err
	}
	encrypts, err := codec.Load(c.CodecFile, c.CodecKeys, false)
	if err != nil {
		return o, err
	}
	codec.ClientOptions(&o, encrypts)
	o.Identity, o.ContextPropagators = identity, []workflow.ContextPropagator{belonging.Propagator{}}
	if c.Present != nil {
		o.ConnectionOptions.DialOptions = append(o.ConnectionOptions.DialOptions, grpc.WithContextDialer(c.dialPresent))
	}
	return o, nil
}

// dialPresent connects to where the server is now.
func (c *Cluster) dialPresent(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", cmp.Or(c.Present(), address))
}

// environment is a Lookup as Temporal's environment configuration wants it.
type environment Lookup

// LookupEnv returns an environment variable and whether it is set.
func (e environment) LookupEnv(name string) (string, bool) { return e(name) }

// Environ returns all environment variables.
func (environment) Environ() []string { return os.Environ() }
