package runlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/sdk/temporal"

	"waymark/activities"
)

// Handler returns a handler that gives lines to another one, and keeps those about runs that warn of something.
func (k *Keeper) Handler(next slog.Handler) slog.Handler { return &handler{Handler: next, keeper: k} }

type handler struct {
	slog.Handler
	keeper *Keeper
	attrs  []slog.Attr // of all lines
}

// Enabled reports whether lines of a level are wanted.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

// WithAttrs returns the handler of lines that have these attributes.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(attrs), h.keeper, append(slices.Clip(h.attrs), attrs...)}
}

// WithGroup returns the handler of lines whose further attributes are in a group.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.keeper, h.attrs}
}

// Handle takes a line.
func (h *handler) Handle(ctx context.Context, line slog.Record) error {
	if line.Level >= slog.LevelWarn {
		h.keep(line)
	}
	if !h.Handler.Enabled(ctx, line.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, line)
}

// keep keeps a line, if it is about a run.
func (h *handler) keep(line slog.Record) {
	attrs := slices.Clone(h.attrs)
	line.Attrs(func(a slog.Attr) bool { attrs = append(attrs, a); return true })
	run, said := "", []string{line.Message}
	for _, a := range attrs {
		a = Spelled(nil, a)
		value := a.Value.Resolve()
		if err, is := value.Any().(error); is && stopped(err) {
			return // somebody wanted it, and that is recorded
		}
		switch text := fmt.Sprint(value.Any()); {
		case a.Key == "run":
			run = text
		case a.Key == "workflow":
			if of, is := strings.CutPrefix(text, activities.WorkflowID("")); is && run == "" {
				run = of
			}
		case slices.Contains(everywhere, a.Key) || text == "":
		case strings.ContainsAny(text, " \n\t\""):
			said = append(said, a.Key+"="+strconv.Quote(text))
		default:
			said = append(said, a.Key+"="+text)
		}
	}
	if run != "" {
		h.keeper.note(run, event(line.Level, line.Time, strings.Join(said, " ")))
	}
}

// stopped reports whether an error says only that something was to end.
func stopped(err error) bool {
	return errors.Is(err, context.Canceled) || temporal.IsCanceledError(err)
}

// everywhere are the attributes that say nothing of a line: where the process works, and which of its lines belong together.
var everywhere = []string{"activity_id", "build", "execution", "namespace", "queue", "worker", "workflow_type", "StackTrace", "PanicStack"}

// spellings are the names that this program has for what Temporal's SDK names in another way in its lines. The id that
// the SDK calls a run's is that of an execution: a run of ours is another thing.
var spellings = map[string]string{
	"ActivityID": "activity_id", "ActivityType": "activity", "Attempt": "attempt", "BuildID": "build", "Error": "error",
	"Namespace": "namespace", "RunID": "execution", "TaskQueue": "queue", "WorkerID": "worker", "WorkflowID": "workflow",
	"WorkflowType": "workflow_type",
}

// Spelled gives an attribute of a line the name that it has in all lines.
func Spelled(_ []string, a slog.Attr) slog.Attr {
	if ours, foreign := spellings[a.Key]; foreign {
		a.Key = ours
	}
	return a
}
