package client

import (
	"context"
	"encoding/json"
	"slices"

	"waymark/landscape"
	"waymark/landscape/persons"
	"waymark/landscape/spent"
	"waymark/pipeline"
	"waymark/pipeline/schema"
	"waymark/plugin"
)

// Status is one run with its counts. Rows are those that sources read; a token is a row, a copy of one, or what a barrier made of some.
type Status struct {
	Run
	Params      json.RawMessage       `json:"params,omitempty"` // that were given: an object of texts; nil if none was
	Rows        int64                 `json:"rows_read"`
	Blank       int64                 `json:"blank_lines"`
	Comments    int64                 `json:"comment_lines"`
	Bytes       int64                 `json:"bytes_read"`
	Files       int                   `json:"files_read"`  // that sources read records from
	Passed      int64                 `json:"rows_passed"` // through all steps
	Succeeded   int64                 `json:"rows_succeeded"`
	Failed      int64                 `json:"rows_failed"` // the quarantined ones among them
	Quarantined int64                 `json:"rows_quarantined"`
	Filtered    int64                 `json:"rows_filtered"`
	Discarded   int64                 `json:"rows_discarded"`
	Chunks      int64                 `json:"chunks"`
	Tokens      int64                 `json:"tokens,omitempty"`   // of all origins and lanes, if there are others than the rows read
	Barriers    []Barrier             `json:"barriers,omitempty"` // that hold rows
	Sinks       []Sink                `json:"sinks"`
	Staged      []Staged              `json:"staged,omitempty"` // of a run that is not complete
	Nodes       []landscape.NodeCount `json:"nodes"`
	Policies    []Policy              `json:"policies,omitempty"`           // in document order
	Totals      *landscape.Totals     `json:"totals,omitempty"`             // nil if the document has none, or no row went through the steps yet
	SignOffs    []persons.SignOff     `json:"sign_offs,omitempty"`          // the oldest first
	Required    []Role                `json:"required_sign_offs,omitempty"` // in document order; nil if the run needs none, or was not ready for any yet

	Paused   *Pause       `json:"paused,omitempty"`   // nil unless the run is paused
	Resumed  []Resumption `json:"resumed,omitempty"`  // in order
	Parent   *Link        `json:"parent,omitempty"`   // the run that this one was forked from, or retries
	Children []Link       `json:"children,omitempty"` // runs that were forked from this one, or retry it
	Arrivals *RunArrivals `json:"arrivals,omitempty"` // what a trigger brought the run; nil if none began it

	// OtherValues says in which values of its worker the run differs from the last run of its version; empty if in none.
	OtherValues string `json:"other_values,omitempty"`

	// Spent is what its time was spent on; nil if it has not ended, or has fewer than manyChunks and was never resumed.
	Spent *spent.Time `json:"spent,omitempty"`

	// Kept says until when what is deleted after a time is kept, by class; nil if the run has not ended, or no
	// retention periods are in force.
	Kept []Kept `json:"kept,omitempty"`

	Advice Advice `json:"advice,omitzero"` // what can be done with a run that has stopped; nothing of one that is complete
}

// Given are the Params; nil if there are none, or they are not what a run can be given.
func (s *Status) Given() (params map[string]string) {
	_ = json.Unmarshal(s.Params, &params)
	return params
}

// Resumption is one time that a run was resumed.
type Resumption struct {
	Epoch int64              `json:"epoch"` // that began with it
	Was   pipeline.RunStatus `json:"was"`
	Actor string             `json:"actor"`
	Why   string             `json:"why,omitempty"`
	Host  string             `json:"host"`
	At    Time               `json:"at"`
}

// Link names a run that another one is linked to.
type Link struct {
	Run  string         `json:"run"`
	Link landscape.Link `json:"link"`
}

// RunArrivals is what a trigger brought a run.
type RunArrivals struct {
	Trigger string   `json:"trigger"`
	Count   int64    `json:"count"`
	Items   []string `json:"items"` // the first of them, in the order in which they are read: paths of files, RUN/SINK of outputs, webhook:// and the receipt of deliveries, rows:// and a number of rows of a table
}

// More is how many items there are besides Items.
func (a *RunArrivals) More() int64 { return a.Count - int64(len(a.Items)) }

// mostItems is how many items of a run its status names.
const mostItems = 20

// Barrier is what a barrier holds.
type Barrier struct {
	Barrier string `json:"barrier"`
	Open    int64  `json:"open_batches"`
	Held    int64  `json:"held_rows"`
}

