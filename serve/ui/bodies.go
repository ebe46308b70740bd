package ui

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"waymark/audit"
	"waymark/audit/compare"
	"waymark/client"
	"waymark/client/remote"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/serve/ui/draw"
)

// Home is the first page: what needs a person, and which runs are running.
type Home struct {
	Needs  []Need       // the oldest first
	Going  []client.Run // runs that somebody executes, the newest first
	Recent []client.Run // the last runs that ended, the newest first
	Looked int64        // at so many runs
	More   bool         // there are older ones

	Slots   []landscape.Slot // that failed, whose runs are not among those; by schedule
	Refused []client.Start   // of the last day, of which no run came since; the newest first
}

// Need is a run that a person must look at.
type Need struct {
	client.Run
	Why string // in words
}

// NeedOf says why a run needs a person; empty if it does not.
func NeedOf(run *client.Run) string {
	switch {
	case run.Status == pipeline.Blocked:
		return "a person must decide before it continues"
	case run.Status == pipeline.Failed && client.StartsOver(run.Reason):
		return "it failed; what cures that changes the document or a source, and takes a new run"
	case run.Status == pipeline.Failed:
		return "it failed; it can be resumed when the cause is mended"
	case run.Status == pipeline.Interrupted:
		return "it was interrupted; it can be resumed where it left off"
	case run.Dead():
		return "it is running on record, and nobody works for it"
	}
	return ""
}

// Runs is the list of runs.
type Runs struct {
	Runs             []client.Run
	Pipeline, Status string // that are asked for; empty for any
	Statuses         []pipeline.RunStatus
	Next             string // path of the next page; empty if there is none
}

// Run is the page of one run.
type Run struct {
	*client.RunReport
	Figures    Figures
	Errors     []client.ErrorGroup // without values
	Effects    []client.Effect     // that are not finalized
	Orders     []Order             // that may be given
	MayCompare bool                // the run is complete, and who looks may compare it with others
	Earlier    string              // the last complete run of the pipeline before it; empty if there is none, or it is not complete itself
	MayRead    bool                // who looks may see values
}

// Past is the page of one run as it stood at a moment.
type Past struct {
	*client.Past
	Figures Figures
	Rates   []Bar // rows that went through the steps, from the beginning to the end
}

// Last reports whether the moment is the last one: what stood then stands now.
func (p Past) Last() bool { return p.At >= p.End }

// Since is how many seconds had gone since the run began.
func (p Past) Since() float64 { return float64(p.At-p.Begun) / 1e6 }

// Order is an order that can be given to the run.
type Order struct {
	Path, Name, About string
	Final             bool // of a cancellation that cannot be undone
}

// Account is a node as bookkeepers see it: what came is what went, and what is still there.
type Account struct {
	landscape.NodeCount
	Into  []client.Edge // that lead to it, or begin there, with rows
	Edges []client.Edge // that lead out of it, or end in it, with rows
}

// Came is how many rows came to the node, or were made there.
func (a *Account) Came() int64 { return a.In + a.Created }

// Went is how many of these went on, ended, or are held.
func (a *Account) Went() int64 { return a.Out + a.Dropped + a.Diverted + a.Consumed + a.Held }

// Difference is what is missing; rows of a run that is running may be between the two.
func (a *Account) Difference() int64 { return a.Came() - a.Went() }

// Accounts returns the accounts of the nodes, in document order.
func Accounts(nodes []landscape.NodeCount, edges []client.Edge) []Account {
	accounts := make([]Account, len(nodes))
	for i, node := range nodes {
		accounts[i] = Account{NodeCount: node}
		for _, edge := range edges {
			if edge.From == node.Node && edge.Rows > 0 {
				accounts[i].Edges = append(accounts[i].Edges, edge)
			}
			if edge.To == node.Node && edge.Rows > 0 {
				accounts[i].Into = append(accounts[i].Into, edge)
			}
		}
	}
	return accounts
}

// Balanced reports whether the accounts have no difference.
func Balanced(accounts []Account) bool {
	return !slices.ContainsFunc(accounts, func(a Account) bool { return a.Difference() != 0 })
}

