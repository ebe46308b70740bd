package embedded

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/api/adminservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// taken are the calls that everybody may make who reaches the server. A call of a new release of Temporal is in no list
// until somebody thought of what it does to workers.
const taken = `
RegisterNamespace DescribeNamespace ListNamespaces UpdateNamespace StartWorkflowExecution ExecuteMultiOperation
GetWorkflowExecutionHistory GetWorkflowExecutionHistoryReverse PollWorkflowTaskQueue RespondWorkflowTaskCompleted
RespondWorkflowTaskFailed PollActivityTaskQueue RecordActivityTaskHeartbeat RecordActivityTaskHeartbeatById
RespondActivityTaskCompleted RespondActivityTaskCompletedById RespondActivityTaskFailed
RespondActivityTaskFailedById RespondActivityTaskCanceled RespondActivityTaskCanceledById
RequestCancelWorkflowExecution SignalWorkflowExecution SignalWithStartWorkflowExecution ResetWorkflowExecution
TerminateWorkflowExecution DeleteWorkflowExecution ListOpenWorkflowExecutions ListClosedWorkflowExecutions
ListWorkflowExecutions ListArchivedWorkflowExecutions ScanWorkflowExecutions CountWorkflowExecutions
GetSearchAttributes RespondQueryTaskCompleted ResetStickyTaskQueue ShutdownWorker QueryWorkflow
DescribeWorkflowExecution DescribeTaskQueue GetClusterInfo GetSystemInfo ListTaskQueuePartitions CreateSchedule
DescribeSchedule UpdateSchedule PatchSchedule ListScheduleMatchingTimes DeleteSchedule ListSchedules CountSchedules
GetWorkerBuildIdCompatibility GetWorkerVersioningRules GetWorkerTaskReachability DescribeDeployment
DescribeWorkerDeploymentVersion ListDeployments GetDeploymentReachability GetCurrentDeployment
DescribeWorkerDeployment ListWorkerDeployments ValidateWorkerDeploymentVersionComputeConfig UpdateWorkflowExecution
PollWorkflowExecutionUpdate StartBatchOperation StopBatchOperation DescribeBatchOperation ListBatchOperations
PollNexusTaskQueue RespondNexusTaskCompleted RespondNexusTaskFailed UnpauseActivity DescribeWorkflowRule
DeleteWorkflowRule ListWorkflowRules RecordWorkerHeartbeat ListWorkers CountWorkers FetchWorkerConfig DescribeWorker
UnpauseWorkflowExecution StartActivityExecution StartNexusOperationExecution DescribeActivityExecution
DescribeNexusOperationExecution PollActivityExecution PollNexusOperationExecution ListActivityExecutions
ListNexusOperationExecutions CountActivityExecutions CountNexusOperationExecutions RequestCancelActivityExecution
RequestCancelNexusOperationExecution TerminateActivityExecution DeleteActivityExecution PauseActivityExecution
ResetActivityExecution UnpauseActivityExecution UpdateActivityExecutionOptions TerminateNexusOperationExecution
DeleteNexusOperationExecution PollWorkflowExecutionTimeSkipping AddSearchAttributes ListSearchAttributes
ListClusters GetNexusEndpoint CreateNexusEndpoint UpdateNexusEndpoint DeleteNexusEndpoint ListNexusEndpoints
`

func TestEachCallIsTakenOrRefused(t *testing.T) {
	calls := slices.Concat(workflowservice.WorkflowService_ServiceDesc.Methods, operatorservice.OperatorService_ServiceDesc.Methods)
	known := strings.Fields(taken)
	for _, call := range calls {
		require.NotEqual(t, slices.Contains(known, call.MethodName), refused[call.MethodName], "%s: is it taken, or refused?", call.MethodName)
	}
	require.Len(t, calls, len(known)+len(refused), "a list has a call that Temporal does not know")
}

// TestNobodyKeepsTheWorkerFromItsWork makes, as a stranger, the calls that are refused.
func TestNobodyKeepsTheWorkerFromItsWork(t *testing.T) {
	s := startServer(t, Options{DatabasePath: filepath.Join(t.TempDir(), "temporal.db")})
	defer stopServer(t, s)
	stranger, err := grpc.NewClient(s.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer stranger.Close()
	_, err = workflowservice.NewWorkflowServiceClient(stranger).UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{
		Namespace: Namespace, Config: &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(time.Hour)},
	})
	require.IsType(t, &serviceerror.PermissionDenied{}, serviceerror.FromStatus(status.Convert(err)))
	_, err = operatorservice.NewOperatorServiceClient(stranger).AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
		Namespace: Namespace, SearchAttributes: map[string]enums.IndexedValueType{"Mine": enums.INDEXED_VALUE_TYPE_KEYWORD},
	})
	require.NoError(t, err)
	for _, service := range []grpc.ServiceDesc{
		workflowservice.WorkflowService_ServiceDesc, operatorservice.OperatorService_ServiceDesc, adminservice.AdminService_ServiceDesc,
	} {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service.ServiceName))
		require.NoError(t, err)
		for _, call := range service.Methods {
			if !refused[call.MethodName] && service.ServiceName != adminservice.AdminService_ServiceDesc.ServiceName {
				continue
			}
			method := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(call.MethodName))
			request := dynamicpb.NewMessage(method.Input())
			if field := method.Input().Fields().ByName("namespace"); field != nil && field.Kind() == protoreflect.StringKind {
				request.Set(field, protoreflect.ValueOfString(Namespace))
			}
			err := stranger.Invoke(t.Context(), "/"+service.ServiceName+"/"+call.MethodName, request, &emptypb.Empty{})
			require.IsType(t, &serviceerror.PermissionDenied{}, serviceerror.FromStatus(status.Convert(err)), "%s: %v", call.MethodName, err)
		}
	}
}
