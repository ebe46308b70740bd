package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"waymark/landscape"
	"waymark/pipeline"
)

// Onward is what came of a token beyond its pass: it is followed through barriers, breadth first, to every line of every output.
type Onward struct {
	Lines  []Line  `json:"lines"`          // of outputs; those with fewer barriers before them come first
	Ends   []Count `json:"ends,omitempty"` // of tokens that are on no line
	Tokens int     `json:"tokens"`         // that were looked at
	Left   int     `json:"left,omitempty"` // tokens that came of it and were not looked at: there were too many; what came of these is not counted
}

// Line is a line of a sink's output.
type Line struct {
	Sink   string   `json:"sink"`
	Line   int64    `json:"line,omitempty"`   // from 1, not counting a header; 0 as long as the sink did not confirm it
	Output string   `json:"output,omitempty"` // the published file
	Token  string   `json:"token"`            // that stands there
	By     []string `json:"by,omitempty"`     // tokens on the way from the one asked for that barriers took, and the rows that came out for them
}

// Count is how many tokens ended in one way.
type Count struct {
	Node   string `json:"node"`
	Path   string `json:"path"`
	Open   bool   `json:"open,omitempty"` // they have not ended yet
	Tokens int    `json:"tokens"`
}

// mostOnward is how many tokens are followed unless the question says more.
const mostOnward = 1000

// onward fills in what came of the token beyond barriers, if one took it, or what came of it in its pass, and let something out.
func (i *explaining) onward(ctx context.Context, limit int) error {
	f, beyond, err := i.followed(ctx, following{limit: cmp.Or(limit, mostOnward)}, []landscape.Token{i.asked})
	if beyond {
		i.explanation.Onward = f.found
	}
	return err
}

// followed follows tokens, and reports whether something came of them beyond a barrier, or was not looked at.
func (i *explaining) followed(ctx context.Context, with following, level []landscape.Token) (f *following, beyond bool, err error) {
	f = &with
	f.explaining, f.seen, f.cameOf = i, map[landscape.Token]bool{}, map[landscape.Token]landscape.Token{}
	f.counts, f.found, f.places = map[Count]int{}, &Onward{Lines: []Line{}}, map[string]*places{}
	for _, token := range level {
		f.seen[token] = true
	}
	for len(level) > 0 {
		next, err := f.follow(ctx, level)
		if err != nil {
			return f, beyond, err
		}
		beyond = beyond || len(next) > 0 || f.found.Left > 0
		level = next
	}
	return f, beyond, nil
}

// following is what onward does.
type following struct {
	*explaining
	limit  int
	seen   map[landscape.Token]bool
	cameOf map[landscape.Token]landscape.Token // by token that began a pass or was made in it: the one that it came of
	counts map[Count]int                       // Tokens left out → index of found.Ends
	found  *Onward
	places map[string]*places // by sink

	derived []Derived // rows that barriers made of what was followed
	took    []string  // barriers that took some of it

	only  bool     // rows that were made of other rows as well are not followed
	mixed []string // these rows

	view *view // of the chunk that was looked at last
	held []intake
}

// intake are tokens that a barrier took and that came out in one fold.
type intake struct {
	node    string
	fold    int64
	batches map[int64][]landscape.Token
}

// follow looks at tokens that begin passes, and at what came of them there. It returns the rows that came out of barriers for these.
func (f *following) follow(ctx context.Context, level []landscape.Token) ([]landscape.Token, error) {
	slices.SortFunc(level, func(a, b landscape.Token) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Lane, b.Lane))
	})
	f.held = nil
	for k, token := range level {
		if f.found.Tokens >= f.limit {
			f.found.Left += len(level) - k
			break
		}
		if err := f.pass(ctx, token); err != nil {
			return nil, err
		}
	}
	return f.let(ctx)
}

// pass looks at a token, and at all that came of it in its pass.
func (f *following) pass(ctx context.Context, begin landscape.Token) error {
	if err := f.see(ctx, begin); err != nil {
		return err
	}
	for queue := []landscape.Token{begin}; len(queue) > 0; queue = queue[1:] {
		if f.found.Tokens >= f.limit {
			f.found.Left += len(queue)
			return nil
		}
		next, err := f.look(ctx, queue[0])
		if err != nil {
			return err
		}
		queue = append(queue, next...)
	}
	return nil
}

// look notes how one token ended, and returns those that go on for it in this pass.
func (f *following) look(ctx context.Context, token landscape.Token) ([]landscape.Token, error) {
	way, err := f.view.wayOf(token)
	if err != nil {
		return nil, err
	}
	f.found.Tokens++
	switch {
	case way == nil:
		f.count(Count{Node: token.Source, Open: true})
		return nil, nil
	case way.Path == pipeline.Buffered:
		return nil, f.take(ctx, token, way.Last())
	case way.ToSink():
		return nil, f.deliver(ctx, token, *way)
	}
	next := f.goOn(token, *way)
	if len(next) == 0 && way.Path != pipeline.ForkParent && way.Path != pipeline.Coalesced {
		f.count(Count{Node: way.Last(), Path: string(way.Path)})
	}
	return next, nil
}

