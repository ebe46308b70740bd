package embedded

import (
	"path"
	"strings"

	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// refused are the calls that this server takes from nobody: each decides for all that is executed here, also after a
// restart, whether workers get work. Nothing of Waymark makes them.
var refused = map[string]bool{
	// the namespace
	"DeprecateNamespace": true, "DeleteNamespace": true, "RemoveSearchAttributes": true,
	"AddOrUpdateRemoteCluster": true, "RemoveRemoteCluster": true,
	// which worker gets what
	"UpdateWorkerBuildIdCompatibility": true, "UpdateWorkerVersioningRules": true, "SetCurrentDeployment": true,
	"SetWorkerDeploymentCurrentVersion": true, "SetWorkerDeploymentRampingVersion": true,
	"SetWorkerDeploymentManager": true, "CreateWorkerDeployment": true, "CreateWorkerDeploymentVersion": true,
	"DeleteWorkerDeployment": true, "DeleteWorkerDeploymentVersion": true,
	"UpdateWorkerDeploymentVersionComputeConfig": true, "UpdateWorkerDeploymentVersionMetadata": true,
	"UpdateTaskQueueConfig": true, "UpdateWorkerConfig": true,
	// how one workflow is executed: pause says so on record, and these do not
	"UpdateWorkflowExecutionOptions": true, "PauseWorkflowExecution": true,
	"UpdateActivityOptions": true, "PauseActivity": true, "ResetActivity": true,
	"CreateWorkflowRule": true, "TriggerWorkflowRule": true,
}

// admit returns an error for a call that is refused: /SERVICE/METHOD.
func admit(call string, request any) error {
	method := path.Base(call)
	update, is := request.(*workflowservice.UpdateNamespaceRequest)
	if refused[method] || is && !addsAttributes(update) || strings.Contains(call, ".adminservice.") {
		return serviceerror.NewPermissionDenied("this server is one with its worker, and lets nobody keep that from its "+
			"work: "+method+" is refused", "")
	}
	return nil
}

// addsAttributes reports whether a namespace is only updated as the server itself does for somebody who adds search
// attributes.
func addsAttributes(update *workflowservice.UpdateNamespaceRequest) bool {
	aliases := update.GetConfig().GetCustomSearchAttributeAliases()
	return proto.Equal(update, &workflowservice.UpdateNamespaceRequest{
		Namespace: update.GetNamespace(), Config: &namespace.NamespaceConfig{CustomSearchAttributeAliases: aliases},
	})
}
