package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/plugin"
)

// Retry says which records of a run a linked run retries, and which it leaves out.
type Retry struct {
	Of      landscape.Run         // the run that rejected them
	Sources []recompute.RetryList // one for each source of the linked run's plan, in its order
	Rows    int64                 // of all sources
	Left    []LeftOut             // the others in quarantine; nil if there is none
}

// LeftOut is quarantined records that are not retried, for one reason.
type LeftOut struct {
	Reason string   `json:"reason"` // for people
	Rows   int64    `json:"rows"`
	Tokens []string `json:"tokens"` // the first of them
}

// maxTokensLeft is how many tokens a LeftOut names.
const maxTokensLeft = 10

// NotRetryableError says why records of a run cannot be retried, and the cure.
type NotRetryableError struct{ Message string }

// Error returns the message.
func (e *NotRetryableError) Error() string { return e.Message }

func notRetryable(format string, args ...any) error {
	return &NotRetryableError{fmt.Sprintf(format, args...)}
}

// NewRetry finds out which records of the run with the id of are retried by a run of the compiled document, whose own id
// is run: those of which a token is in quarantine and nothing else went on, and that no other run retries. The error is
// a *NotRetryableError if the document or the state of the run does not allow it. It stores nothing.
func NewRetry(ctx context.Context, log *landscape.Reader, payloads *payload.Store, of string, compiled *plan.Plan, run string) (*Retry, error) {
	parent, err := log.Run(ctx, of)
	if err != nil {
		return nil, err
	}
	if err := mayRetry(parent); err != nil {
		return nil, err
	}
	f := &finder{log: log, retry: &Retry{Of: parent}, compiled: compiled, run: run, left: map[string]*LeftOut{}}
	if err := f.find(ctx); err != nil || f.retry.Rows == 0 {
		return f.retry, err
	}
	if err := f.checkLocations(ctx); err != nil {
		return nil, err
	}
	err = f.checkHeaders(ctx, payloads)
	if errors.Is(err, payload.ErrPurged) {
		err = notRetryable("run %s cannot be retried: %v", parent.ID, err)
	}
	return f.retry, err
}

// mayRetry rejects a run that is not done with its rows.
func mayRetry(parent landscape.Run) error {
	switch parent.Status {
	case pipeline.Completed, pipeline.CompletedWithFailures, pipeline.Empty:
		return nil
	case pipeline.Cancelled:
		if parent.Final {
			return notRetryable("run %s was cancelled permanently before it was done: run the pipeline again", parent.ID)
		}
	case pipeline.Blocked:
		return notRetryable("run %s is blocked, and not done with its rows: waymark status %[1]s says what a person must decide first", parent.ID)
	case pipeline.Running:
		return notRetryable("run %s is running, or its process ended: wait for its end, or continue with it first: waymark resume %s", parent.ID, parent.ID)
	}
	return notRetryable("run %s is %s and can go on: resume it first: waymark resume %s", parent.ID, parent.Status, parent.ID)
}

// finder finds the records that are retried.
type finder struct {
	log      *landscape.Reader
	retry    *Retry
	compiled *plan.Plan // of the linked run
	run      string     // its id
	fed      map[landscape.Token]string
	lanes    []landscape.Lane
	left     map[string]*LeftOut
	order    []string // reasons, in the order in which they came up
}