// Graph is the drawing of a run's graph with its counts.
type Graph struct {
	draw.Drawing
	Nodes []GraphNode // with the boxes, in document order
	Ways  []GraphEdge // with the lines
}

// GraphNode is a box.
type GraphNode struct {
	draw.Box
	Kind  string // source, step, sink, or end for quarantine and the like
	Rows  int64  // that came, or were made there
	Below string // what ended there without an edge
}

// GraphEdge is a line.
type GraphEdge struct {
	draw.Line
	Edge client.Edge
}

// GraphOf draws the graph of a run. Edges of errors that no row took are left out. It returns nil if there are no nodes.
func GraphOf(nodes []landscape.NodeCount, edges []client.Edge) *Graph {
	if len(nodes) == 0 {
		return nil
	}
	g := &Graph{}
	var boxes []draw.Node
	var lines []draw.Edge
	for _, node := range nodes {
		boxes = append(boxes, draw.Node{ID: node.Node, Label: node.Node})
		g.Nodes = append(g.Nodes, GraphNode{Kind: string(node.Kind), Rows: Came(edges, node.Node)})
	}
	for _, edge := range edges {
		switch {
		case edge.Kind == landscape.BeginEdge, edge.Kind == landscape.ErrorEdge && edge.Rows == 0:
			continue
		case edge.Kind == landscape.EndEdge:
			for i := range nodes {
				if nodes[i].Node == edge.From && edge.Rows > 0 {
					g.Nodes[i].Below = strings.TrimPrefix(g.Nodes[i].Below+" · "+text.Grouped(edge.Rows)+" "+Words(edge.Label), " · ")
				}
			}
			continue
		}
		if !has(boxes, edge.To) { // quarantine, discard
			boxes = append(boxes, draw.Node{ID: edge.To, Label: edge.To})
			g.Nodes = append(g.Nodes, GraphNode{Kind: "end", Rows: Came(edges, edge.To)})
		}
		if has(boxes, edge.From) {
			lines = append(lines, draw.Edge{From: edge.From, To: edge.To})
			g.Ways = append(g.Ways, GraphEdge{Edge: edge})
		}
	}
	g.Drawing = draw.Lay(boxes, lines)
	for i := range g.Nodes {
		g.Nodes[i].Box = g.Boxes[i]
	}
	for i := range g.Ways {
		g.Ways[i].Line = g.Lines[i]
	}
	return g
}

// Came is how many rows came to a node, or began there.
func Came(edges []client.Edge, node string) (rows int64) {
	for _, edge := range edges {
		if edge.To == node {
			rows += edge.Rows
		}
	}
	return rows
}

func has(boxes []draw.Node, id string) bool {
	return slices.ContainsFunc(boxes, func(box draw.Node) bool { return box.ID == id })
}

// Rows is a list of rows behind a number.
type Rows struct {
	Run   landscape.Run
	Of    string // what they have in common, in words
	Count int64  // how many there are in all; -1 if that is not counted
	Rows  []client.Row
	Next  string // path of the next page; empty if there is none

	MayRead bool        // who looks may see the journeys of rows
	At      client.Time // the moment of which it is; unknown for now
}

// Begun is when the run began.
func (r Rows) Begun() client.Time { return client.Time(r.Run.Started) }

// Journey is what happened to one row.
type Journey struct {
	*audit.Explanation
	Before, Next string   // tokens of the neighbours in the source; empty if there is none, or if its origin is another one
	Others       []string // sinks that the row is not in
}

// WhyNot is what kept a row out of a sink.
type WhyNot struct{ *audit.Denial }

// Sinks returns the names of the sinks of a run: rows come to them, and go nowhere from there.
func Sinks(edges []client.Edge) (sinks []string) {
	for _, edge := range edges {
		onward := func(other client.Edge) bool { return other.From == edge.To }
		named := edge.To != "" && edge.To != pipeline.Quarantine && edge.To != pipeline.Discard
		if named && !slices.ContainsFunc(edges, onward) && !slices.Contains(sinks, edge.To) {
			sinks = append(sinks, edge.To)
		}
	}
	return sinks
}

