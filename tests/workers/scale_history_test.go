package workers_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"

	"waymark/tests/system"
)

// scaleHistory is what Temporal knows of a run, over all executions that its workflow continued itself as.
type scaleHistory struct {
	events, tasks int
	spans         []span
	first, last   time.Time
}

// span is an activity: when it was asked for, when a worker began with it, if one did, and when it ended.
type span struct {
	kind                string
	pid                 string // of the worker; "" if none came for it in time
	asked, began, ended time.Time
}

func (c *topology) scaleHistory(workflow string) (h scaleHistory) {
	c.t.Helper()
	for execution := ""; ; {
		events := system.Events(c.t, c.temporal, workflow, execution)
		h.events += len(events)
		spans := map[int64]*span{}
		for _, event := range events {
			at := event.GetEventTime().AsTime()
			if h.first.IsZero() || at.Before(h.first) {
				h.first = at
			}
			if at.After(h.last) {
				h.last = at
			}
			switch event.GetEventType() {
			case enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
				h.tasks++
			case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				kind := event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()
				spans[event.GetEventId()] = &span{kind: kind, asked: at}
			case enums.EVENT_TYPE_ACTIVITY_TASK_STARTED:
				began := event.GetActivityTaskStartedEventAttributes()
				s := spans[began.GetScheduledEventId()]
				s.pid, _, _ = strings.Cut(began.GetIdentity(), "@")
				s.began = at
			case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
				spans[event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()].ended = at
			case enums.EVENT_TYPE_ACTIVITY_TASK_FAILED:
				spans[event.GetActivityTaskFailedEventAttributes().GetScheduledEventId()].ended = at
			case enums.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
				spans[event.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId()].ended = at
			}
		}
		for _, s := range spans {
			h.spans = append(h.spans, *s)
		}
		execution = events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		if execution == "" {
			return h
		}
	}
}

// by is how many activities of a kind each worker did; "" are those for which none came in time.
func (h scaleHistory) by(kind string) map[string]int {
	done := map[string]int{}
	for _, s := range h.spans {
		if s.kind == kind {
			done[s.pid]++
		}
	}
	return done
}

// kinds says of each kind of activity how often it was, how long it waited for a worker, and how long it took.
func (h scaleHistory) kinds() string {
	type sum struct {
		number         int
		waited, worked time.Duration
	}
	sums := map[string]sum{}
	for _, s := range h.spans {
		all := sums[s.kind]
		all.number++
		if s.pid != "" {
			all.waited += s.began.Sub(s.asked)
			all.worked += s.ended.Sub(s.began)
		}
		sums[s.kind] = all
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		all := sums[kind]
		texts = append(texts, fmt.Sprintf("%d %s, each queued %.2f s and worked at %.2f s", all.number, kind,
			all.waited.Seconds()/float64(all.number), all.worked.Seconds()/float64(all.number)))
	}
	return strings.Join(texts, "; ")
}

// timeline lists the activities as they began: after how many seconds of the run, until when, by whom, what.
func (h scaleHistory) timeline() string {
	var b strings.Builder
	byBeginning := func(a, b span) int { return a.began.Compare(b.began) }
	for _, s := range slices.SortedFunc(slices.Values(h.spans), byBeginning) {
		fmt.Fprintf(&b, "  %6.1f %6.1f %6.1f  %8s %s\n", s.asked.Sub(h.first).Seconds(), s.began.Sub(h.first).Seconds(),
			s.ended.Sub(h.first).Seconds(), s.pid, s.kind)
	}
	return b.String()
}

// shares divides the time of the run by what was worked at, and by how many workers worked at anything. What was worked
// at alone held up everything else.
func (h scaleHistory) shares() (kinds, workers string) {
	type moment struct {
		at    time.Time
		s     *span
		count int
	}
	var moments []moment
	for i := range h.spans {
		if s := &h.spans[i]; s.pid != "" && !s.ended.IsZero() {
			moments = append(moments, moment{s.began, s, 1}, moment{s.ended, s, -1})
		}
	}
	slices.SortFunc(moments, func(a, b moment) int { return a.at.Compare(b.at) })
	moments = append(moments, moment{at: h.last})
	byKind, byWorkers := map[string]time.Duration{}, map[string]time.Duration{}
	under, at := map[string]map[string]int{"kind": {}, "pid": {}}, h.first
	for _, m := range moments {
		what := "several kinds"
		switch alone := slices.Collect(maps.Keys(under["kind"])); len(alone) {
		case 0:
			what = "nothing"
		case 1:
			what = alone[0] + " alone"
		}
		byKind[what] += m.at.Sub(at)
		byWorkers[fmt.Sprintf("by %d workers", len(under["pid"]))] += m.at.Sub(at)
		at = m.at
		if m.s == nil {
			break
		}
		for in, key := range map[string]string{"kind": m.s.kind, "pid": m.s.pid} {
			if under[in][key] += m.count; under[in][key] == 0 {
				delete(under[in], key)
			}
		}
	}
	whole := h.last.Sub(h.first)
	return percents(byKind, whole), percents(byWorkers, whole)
}

// percents lists parts of a whole, the largest first.
func percents(parts map[string]time.Duration, whole time.Duration) string {
	names := slices.SortedFunc(maps.Keys(parts), func(a, b string) int {
		return cmp.Or(cmp.Compare(parts[b], parts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.0f %%", name, 100*parts[name].Seconds()/whole.Seconds())
	}
	return strings.Join(names, ", ")
}
