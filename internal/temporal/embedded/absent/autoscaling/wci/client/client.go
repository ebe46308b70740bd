// Package client answers Temporal's server when it asks for worker controllers: there are none.
package client

import (
	"context"

	"go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.uber.org/fx"

	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
	"go.temporal.io/server/common/namespace"
)

// Module provides the Client.
var Module = fx.Provide(func() Client { return absent{} })

// Client is what the server asks of worker controllers.
type Client interface {
	// DescribeWorkerControllerInstance describes the controller of a version of workers. Without one it gives *serviceerror.NotFound.
	DescribeWorkerControllerInstance(ctx context.Context, in *namespace.Namespace, version *deployment.WorkerDeploymentVersion,
	) (*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error)
	// ValidateWorkerControllerInstanceSpec says why a controller cannot be changed like this.
	ValidateWorkerControllerInstanceSpec(ctx context.Context, in *namespace.Namespace, version *deployment.WorkerDeploymentVersion,
		identity string, upsert map[string]iface.ScalingGroupSpecUpdate, remove []string) error
	// UpdateWorkerControllerInstance changes the controller of a version of workers, or makes it. The token is that of the
	// description which the change is based on, or nil.
	UpdateWorkerControllerInstance(ctx context.Context, in *namespace.Namespace, version *deployment.WorkerDeploymentVersion,
		token []byte, identity string, upsert map[string]iface.ScalingGroupSpecUpdate, remove []string,
	) (*iface.UpdateWorkerControllerInstanceResponse, error)
	// DeleteWorkerControllerInstance removes the controller of a version of workers, if there is one.
	DeleteWorkerControllerInstance(ctx context.Context, in *namespace.Namespace, version *deployment.WorkerDeploymentVersion, identity string) error
}

const sentence = "worker controllers are not part of this program: its Temporal server starts no workers"

type absent struct{}

func (absent) DescribeWorkerControllerInstance(context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion,
) (*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error) {
	return nil, nil, serviceerror.NewNotFound(sentence)
}

func (absent) ValidateWorkerControllerInstanceSpec(context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion,
	string, map[string]iface.ScalingGroupSpecUpdate, []string,
) error {
	return serviceerror.NewUnimplemented(sentence)
}

func (absent) UpdateWorkerControllerInstance(context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion,
	[]byte, string, map[string]iface.ScalingGroupSpecUpdate, []string,
) (*iface.UpdateWorkerControllerInstanceResponse, error) {
	return nil, serviceerror.NewInvalidArgument(sentence) // which no retry cures
}

func (absent) DeleteWorkerControllerInstance(context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion, string) error {
	return nil
}
