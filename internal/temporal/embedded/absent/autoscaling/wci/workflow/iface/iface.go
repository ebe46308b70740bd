// Package iface has the types of worker controllers that Temporal's server compiles against. No controller is part of this program.
package iface

import (
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
)

// Words for what a controller would use.
type (
	ComputeProviderType  string
	ScalingAlgorithmType string
	ValidationResult     string
)

// ValidationResultFailed says that a controller refused its specification.
const ValidationResultFailed ValidationResult = "failed"

// ComputeProviderSpec says where workers would be started.
type ComputeProviderSpec struct {
	ProviderType  ComputeProviderType
	Config        *common.Payload
	NexusEndpoint string
}

// ScalingAlgorithmSpec says how many would be started.
type ScalingAlgorithmSpec struct {
	ScalingAlgorithm ScalingAlgorithmType
	Config           *common.Payload
}

// ScalingGroupSpec says which tasks they would be started for.
type ScalingGroupSpec struct {
	TaskTypes []enums.TaskQueueType
	Compute   ComputeProviderSpec
	Scaling   *ScalingAlgorithmSpec
}

// ScalingGroupSpecUpdate changes the fields of a group that the mask names.
type ScalingGroupSpecUpdate struct {
	Spec       ScalingGroupSpec
	UpdateMask []string
}

// WorkerControllerInstanceSpec has the groups of a controller by name.
type WorkerControllerInstanceSpec struct{ ScalingGroupSpecs map[string]ScalingGroupSpec }

// QueryDescribeWorkerControllerInstanceResponse describes a controller.
type QueryDescribeWorkerControllerInstanceResponse struct {
	Spec             *WorkerControllerInstanceSpec
	ValidationStatus *ValidationStatus // nil: not judged yet
}

// UpdateWorkerControllerInstanceResponse is what a controller is after a change.
type UpdateWorkerControllerInstanceResponse struct{ Spec *WorkerControllerInstanceSpec }

// ValidationStatus is how a controller's specification was last judged. Servers with controllers send it as a signal.
type ValidationStatus struct {
	LastValidationTime time.Time        `json:"last_validation_time"`
	Status             ValidationResult `json:"status"`
	ErrMessage         string           `json:"err_message,omitempty"`
}
