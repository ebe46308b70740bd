package workflows

import "go.temporal.io/sdk/workflow"

// version returns which version of a change a history has: maximum, or workflow.DefaultVersion if the history is older than the change. It is for changes that came before
// withinTasks: a history that has that one has them all, because each marker takes two events. A later change has a marker of its own, by workflow.GetVersion.
func version(ctx workflow.Context, change string, maximum workflow.Version) workflow.Version {
	if withinATask(ctx) {
		return maximum
	}
	return workflow.GetVersion(ctx, change, workflow.DefaultVersion, maximum)
}

// changed reports whether a history has a change that has one version.
func changed(ctx workflow.Context, change string) bool { return version(ctx, change, 1) == 1 }
