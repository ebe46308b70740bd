package local

import (
	"context"
	"fmt"
	"strings"
	"time"

	"waymark/client"
	"waymark/internal/text"
)

// spansPatience is how long spans may wait before doctor warns: a collector restarts in less time.
const spansPatience = 5 * time.Minute

// spans looks for spans that wait for their collector, or were dropped. Nothing is said if there are none.
func (d doctor) spans(context.Context) client.Check {
	folder := d.State.Spans()
	waits, err := folder.Waiting()
	if err != nil {
		return client.Warning("", "spans that wait for their collector: %v", err)
	}
	var found []string
	if waits.Spans > 0 && time.Since(waits.Since) > spansPatience {
		found = append(found, fmt.Sprintf("%s waiting since %s: "+
			"a process with the variables OTEL_EXPORTER_OTLP_* sends them when the collector is there",
			text.Count(waits.Spans, "span"), waits.Since.UTC().Format(time.RFC3339)))
	}
	if waits.Dropped > 0 {
		found = append(found, fmt.Sprintf("%s dropped, the last at %s: "+
			"the collector was away for long, or did not take them (%s counts them)",
			text.Count(waits.Dropped, "span"), waits.Last.UTC().Format(time.RFC3339), folder))
	}
	if found == nil {
		return client.Check{}
	}
	return client.Warning("", "%s", strings.Join(found, "; "))
}