// Errors is why rows of a run were refused.
type Errors struct {
	Run    landscape.Run
	Groups []client.ErrorGroup
	Values bool // they have the values that messages quote
	Total  int64
	Offer  bool // who looks may see the values

	Versions []int64       // of the run's pipeline, the last first; nil if none is deployed, or the run is not complete
	Version  int64         // that is tried; 0 for none
	Document string        // that is tried; empty for none
	Trial    *audit.Trial  // what the version or the document would make of the run; nil if none is tried
	Fault    string        // why it cannot be tried
	Retries  []client.Link // the runs that retry rows of this one
	MayOrder bool          // who looks may have the rows retried
	Again    string        // id of the run that would do it

	MayDeploy bool     // who looks may see values, try another document, and deploy it
	Typed     []bool   // by group, whether the document declares its field, so that another type can be tried; nil for who may not
	Types     []string // that a field may have
}

// Evidence is what proves what of a run.
type Evidence struct {
	*client.RunReport
	Verification *remote.Verification // the last one; nil if there is none
	MayRead      bool                 // who looks may have it verified, and take a bundle
}

// Closed reports whether the run has ended, so that there can be a bundle.
func (e Evidence) Closed() bool { return e.Run.Status != pipeline.Running }

// Timeline is where the time of a run went.
type Timeline struct {
	*client.Timeline
	MayRead bool // who looks may see the journeys of rows
}

// A Bar is one bin of a drawing of bins.
type Bar struct {
	X, Y, Height float64
	Told         string // what it stands for
}

// The drawing of bins.
const (
	barWidth  = 12
	barHeight = 44
)

// Rates are the rows that passed in each bin.
func (t Timeline) Rates() (drawn []Bar) {
	most := max(1, slices.Max(t.Rate))
	for i, rate := range t.Rate {
		drawn = append(drawn, t.bar(i, rate/most, text.Count(int64(rate), "row")+" a second"))
	}
	return drawn
}

// Shares draws shares of the time.
func (t Timeline) Shares(shares []float64, what string) (drawn []Bar) {
	for i, share := range shares {
		drawn = append(drawn, t.bar(i, min(share, 1), fmt.Sprintf("%.0f %% %s", 100*share, what)))
	}
	return drawn
}

func (t Timeline) bar(bin int, share float64, told string) Bar {
	height := share * barHeight
	return Bar{X: float64(bin * barWidth), Y: barHeight - height, Height: height, Told: fmt.Sprintf("%.3g s: %s", float64(bin)*t.Bin, told)}
}

// Most is the highest number of rows that passed in a second.
func (t Timeline) Most() int64 { return int64(slices.Max(t.Rate)) }

// Seconds is how long it took, or how long it has been running.
func (t Timeline) Seconds() float64 { return t.Ended.Time().Sub(t.Begun.Time()).Seconds() }

// Find is what a word may mean.
type Find struct {
	Word       string              // that was looked for; empty for none yet
	Run        string              // in which it was looked for alone; empty for none
	Found      []client.Found      // nil if nothing was looked for
	Unsearched []client.Unsearched // where it was not looked for
	MayRead    bool                // who looks may see the journeys of rows
}

// In is the address of the search for the same word in one run.
func (f Find) In(run string) string {
	return "/find?" + url.Values{"q": {f.Word}, "run": {run}}.Encode()
}

// Compare is how a run differs from an earlier one.
type Compare struct {
	*client.Comparison
	MayRead bool // who looks may see the journeys of rows
}

// RowsPath is the path of the list of the rows of which the values of query parameters say what became: their names and values, one after the other.
func (c Compare) RowsPath(pairs ...string) string {
	query := url.Values{"with": {c.Was.ID}}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	return RunPath(c.Is.ID, "compare", "rows") + "?" + query.Encode()
}

// Compared is a list of rows that a run treated as an earlier one did, or otherwise.
type Compared struct {
	Was, Is string // ids of the runs
	Of      string // what the rows have in common, in words
	Count   int64  // how many there are in all; -1 if that is not counted
	Rows    []compare.PairedRow
	Next    string // path of the next page; empty if there is none
	MayRead bool   // who looks may see the journeys of rows
}

// mostColumns is how many ends a matrix shows at most: more do not fit on a page, and the list of flips says the same.
const mostColumns = 10

