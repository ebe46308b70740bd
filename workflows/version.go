package workflows

import "go.temporal.io/sdk/workflow"

// version returns which version of a change a history has: max if it is new, and workflow.DefaultVersion if it is older than the change. All changes before withinTasks have
// one marker together: each takes two events.
func version(ctx workflow.Context, change string, maximum workflow.Version) workflow.Version {
	if withinATask(ctx) {
		return maximum
	}
	return workflow.GetVersion(ctx, change, workflow.DefaultVersion, maximum)
}

// changed reports whether a history has a change that has one version.
func changed(ctx workflow.Context, change string) bool { return version(ctx, change, 1) == 1 }