func (f *finder) find(ctx context.Context) error {
	parent := f.retry.Of.ID
	nodes, err := f.log.Nodes(ctx, parent)
	if err != nil {
		return err
	}
	slices.SortFunc(nodes, func(a, b landscape.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	if f.lanes, err = f.log.Lanes(ctx, parent); err != nil {
		return err
	}
	if err := f.findFed(ctx); err != nil {
		return err
	}
	found := map[string]recompute.RetryList{}
	for _, node := range nodes {
		switch {
		case node.Kind == landscape.SourceNode:
			list, err := f.source(ctx, node.Node)
			if err == nil {
				err = f.matches(node, list)
			}
			if err != nil {
				return err
			}
			found[node.Node] = list
		case node.Hashes == plan.HashesRecord:
			if err := f.leaveBarrier(ctx, node.Node); err != nil {
				return err
			}
		}
	}
	for _, i := range f.compiled.Sources() {
		name := f.compiled.Nodes[i].Name
		list := recompute.RetryList{Parent: parent, Source: name, Chunks: found[name].Chunks}
		f.retry.Sources = append(f.retry.Sources, list)
		f.retry.Rows += list.Rows()
	}
	for _, reason := range f.order {
		f.retry.Left = append(f.retry.Left, *f.left[reason])
	}
	return nil
}

// findFed notes which records other runs retry.
func (f *finder) findFed(ctx context.Context) error {
	rows, err := f.log.RetriedFrom(ctx, f.retry.Of.ID)
	f.fed = map[landscape.Token]string{}
	for _, row := range rows {
		if row.Run != f.run {
			f.fed[landscape.Token{Source: row.Source, Row: row.Row}] = row.Run
		}
	}
	return err
}

// source returns the records of one source that are retried.
func (f *finder) source(ctx context.Context, source string) (recompute.RetryList, error) {
	list := recompute.RetryList{Parent: f.retry.Of.ID, Source: source}
	rejected, err := f.log.RowErrorKeys(ctx, list.Parent, source)
	if err != nil {
		return list, err
	}
	for chunk, err := range f.log.Chunks(ctx, list.Parent, source) {
		if err != nil {
			return list, err
		}
		n := 0
		for n < len(rejected) && rejected[n].Row < chunk.FirstRow+chunk.Rows {
			n++
		}
		if n == 0 {
			continue
		}
		rows, err := f.choose(ctx, chunk, rejected[:n])
		rejected = rejected[n:]
		if err != nil {
			return list, err
		}
		if len(rows) > 0 {
			list.Chunks = append(list.Chunks, recompute.RetryChunk{Chunk: chunk.Chunk, Rows: rows})
		}
	}
	return list, nil
}

// choose returns those of the rejected rows of a chunk that are retried.
func (f *finder) choose(ctx context.Context, chunk landscape.Chunk, rejected []landscape.RowErrorKey) ([]int64, error) {
	routes, err := f.log.AllRoutes(ctx, chunk.Run, chunk.Key())
	if err != nil {
		return nil, err
	}
	forgotten, err := f.log.Forgotten(ctx, chunk.Run, chunk.Key())
	if err != nil {
		return nil, err
	}
	var chosen []int64
	for len(rejected) > 0 {
		row, n := rejected[0].Row, 1
		for n < len(rejected) && rejected[n].Row == row {
			n++
		}
		quarantined, wentOn, err := fates(routes, int(row-chunk.FirstRow), rejected[:n])
		if err != nil {
			return nil, err
		}
		rejected = rejected[n:]
		if !quarantined {
			continue
		}
		reason, err := f.against(ctx, chunk, row, wentOn)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(forgotten, func(f landscape.Forgotten) bool { return f.Row == row }) {
			reason = "forgotten by order"
		}
		if reason != "" {
			f.leave(reason, fmt.Sprintf("%s:%d", chunk.Source, row))
			continue
		}
		chosen = append(chosen, row)
	}
	return chosen, nil
}

// against says why a quarantined record is not retried; "" if it is. wentOn is as fates says.
func (f *finder) against(ctx context.Context, chunk landscape.Chunk, row int64, wentOn bool) (string, error) {
	by := f.fed[landscape.Token{Source: chunk.Source, Row: row}]
	switch {
	case by != "":
		return "retried by run " + by, nil
	case wentOn:
		return "another branch reached a sink or a batch", nil
	default:
		return f.repeats(ctx, chunk, row)
	}
}

// fates says whether a token of record number index is in quarantine, and whether another one reached a sink or a barrier. rejected
// are the errors of its tokens: one at the sink to which a way leads says that the sink's target rejected it.
func fates(routes []landscape.LaneRoutes, index int, rejected []landscape.RowErrorKey) (quarantined, wentOn bool, err error) {
	for _, lane := range routes {
		way, err := lane.WayAt(index)
		if err != nil {
			return false, false, err
		}
		switch {
		case way == nil:
		case way.Sink == pipeline.QuarantineSink,
			slices.ContainsFunc(rejected, func(r landscape.RowErrorKey) bool { return r.Lane == lane.Lane && r.Node == way.Sink }):
			quarantined = true
		case way.ToSink(), way.Path == pipeline.Buffered:
			wentOn = true
		}
	}
	return quarantined, wentOn, nil
}

// repeats says that the record was rejected because another one has the same value of a field that must be unique, if it still
// must: in a run of its own it would pass.
func (f *finder) repeats(ctx context.Context, chunk landscape.Chunk, row int64) (string, error) {
	at := f.compiled.Find(chunk.Source)
	if at == plan.None || len(f.compiled.Nodes[at].Unique) == 0 {
		return "", nil
	}
	root, err := f.log.RootToken(ctx, chunk.Run, chunk.Source, row)
	if err != nil {
		return "", err
	}
	errors, err := f.log.ErrorsOf(ctx, chunk.Run, root)
	for _, refusal := range errors {
		if refusal.Node == chunk.Source && refusal.Code == engine.CodeUnique && slices.Contains(f.compiled.Nodes[at].Unique, refusal.Field) {
			return "another row has the same value of " + refusal.Field + ", and must not", err
		}
	}
	return "", err
}

// leaveBarrier notes the quarantined rows that came out of a barrier: what they were made of went on.
func (f *finder) leaveBarrier(ctx context.Context, barrier string) error {
	rejected, err := f.log.RowErrorKeys(ctx, f.retry.Of.ID, barrier)
	if err != nil {
		return err
	}
	for _, row := range rejected {
		token := landscape.Token{Source: row.Source, Lane: row.Lane, Row: row.Row}
		way, err := f.log.WayOf(ctx, f.retry.Of.ID, token)
		if err != nil {
			return err
		}
		if way.Sink == pipeline.QuarantineSink || way.Sink == row.Node {
			id, err := f.log.TokenID(ctx, f.retry.Of.ID, token)
			if err != nil {
				return err
			}
			f.leave("came out of "+barrier+", and no source holds that", id)
		}
	}
	return nil
}

func (f *finder) leave(reason, token string) {
	left := f.left[reason]
	if left == nil {
		left = &LeftOut{Reason: reason}
		f.left[reason] = left
		f.order = append(f.order, reason)
	}
	left.Rows++
	if len(left.Tokens) < maxTokensLeft {
		left.Tokens = append(left.Tokens, token)
	}
}

// matches requires that the document has the source whose records are retried, in the same format.
func (f *finder) matches(node landscape.Node, list recompute.RetryList) error {
	if len(list.Chunks) == 0 {
		return nil
	}
	at := f.compiled.Find(node.Node)
	if at == plan.None || f.compiled.Nodes[at].Kind != plan.Source {
		return notRetryable("%s has no source named %q, and records of it are to be retried: give it one, with the schema that they shall have",
			f.compiled.Document.File, node.Node)
	}
	if format := f.compiled.Nodes[at].Operation; format != node.Operation {
		return notRetryable("%s: source %s is %s, and the records that are to be retried are %s: give it that format",
			f.compiled.Document.File, node.Node, format, node.Operation)
	}
	return nil
}

// checkHeaders requires that the sources can parse records of the files that they are fed from: of each one a chunk is tried.
func (f *finder) checkHeaders(ctx context.Context, payloads *payload.Store) error {
	for _, list := range f.retry.Sources {
		tried := map[string]bool{}
		for _, part := range list.Chunks {
			record, err := f.log.Chunk(ctx, list.Parent, landscape.ChunkKey{Source: list.Source, Chunk: part.Chunk})
			if err != nil {
				return err
			}
			if tried[record.File] {
				continue
			}
			tried[record.File] = true
			header, err := recompute.Header(ctx, f.log, payloads, record)
			if err != nil {
				return fmt.Errorf("records of %s, chunk %d: %w", record.Source, record.Chunk, err)
			}
			if _, err := f.compiled.Nodes[f.compiled.Find(list.Source)].Source.Parser([]byte(header)); err != nil {
				return notRetryable("source %s: the records of %s do not fit %s: %v", list.Source, record.File, f.compiled.Document.File, err)
			}
		}
	}
	return nil
}

// checkLocations rejects outputs in the places of outputs of the run, of those whose records it retries, and of the runs
// that feed records of the same again.
func (f *finder) checkLocations(ctx context.Context) error {
	family, err := f.family(ctx)
	if err != nil {
		return err
	}
	for _, i := range f.compiled.Sinks() {
		sink := &f.compiled.Nodes[i]
		if sink.Sink.Guarantee() == plugin.Transactional {
			continue // a table takes the rows of many runs, and tells whose they are
		}
		location := f.compiled.Document.Redact(sink.Sink.Location())
		for _, relative := range family {
			described, err := recompute.Described(relative)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(described.Nodes, func(n plan.NodeDescription) bool { return n.Kind == plan.Sink && n.Location == location }) {
				return notRetryable("%s: sink %s would write to %s, which is an output of run %s: choose another path",
					f.compiled.Document.File, sink.Name, location, relative.ID)
			}
		}
	}
	return nil
}

// family returns the run, the runs whose records it retries, and what else feeds records of these again.
func (f *finder) family(ctx context.Context) ([]landscape.Run, error) {
	family := []landscape.Run{f.retry.Of}
	for at := f.retry.Of; at.Link == landscape.RetryLink; {
		above, err := f.log.Run(ctx, at.Parent)
		if err != nil {
			return nil, err
		}
		at, family = above, append(family, above)
	}
	for _, elder := range slices.Clone(family) {
		children, err := RetriesOf(ctx, f.log, elder.ID)
		if err != nil {
			return nil, err
		}
		for _, id := range children {
			if id == f.run || slices.ContainsFunc(family, func(r landscape.Run) bool { return r.ID == id }) {
				continue
			}
			child, err := f.log.Run(ctx, id)
			if err != nil {
				return nil, err
			}
			family = append(family, child)
		}
	}
	return family, nil
}

// RetriesOf returns the ids of the runs that feed records of the run again, oldest id first.
func RetriesOf(ctx context.Context, log *landscape.Reader, run string) ([]string, error) {
	linked, err := log.LinkedRuns(ctx, run)
	var ids []string
	for _, other := range linked {
		if other.Link == landscape.RetryLink {
			ids = append(ids, other.Run)
		}
	}
	return ids, err
}

// Beside returns the word that goes into the names of all outputs of the next run that feeds records of the run again with
// the same document: retry-1, of a run that did so itself retry-1-1, and so on.
func Beside(ctx context.Context, log *landscape.Reader, of landscape.Run) (string, error) {
	described, err := recompute.Described(of)
	if err != nil {
		return "", err
	}
	retries, err := RetriesOf(ctx, log, of.ID)
	return fmt.Sprintf("%s-%d", cmp.Or(described.Beside, "retry"), len(retries)+1), err
}
