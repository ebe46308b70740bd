// Package workercomponent adds no workflows to the workers of Temporal's server.
package workercomponent

import "go.uber.org/fx"

// Module provides nothing.
var Module = fx.Options()
