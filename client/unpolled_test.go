package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/activity/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// described is what a cluster says of a run: its pending activities, and a decision that waits since then, if that is a moment.
func described(decision time.Time, activities ...*workflow.PendingActivityInfo) *workflowservice.DescribeWorkflowExecutionResponse {
	found := &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: activities}
	if !decision.IsZero() {
		found.PendingWorkflowTask = &workflow.PendingWorkflowTaskInfo{State: enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED, ScheduledTime: timestamppb.New(decision)}
	}
	return found
}

// scheduled is an activity that waits on a queue, for so long at most if that is not 0.
func scheduled(id, queue string, most time.Duration) *workflow.PendingActivityInfo {
	a := &workflow.PendingActivityInfo{
		ActivityId: id, State: enums.PENDING_ACTIVITY_STATE_SCHEDULED, Attempt: 1,
		ActivityOptions: &activity.ActivityOptions{TaskQueue: &taskqueue.TaskQueue{Name: queue}},
	}
	if most > 0 {
		a.ActivityOptions.ScheduleToStartTimeout = durationpb.New(most)
	}
	return a
}

// TestWorkThatNobodyTakes looks at a run twice, ten seconds apart.
func TestWorkThatNobodyTakes(t *testing.T) {
	start := time.Now()
	working := &workflow.PendingActivityInfo{ActivityId: "9", State: enums.PENDING_ACTIVITY_STATE_STARTED}
	later := scheduled("5", "waymark", 0)
	later.NextAttemptScheduleTime = timestamppb.New(start.Add(time.Hour))
	for name, test := range map[string]struct {
		first, second *workflowservice.DescribeWorkflowExecutionResponse
		waits         bool
		says          string
	}{
		"a decision": {described(start), described(start), true, "waiting: no worker takes the work of queue waymark: those there are busy, or gone"},
		"an activity": {
			described(time.Time{}, scheduled("5", "waymark", 0)), described(time.Time{}, scheduled("5", "waymark", 0)), true,
			"waiting: no worker takes the work of queue waymark: those there are busy, or gone",
		},
		"one that needs files": {
			described(time.Time{}, scheduled("5", "waymark@here", time.Minute)), described(time.Time{}, scheduled("5", "waymark@here", time.Minute)), true,
			`waiting: no worker that sees the files of "here" takes the work of queue waymark: those there are busy, or gone`,
		},
		"another decision": {described(start), described(start.Add(time.Second)), true, ""},
		"another activity": {described(time.Time{}, scheduled("5", "waymark", 0)), described(time.Time{}, scheduled("6", "waymark", 0)), true, ""},
		"one that others get soon": {
			described(time.Time{}, scheduled("5", "waymark@here/1", takenAfter)), described(time.Time{}, scheduled("5", "waymark@here/1", takenAfter)), false, "",
		},
		"one that is tried again later": {described(time.Time{}, later), described(time.Time{}, later), false, ""},
		"somebody works":                {described(start), described(start, working), true, ""},
		"nothing waits":                 {described(time.Time{}, working), described(time.Time{}, working), false, ""},
		"no answer":                     {nil, nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var u unpolled
			_, late := u.look(test.first, start)
			require.Nil(t, late, "it may be taken yet")
			waits, late := u.look(test.second, start.Add(takenAfter))
			require.Equal(t, test.waits, waits)
			if test.says == "" {
				require.Nil(t, late)
				return
			}
			require.NotNil(t, late)
			require.Equal(t, test.says, late.text("waymark"))
		})
	}
}