// Matrix is where rows ended in both runs; nil if all ended alike, or in too many ways.
func (c Compare) Matrix() *audit.Matrix { return audit.NewMatrix(c.Ends, mostColumns) }

// Effects is the list of completion records of a run.
type Effects struct {
	Run        landscape.Run
	Effects    []client.Effect
	Next       string
	MayResolve bool
}

// Pipelines is the list of deployed pipelines.
type Pipelines struct {
	Pipelines   []client.Pipeline
	Next        string                 // path of the next page; empty if there is none
	Last        map[string]*client.Run // the newest run of each, if it is among those that were looked at
	Environment string                 // empty for the default one
	Deploy      Deploy
	MayDeploy   bool
	Served      []Served // documents in the folder of this process, which start by name; none that is deployed
}

// Served is a document in the folder that a process serves.
type Served struct {
	Name     string
	Required []string // parameters that each run must give
	Problem  string   // why it cannot be started; empty if it can
}

// Deploy is what somebody filled into the form for a version.
type Deploy struct {
	Document, Environment, Why string
	Fault                      string // why it was not deployed; empty before
}

// Pipeline is a version of a deployed pipeline.
type Pipeline struct {
	client.Pipeline
	Document            *client.PipelineDocument
	History             []client.Redeployment // the last first
	Runs                []client.Run          // the newest, the newest first
	Triggers            []client.Trigger      // of the pipeline in its environment
	Form                Form
	MayStart, MayDeploy bool
}

// Form is what somebody filled into the form for a run.
type Form struct {
	Run      string // id of the run, which makes it one however often the form is sent
	Params   map[string]string
	For, Why string
	Fault    string // why it did not begin; empty before
}

// Word names the version, as commands do.
func (p Pipeline) Word() string { return fmt.Sprintf("%s@%d", p.Pipeline.Pipeline, p.Version) }

// Lines are those of the document.
func (p Pipeline) Lines() []string {
	return strings.Split(strings.TrimSuffix(p.Document.Document, "\n"), "\n")
}

// Diff is how two versions of a pipeline differ.
type Diff struct{ *client.PipelineDiff }

// Lines are those of the difference of the documents.
func (d Diff) Lines() []string { return strings.Split(strings.TrimSuffix(d.Text, "\n"), "\n") }

// Schedules is the list of schedules.
type Schedules struct {
	Schedules   []client.Schedule
	Next        string // path of the next page; empty if there is none
	Environment string // empty for all
}

// Schedule is a schedule with its slots.
type Schedule struct {
	*client.Grid
	History  []client.ScheduleChange // the last first
	MayOrder bool
}

// Told are the slots of which there is something to tell, the last first.
func (s Schedule) Told() []client.ScheduledSlot {
	told := slices.DeleteFunc(slices.Clone(s.Slots), func(slot client.ScheduledSlot) bool { return slot.State == client.SlotNone })
	slices.Reverse(told)
	return told
}

// Starts is who asked for runs, and what became of that.
type Starts struct {
	Waiting []client.Waiting // runs that wait for places, in order
	Starts  []client.Start   // the last first
	State   string           // that is asked for; empty for any
	States  []string
	Next    string
}

// Access is who may use the API and the pages, and who was shown values.
type Access struct {
	Tokens      []client.Access
	Disclosures []client.Disclosure // the last first
	Next        string
}

// Health is whether runs can work.
type Health struct{ Checks []client.CheckText }

// Count is how many checks came out so.
func (h Health) Count(state string) (n int64) {
	for _, c := range h.Checks {
		if string(c.State) == state {
			n++
		}
	}
	return n
}

// Problem is a page that says why there is no other.
type Problem struct {
	Status int
	Code   client.Code
	Detail string
}

// Login is the page on which somebody says who he is.
type Login struct {
	Why string // he must; empty if he came by himself
	To  string // where he goes then
	// Code is that of the link with which As signs in; empty for none.
	Code, As string
	// Issuer is where one can sign in as well; empty for nowhere.
	Issuer string
}

// SignedIn is what somebody sees for a moment who signed in at an issuer.
type SignedIn struct {
	To string // where he goes
}
