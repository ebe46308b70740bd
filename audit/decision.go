package audit

import (
	"context"
	"errors"
	"slices"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
)

// Decision is what a coalesce made of the branches of one forked token.
type Decision struct {
	Coalesce   string      `json:"coalesce"`
	Of         string      `json:"of"` // the forked token
	Policy     string      `json:"policy"`
	Quorum     int64       `json:"quorum,omitempty"`
	Merge      string      `json:"merge"`
	Select     string      `json:"select,omitempty"` // of the merge select: the branch whose row is wanted, if the plan is to be had
	Expected   int         `json:"expected"`         // branches
	Branches   []string    `json:"branches"`         // that are expected, in declared order
	Arrived    []Arrived   `json:"arrived"`
	Lost       []Lost      `json:"lost,omitempty"`
	NotNeeded  []string    `json:"not_needed,omitempty"` // branches that had neither come nor were lost
	Collisions []Collision `json:"collisions,omitempty"`
	Fields     []FromWhere `json:"fields,omitempty"` // of the merged row, in order; of a rejected one, those of all that came
	FiredBy    string      `json:"fired_by"`
	WaitMS     int64       `json:"wait_ms"` // from the first arrival
	TimeoutMS  int64       `json:"timeout_ms,omitempty"`
	Batch      int64       `json:"batch,omitempty"` // of the coalesce; 0 if the branches met in one pass
	Result     string      `json:"result"`          // merged, rejected or nothing
	Code       string      `json:"code,omitempty"`  // why the row is rejected
	Cure       string      `json:"cure,omitempty"`
	Token      string      `json:"token,omitempty"` // what came of it
	Verified   bool        `json:"verified"`        // computed again, and equal to what is recorded
	Differs    string      `json:"differs,omitempty"`

	kind landscape.MergeKind
}

// Arrived is a branch that came in time.
type Arrived struct {
	Branch   string `json:"branch"`
	Token    string `json:"token"`
	OffsetMS int64  `json:"offset_ms"` // after the first
}

// Lost is a branch that never came.
type Lost struct {
	Branch string `json:"branch"`
	Reason string `json:"reason"`          // the path by which its token ended
	Token  string `json:"token,omitempty"` // that ended, of this record
	Node   string `json:"node,omitempty"`  // where it ended
}

// Collision is a field in which branches have different values.
type Collision struct {
	Field  string `json:"field"`
	Branch string `json:"branch,omitempty"` // whose value stands
}

// FromWhere says from which branch a field has its value.
type FromWhere struct {
	Field  string `json:"field"`
	Branch string `json:"branch"`
}

// merges fills in what coalesces made of the record's tokens that were forked.
func (i *explaining) merges(ctx context.Context) error {
	for k := range i.tokens {
		t := &i.tokens[k]
		if t.way.Path != pipeline.ForkParent || !i.mayCoalesce(t.way.Last()) {
			continue
		}
		merged, err := i.log.MergeOfFork(ctx, i.run.ID, t.at)
		if errors.Is(err, landscape.ErrNotFound) {
			continue // no coalesce merges its branches, or not yet
		}
		if err != nil {
			return err
		}
		decision, err := i.decision(ctx, merged)
		if err != nil {
			return err
		}
		if merged := i.merged(merged); merged != nil {
			merged.Merge = decision
		} else {
			t.Merged = decision
		}
	}
	return nil
}

// merged returns the record's token that the coalesce made; nil if it is another record's, or there is none.
func (i *explaining) merged(merged landscape.Merged) *tokenTrace {
	if merged.Token == nil || merged.Token.Source != i.asked.Source || merged.Batch != 0 {
		return nil
	}
	return i.token(merged.Token.Lane)
}

// heldMerge returns what a coalesce that holds branches made of a batch.
func (i *explaining) heldMerge(ctx context.Context, coalesce string, batch int64) (*Decision, error) {
	merged, err := i.log.MergeOf(ctx, i.run.ID, coalesce, batch)
	if err != nil {
		return nil, err
	}
	return i.decision(ctx, merged)
}

func (i *explaining) decision(ctx context.Context, merged landscape.Merged) (*Decision, error) {
	kind := merged.Kind
	d := &Decision{
		Coalesce: kind.Node, Of: i.id(merged.Key), Policy: kind.Policy, Quorum: kind.Quorum, Merge: kind.Merge, Select: i.selected(kind),
		Expected: len(kind.Expected), Branches: kind.Expected, Arrived: []Arrived{}, NotNeeded: kind.NotNeeded, FiredBy: kind.FiredBy,
		WaitMS: merged.Wait.Milliseconds(), TimeoutMS: kind.Timeout.Milliseconds(), Batch: merged.Batch,
		Result: string(kind.Result), Code: kind.Code, Cure: cures[kind.Code], kind: kind,
	}
	for _, arrival := range merged.Arrivals {
		d.Arrived = append(d.Arrived, Arrived{arrival.Branch, i.id(arrival.Token), arrival.Offset.Milliseconds()})
	}
	for _, field := range kind.Collisions {
		d.Collisions = append(d.Collisions, Collision{field, standing(kind, field)})
	}
	for _, origin := range kind.Origins {
		d.Fields = append(d.Fields, FromWhere(origin))
	}
	if merged.Token != nil {
		d.Token = i.id(*merged.Token)
	}
	for _, lost := range kind.Lost {
		told := Lost{Branch: lost.Branch, Reason: string(lost.Reason)}
		if err := i.findLost(ctx, merged.Key, &told); err != nil {
			return nil, err
		}
		d.Lost = append(d.Lost, told)
	}
	return d, nil
}