// goOn returns the tokens that go on for a token in its pass and were not seen before.
func (f *following) goOn(token landscape.Token, way landscape.Way) []landscape.Token {
	var next []landscape.Token
	for _, lane := range f.lanes {
		copied := way.Path == pipeline.ForkParent && lane.Branch != "" && *lane.Parent == token.Lane && lane.Fork == way.Last()
		if !copied && (way.Path != pipeline.Coalesced || !f.mergedFrom(lane, token.Lane, way)) {
			continue
		}
		child := landscape.Token{Source: token.Source, Lane: lane.Lane, Row: token.Row}
		if !f.seen[child] {
			f.seen[child], f.cameOf[child] = true, token
			next = append(next, child)
		}
	}
	return next
}

// take notes that a barrier took a token.
func (f *following) take(ctx context.Context, token landscape.Token, node string) error {
	batch, err := f.view.batchOf(ctx, token, node)
	if err != nil {
		return err
	}
	fired, found, err := f.fired(ctx, node, batch)
	if err != nil {
		return err
	}
	if !found {
		f.count(Count{Node: node, Path: string(pipeline.Buffered), Open: true})
		return nil
	}
	f.took = append(f.took, node)
	at := slices.IndexFunc(f.held, func(in intake) bool { return in.node == node && in.fold == fired.Fold })
	if at < 0 {
		at = len(f.held)
		f.held = append(f.held, intake{node, fired.Fold, map[int64][]landscape.Token{}})
	}
	f.held[at].batches[batch] = append(f.held[at].batches[batch], token)
	return nil
}

// let returns the rows that came out of barriers for the tokens that they took, and counts those for which none did.
func (f *following) let(ctx context.Context) ([]landscape.Token, error) {
	var level []landscape.Token
	for _, in := range f.held {
		children, err := f.log.CameOf(ctx, f.run.ID, in.node, in.fold, in.batches)
		if err != nil {
			return nil, err
		}
		went := map[landscape.Token]bool{}
		for _, child := range children {
			row := landscape.Token{Source: in.node, Lane: f.root(in.node), Row: child.Row}
			parents, of := in.batches[child.Batch], int64(1)
			if child.Token != nil {
				parents = []landscape.Token{*child.Token}
			} else if of, err = f.rowsOf(ctx, in.node, child.Batch); err != nil {
				return nil, err
			}
			for _, parent := range parents {
				went[parent] = true
			}
			if f.only && of > 1 && of != int64(len(parents)) {
				f.mixed = append(f.mixed, f.id(row))
				continue
			}
			if !f.seen[row] {
				f.seen[row], f.cameOf[row] = true, parents[0]
				f.derived = append(f.derived, Derived{f.id(row), of})
				level = append(level, row)
			}
		}
		if err := f.countLost(ctx, in, went); err != nil {
			return nil, err
		}
	}
	return level, nil
}

// rowsOf returns how many tokens a batch has.
func (f *following) rowsOf(ctx context.Context, node string, batch int64) (int64, error) {
	fired, _, err := f.fired(ctx, node, batch)
	return fired.Rows, err
}

// countLost counts the tokens that a barrier took and for which nothing came out.
func (f *following) countLost(ctx context.Context, in intake, went map[landscape.Token]bool) error {
	for _, batch := range slices.Sorted(maps.Keys(in.batches)) {
		fired, _, err := f.fired(ctx, in.node, batch)
		if err != nil {
			return err
		}
		for _, token := range in.batches[batch] {
			if !went[token] {
				f.count(Count{Node: in.node, Path: string(fired.Path)})
			}
		}
	}
	return nil
}

// count counts one more token that ended so.
func (f *following) count(end Count) {
	at, known := f.counts[end]
	if !known {
		at = len(f.found.Ends)
		f.counts[end] = at
		f.found.Ends = append(f.found.Ends, end)
	}
	f.found.Ends[at].Tokens++
}

// deliver notes the line of a token in a sink's output.
func (f *following) deliver(ctx context.Context, token landscape.Token, way landscape.Way) error {
	line, rejected, err := f.lineOf(ctx, token, way.Sink)
	if err != nil {
		return err
	}
	if rejected {
		f.count(Count{Node: way.Sink, Path: string(pipeline.OnErrorRouted)})
		return nil
	}
	f.found.Lines = append(f.found.Lines, Line{Sink: way.Sink, Line: line, Output: f.places[way.Sink].output, Token: f.id(token), By: f.by(token)})
	return nil
}

// by returns the tokens between the one asked for and this one that barriers took, or that came out of them.
func (f *following) by(token landscape.Token) []string {
	var list []string
	at := token
	for from, found := f.cameOf[at]; found; from, found = f.cameOf[at] {
		if from.Source != at.Source || from.Row != at.Row {
			list = append(list, f.id(at), f.id(from))
		}
		at = from
	}
	list = slices.DeleteFunc(slices.Compact(list), func(id string) bool { return id == f.id(token) || id == f.id(f.asked) })
	slices.Reverse(list)
	return list
}
