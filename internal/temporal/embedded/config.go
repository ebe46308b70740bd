package embedded

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/grpc"

	"waymark/internal/defect"
	"waymark/internal/processors"
)

// clusterName is stored in databases; never rename.
const clusterName = "active"

// settings are the package's own dynamic configuration.
var settings = map[string]any{
	// The queues of the one shard are read as soon as something is in them. By default they are read 20 times a second at
	// most, which costs 45 ms for each activity of a sequence.
	"history.transferProcessorMaxPollRPS":   2000,
	"history.timerProcessorMaxPollRPS":      2000,
	"history.visibilityProcessorMaxPollRPS": 2000,

	// A timer fires when it is due. By default none fires within a second.
	"history.timerProcessorMaxTimeShift": 10 * time.Millisecond,

	// A client that waits for a workflow's end hears of it at once, or when its question expires: a notification that comes just
	// before the question is missed. By default that costs 20 s, seen once in 25 short runs on a busy machine.
	"history.longPollExpirationInterval": time.Second,

	// Tasks are given out however the machine's clock is set. The other matcher limits their rate by the time of day: once the
	// clock is set back, it gives out none until the clock shows the old time again.
	"matching.useNewMatcher": false,

	// A run that continues in a history of its own does so at once. A timer, which by default waits for a second to pass since its
	// beginning, would wait for as long as the clock was set back.
	"history.workflowIdReuseMinimalInterval": time.Duration(0),

	// Workflows that have ended stay in memory, 25 KB each, until others need the room. By default that are 128,000, for an hour.
	"history.hostLevelCacheMaxSize": 1_024,

	// One server answers for all of a task queue.
	"matching.numTaskqueueReadPartitions":  1,
	"matching.numTaskqueueWritePartitions": 1,
}

// brief are settings of a server that may have but a moment: it notes soon which tasks of its queues are done. The next
// server does again what is not noted when this one stops. By default it is noted after 30 s, and each of many short runs
// did the tasks of all before it: 0.8 ms of CPU for each. A server without anything to do takes 0.5 % of a core more.
var brief = map[string]any{
	"history.transferProcessorUpdateAckInterval":   noteEvery,
	"history.timerProcessorUpdateAckInterval":      noteEvery,
	"history.visibilityProcessorUpdateAckInterval": noteEvery,
}

const noteEvery = 100 * time.Millisecond

func (o Options) dynamicConfig() dynamicconfig.StaticClient {
	layers := []map[string]any{settings, brief, o.Settings}
	if o.Schedules {
		layers = []map[string]any{settings, o.Settings}
	}
	merged := dynamicconfig.StaticClient{}
	for _, layer := range layers {
		for key, value := range layer {
			merged[dynamicconfig.MakeKey(key)] = value
		}
	}
	return merged
}

func serverOptions(o Options, database *config.SQL, p ports, l *logger, opened *connections) []temporal.ServerOption {
	services := []string{string(frontend), string(history), string(matching)}
	if o.Schedules {
		services = append(services, string(worker))
	}
	return []temporal.ServerOption{
		temporal.WithConfig(serverConfig(database, p)),
		temporal.ForServices(services),
		temporal.WithStaticHosts(p.hosts()), // instead of a gossip protocol in search of others
		temporal.WithLogger(l),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler), // instead of a listener
		temporal.WithClientFactoryProvider(opened),
		temporal.WithDynamicConfigClient(o.dynamicConfig()),
		temporal.WithChainedFrontendGrpcInterceptors(o.intercept),
	}
}

// intercept refuses what is admitted from nobody, calls Asked, and lets the process know of orders.
func (o Options) intercept(
	ctx context.Context, request any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	if err := admit(call.FullMethod, request); err != nil {
		return nil, err
	}
	switch request := request.(type) {
	case *workflowservice.UpdateWorkflowExecutionRequest:
		processors.Order()
	case *workflowservice.QueryWorkflowRequest:
		if o.Asked == nil {
			break
		}
		asked := func() error {
			return o.Asked(ctx, request.GetExecution().GetWorkflowId(), request.GetExecution().GetRunId())
		}
		if err := defect.Catch("temporal", asked); err != nil { // Temporal's server catches none of its own
			return nil, err
		}
	}
	return next(ctx, request)
}

func serverConfig(database *config.SQL, p ports) *config.Config {
	return &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: loopback}},
		Persistence: config.Persistence{
			DefaultStore:     sqlite.PluginName,
			VisibilityStore:  sqlite.PluginName,
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{sqlite.PluginName: {SQL: database}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: p.address(frontend)},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            p.services(),
		PublicClient:        config.PublicClient{HostPort: p.address(frontend)},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
		}},
	}
}
