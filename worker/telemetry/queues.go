package telemetry

import (
	"strings"

	"go.temporal.io/sdk/client"
)

// queueTag is the label in which Temporal's metrics name a task queue.
const queueTag = "task_queue"

// fewQueues calls the queues that processes have for themselves by one name: theirs would be new ones with each start.
type fewQueues struct{ client.MetricsHandler }

// WithTags returns a handler that adds the tags to all it tells.
func (f fewQueues) WithTags(tags map[string]string) client.MetricsHandler {
	queue, tagged := tags[queueTag]
	if tagged {
		changed := map[string]string{}
		for name, value := range tags {
			changed[name] = value
		}
		changed[queueTag] = queueName(queue)
		tags = changed
	}
	return fewQueues{f.MetricsHandler.WithTags(tags)}
}

// Unwrap returns the handler that tells.
func (f fewQueues) Unwrap() client.MetricsHandler { return f.MetricsHandler }

// queueName is the name of a queue for metrics: what follows a / is of one process.
func queueName(queue string) string {
	if shared, _, own := strings.Cut(queue, "/"); own {
		return shared + "/own"
	}
	return queue
}