// Sink is what one sink is to get, and got. Path, Bytes and SHA256 are set when the output is published.
type Sink struct {
	Sink      string `json:"sink"`
	Planned   int64  `json:"rows_planned"`
	Finalized int64  `json:"rows"` // that the target confirmed
	Path      string `json:"path,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	Completed int64  `json:"chunks_completed"` // the target confirmed them
	Missing   int64  `json:"chunks_missing"`   // nothing was written
	Unknown   int64  `json:"chunks_unknown"`   // an attempt was begun, and nobody knows yet how it ended

	Schema   *schema.Schema `json:"schema,omitempty"`   // of the rows of the output; nil before it is published
	Attested *SinkAttested  `json:"attested,omitempty"` // what its newest attestation found; nil if it has none
}

// SinkAttested is what an attestation found of an output.
type SinkAttested struct {
	Result plugin.State `json:"result"`
	Number int64        `json:"attestation"` // of those of the run
	At     Time         `json:"at"`
	Reason string       `json:"reason,omitempty"` // what is not as it was written, which may quote what is at the target; empty if all is
	Since  string       `json:"since,omitempty"`  // between which moments it was changed or removed; empty if it was not
}

// Altered reports whether the output was found changed or missing.
func (a *SinkAttested) Altered() bool {
	return a.Result == plugin.Changed || a.Result == plugin.Missing
}

// manyChunks is from how many chunks on it is of interest what a run spent its time on. That of a smaller one is short,
// unless nothing worked for it until it was resumed.
const manyChunks = 16

// Status returns how the run with this id stands, or how it ended.
func (c *Client) Status(ctx context.Context, id string) (status *Status, err error) {
	defer c.edge(ctx, &err)
	if status, err = c.Counts(ctx, id); err != nil {
		return nil, err
	}
	run, err := c.recorded(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := c.addSlot(ctx, &status.Run); err != nil {
		return nil, err
	}
	if status.Files, err = c.Files(ctx, id); err != nil {
		return nil, err
	}
	if params := []byte(run.Params); json.Valid(params) && run.Params != "{}" {
		status.Params = params
	}
	if run.Version > 0 {
		if status.OtherValues, err = c.log.OtherValues(ctx, id); err != nil {
			return nil, err
		}
	}
	if status.Staged, err = StagedOf(run); err != nil {
		return nil, err
	}
	if err := c.addLinks(ctx, status, run); err != nil {
		return nil, err
	}
	if status.Arrivals, err = c.arrivalsOf(ctx, id); err != nil {
		return nil, err
	}
	if err := c.addSignOffs(ctx, status, run); err != nil {
		return nil, err
	}
	if err := c.addAttested(ctx, status); err != nil {
		return nil, err
	}
	if err := c.addKept(ctx, status, run); err != nil {
		return nil, err
	}
	if status.Chunks >= manyChunks || status.Resumed != nil {
		if status.Spent, err = spent.Of(ctx, c.log.Reader, run.RunHead); err != nil {
			return nil, err
		}
	}
	switch changed, err := c.attend(ctx, &status.Run); {
	case err != nil:
		return nil, err
	case changed: // all else was read before
		return c.Status(ctx, id)
	}
	return status, c.addAdvice(ctx, status, run)
}

// Counts returns the Status of the run with this id as far as its counts, sinks and barriers say it: nobody is asked whether somebody
// executes the run, and its links, staged outputs, files and advice are left out.
func (c *Client) Counts(ctx context.Context, id string) (status *Status, err error) {
	defer c.edge(ctx, &err)
	if status, err = c.counted(ctx, id); err != nil {
		return nil, err
	}
	if status.Policies, err = c.policies(ctx, id); err != nil {
		return nil, err
	}
	status.Totals, err = c.log.Totals(ctx, id)
	return status, err
}

// counted returns what Counts does without policies and totals.
func (c *Client) counted(ctx context.Context, id string) (status *Status, err error) {
	if _, err := c.recorded(ctx, id); err != nil {
		return nil, err
	}
	summary, err := c.log.Summary(ctx, id)
	if err != nil {
		return nil, err
	}
	status = &Status{
		Run: runOf(summary.Run), Rows: summary.Rows, Blank: summary.Blank, Comments: summary.Comments, Bytes: summary.Bytes,
		Passed: summary.Passed, Succeeded: summary.Succeeded, Failed: summary.Failed, Quarantined: summary.Quarantined,
		Filtered: summary.Filtered, Discarded: summary.Discarded, Chunks: summary.Chunks, Nodes: summary.Nodes,
	}
	if summary.Tokens != summary.Passed {
		status.Tokens = summary.Tokens
	}
	if status.Sinks, err = c.sinks(ctx, id, summary.Sinks); err != nil {
		return nil, err
	}
	status.Barriers, err = c.barriers(ctx, id)
	return status, err
}

func (c *Client) sinks(ctx context.Context, run string, counts []landscape.SinkCount) ([]Sink, error) {
	artifacts, err := c.log.Artifacts(ctx, run)
	if err != nil {
		return nil, err
	}
	chunks, err := c.log.SinkChunks(ctx, run)
	if err != nil {
		return nil, err
	}
	var sinks []Sink
	for _, count := range counts {
		sink := Sink{Sink: count.Sink, Planned: count.Planned, Finalized: count.Finalized}
		for _, chunk := range chunks {
			if chunk.Sink == count.Sink {
				sink.Completed, sink.Missing, sink.Unknown = chunk.Completed, chunk.Missing, chunk.Unknown
			}
		}
		for _, artifact := range artifacts {
			if artifact.Sink == count.Sink {
				sink.Path, sink.Bytes, sink.SHA256 = artifact.Path, artifact.Bytes, artifact.SHA256
				if sink.Schema, err = schema.Parse(artifact.Schema); err != nil {
					return nil, err
				}
			}
		}
		sinks = append(sinks, sink)
	}
	return sinks, nil
}

// barriers returns what the barriers of a run hold after their last folds; nil if they hold nothing.
func (c *Client) barriers(ctx context.Context, run string) ([]Barrier, error) {
	origins, err := c.log.Sources(ctx, run) // a source has no folds
	if err != nil {
		return nil, err
	}
	var holding []Barrier
	for _, origin := range origins {
		folds, err := c.log.Folds(ctx, run, origin.Source)
		if err != nil {
			return nil, err
		}
		if len(folds) == 0 {
			continue
		}
		if last := folds[len(folds)-1]; last.Open > 0 || last.Held > 0 {
			holding = append(holding, Barrier{origin.Source, last.Open, last.Held})
		}
	}
	return holding, nil
}

// addLinks adds when the run was resumed, and the runs that it is linked with.
func (c *Client) addLinks(ctx context.Context, s *Status, run landscape.Run) error {
	resumptions, err := c.log.Resumptions(ctx, run.ID)
	if err != nil {
		return err
	}
	for _, r := range resumptions {
		s.Resumed = append(s.Resumed, Resumption{r.Epoch, r.Was, r.Actor, r.Why, r.Host, Time(r.At)})
	}
	if run.Parent != "" {
		s.Parent = &Link{run.Parent, run.Link}
	}
	s.Children, err = c.Children(ctx, run.ID)
	return err
}

// arrivalsOf returns what a trigger brought a run; nil if none began it.
func (c *Client) arrivalsOf(ctx context.Context, run string) (*RunArrivals, error) {
	list, err := c.log.ListOfRun(ctx, run)
	if err != nil || list == nil {
		return nil, err
	}
	brought := &RunArrivals{Trigger: list[0].Trigger, Count: int64(len(list))}
	for _, place := range list[:min(len(list), mostItems)] {
		brought.Items = append(brought.Items, place.Item)
	}
	return brought, nil
}

// Children returns the runs that were forked from the run with this id, or retry rows of it; nil if there is none.
func (c *Client) Children(ctx context.Context, run string) (children []Link, err error) {
	defer c.edge(ctx, &err)
	linked, err := c.log.LinkedRuns(ctx, run)
	for _, child := range linked {
		children = append(children, Link{child.Run, child.Link})
	}
	return children, err
}

// addAdvice adds who paused the run, and what can be done with one that does not go on.
func (c *Client) addAdvice(ctx context.Context, s *Status, run landscape.Run) (err error) {
	if s.Paused, err = c.paused(ctx, &s.Run); err != nil {
		return err
	}
	if s.Status == pipeline.Running && !s.Dead() && s.Paused == nil {
		return nil
	}
	s.Advice, err = c.advice(ctx, run)
	if s.Dead() && slices.Equal(s.Advice.Cures, []Cure{Resume}) {
		s.Advice.Cures[0] = c.revival(ctx, run.ID)
	}
	return err
}

// Sources returns the names of the run's sources, in the order of the document.
func (s *Status) Sources() []string {
	var names []string
	for _, node := range s.Nodes {
		if node.Kind == landscape.SourceNode {
			names = append(names, node.Node)
		}
	}
	return names
}
