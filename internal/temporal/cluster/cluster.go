// Package cluster reaches a Temporal cluster outside of the program: where it is and how to get in, in the words of Temporal's
// standard environment configuration, and what to check when it cannot be reached.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"

	"waymark/internal/temporal/beat"
)

// Environment is the address of a cluster that Temporal's environment configuration names.
const Environment = "env"

// dialTimeout is how long a cluster may take to answer.
const dialTimeout = 10 * time.Second

// Options returns how to reach the cluster at the address: HOST:PORT, or Environment. Whatever else there is to say comes from
// Temporal's standard environment configuration, as for Temporal's own tools: TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*,
// and the profile TEMPORAL_PROFILE of the file TEMPORAL_CONFIG_FILE. env is where variables are looked up; nil is the process's.
//
// HostPort and Namespace of the result are never empty. The client does not log, unless the caller sets a Logger. The error
// repeats no secret.
func Options(address string, env envconfig.EnvLookup) (client.Options, error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{EnvLookup: env})
	if err != nil {
		return client.Options{}, fmt.Errorf("the environment configuration of Temporal (TEMPORAL_*, TEMPORAL_CONFIG_FILE): %w", unquoted(err))
	}
	profile.APIKey = strings.TrimSpace(profile.APIKey) // a file that it was read from ends with a line end
	if address != Environment {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return client.Options{}, fmt.Errorf("temporal %q: write HOST:PORT, such as localhost:7233, or %s for what TEMPORAL_ADDRESS says", address, Environment)
		}
		profile.Address = address
	}
	profile.Address = cmp.Or(profile.Address, client.DefaultHostPort)
	profile.Namespace = cmp.Or(profile.Namespace, client.DefaultNamespace)
	o, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return client.Options{}, fmt.Errorf("the environment configuration of Temporal (TEMPORAL_TLS_*, or the tls part of a profile): %w", err)
	}
	o.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	return o, nil
}

// unquoted says of a file that cannot be read where that is, and not what is there: it may be a part of a key.
func unquoted(err error) error {
	var syntax interface{ ErrorWithUsage() string } // of envconfig's reader of TOML, which repeats what is written there
	if !errors.As(err, &syntax) {
		return err
	}
	if at := tomlPlace.FindStringSubmatch(err.Error()); at != nil {
		return fmt.Errorf("line %s, behind %s, is not as TOML is written", at[1], cmp.Or(at[2], `""`))
	}
	return errors.New("the file is not as TOML is written")
}

// tomlPlace finds where a file is wrong in what the reader of TOML says of it.
var tomlPlace = regexp.MustCompile(`toml: line (\d+)(?: \(last key ("(?:[^"\\]|\\.)*")\))?: `)

// Place says for people where the options lead: address, namespace, and how to get in.
func Place(o client.Options) string {
	words := []string{"namespace " + o.Namespace, "no TLS"}
	if tls := o.ConnectionOptions.TLS; tls != nil {
		words[1] = "TLS"
		if len(tls.Certificates) > 0 {
			words[1] = "TLS with a client certificate"
		}
	}
	if o.Credentials != nil {
		words = append(words, "API key")
	}
	return fmt.Sprintf("%s (%s)", o.HostPort, strings.Join(words, ", "))
}

// Dial connects to the cluster, and requires that it has the namespace. The error is a *Fault, but for ctx's own.
//
// The caller closes the client.
func Dial(ctx context.Context, o client.Options) (client.Client, error) {
	patience, done := context.WithTimeout(ctx, dialTimeout)
	defer done()
	c, err := client.DialContext(patience, beat.Tolerant(o))
	if err == nil {
		if err = answers(patience, c, o.Namespace); err == nil {
			return c, nil
		}
		c.Close()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, explain(ctx, o, err)
}

// Answers asks the cluster to which the client leads for the namespace: nil if it is there. The error is a *Fault. So that it can say what
// is wrong, a cluster that is silent has half of the time that ctx leaves.
func Answers(ctx context.Context, c client.Client, o client.Options) error {
	patience, done := ctx, func() {}
	if end, limited := ctx.Deadline(); limited {
		patience, done = context.WithTimeout(ctx, time.Until(end)/2)
	}
	defer done()
	if err := answers(patience, c, o.Namespace); err != nil {
		return explain(ctx, o, err)
	}
	return nil
}

func answers(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	return err
}

// Missing reports whether the error says that what was asked for is not there: a workflow, or its history.
func Missing(err error) bool {
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	return missing
}