// standing returns the branch whose value of a field stands; "" if none does.
func standing(kind landscape.MergeKind, field string) string {
	at := slices.IndexFunc(kind.Origins, func(o landscape.FieldOrigin) bool { return o.Field == field })
	if at < 0 || kind.Result != landscape.MergeMerged {
		return ""
	}
	return kind.Origins[at].Branch
}

// mayCoalesce reports whether a coalesce merges branches of the fork, as far as that is known: else nobody need look for what it made.
func (i *explaining) mayCoalesce(fork string) bool {
	return i.compiled == nil || slices.ContainsFunc(i.compiled.Nodes, func(node plan.Node) bool {
		return node.Coalescing != nil && i.compiled.Nodes[node.Coalescing.Fork].Name == fork
	})
}

// selected returns the branch whose row a coalesce wants; "" if it wants none in particular, or that is unknown.
func (i *explaining) selected(kind landscape.MergeKind) string {
	if i.compiled == nil || kind.Merge != pipeline.SelectBranch {
		return ""
	}
	return i.compiled.Nodes[i.compiled.Find(kind.Node)].Coalescing.Merge.Select
}

// findLost finds the token with which a branch ended before the coalesce, and the node at which it did: the copy itself,
// what was made of copies of it, or the row that came out of a barrier for one of these.
func (i *explaining) findLost(ctx context.Context, key landscape.Token, lost *Lost) error {
	parent, err := i.log.WayOf(ctx, i.run.ID, key)
	if err != nil {
		return err
	}
	lane := i.laneUnder(key.Lane, parent.Last(), lost.Branch)
	if lane < 0 {
		return nil
	}
	token := &landscape.Token{Source: key.Source, Lane: lane, Row: key.Row}
	for range i.lanes { // every barrier on the way has a lane, and none comes twice
		way, err := i.log.WayOf(ctx, i.run.ID, *token)
		if errors.Is(err, landscape.ErrNotFound) {
			return nil // not recorded yet
		}
		if err != nil {
			return err
		}
		lost.Token, lost.Node = i.id(*token), way.Last()
		if token, err = i.standIn(ctx, *token, way); err != nil || token == nil {
			return err
		}
	}
	return nil
}

// standIn returns the token that stands for the branch of a token that ended; nil if none does.
func (i *explaining) standIn(ctx context.Context, token landscape.Token, way landscape.Way) (*landscape.Token, error) {
	switch {
	case way.Path == pipeline.ForkParent && i.mayCoalesce(way.Last()):
		merged, err := i.log.MergeOfFork(ctx, i.run.ID, token)
		if errors.Is(err, landscape.ErrNotFound) {
			return nil, nil //nolint:nilnil // no coalesce merges its branches, or not yet
		}
		return merged.Token, err
	case way.Path == pipeline.Buffered:
		return i.cameOut(ctx, token)
	}
	return nil, nil //nolint:nilnil // the branch ended here
}

// cameOut returns the row that came out of a barrier in the place of a token; nil if none did. Rows that were made of many, and
// elements of a list, are in nobody's place.
func (i *explaining) cameOut(ctx context.Context, token landscape.Token) (*landscape.Token, error) {
	in, err := i.log.BatchOf(ctx, i.run.ID, token)
	if errors.Is(err, landscape.ErrNotFound) || err == nil && (in.Fired == nil || in.Fired.Path != pipeline.BatchConsumed) {
		return nil, nil //nolint:nilnil // the barrier did not let it go on
	}
	if err != nil {
		return nil, err
	}
	children, err := i.log.ChildrenOf(ctx, i.run.ID, token)
	if err != nil || len(children) != 1 {
		return nil, err
	}
	from, err := i.log.ParentsOf(ctx, i.run.ID, children[0].Source, children[0].Row)
	if err != nil || from.Token == nil {
		return nil, err
	}
	return &children[0], nil
}

// laneUnder returns the lane of a fork's branch; -1 if there is none.
func (i *explaining) laneUnder(parent int64, fork, branch string) int64 {
	for _, lane := range i.lanes {
		if lane.Parent != nil && *lane.Parent == parent && lane.Fork == fork && lane.Branch == branch {
			return lane.Lane
		}
	}
	return -1
}
