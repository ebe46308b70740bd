package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/landscape"
)

// Balance says where the rows of a run went. Copies that a fork made, and rows that barriers made, count as well.
type Balance struct {
	Discarded   int64 `json:"discarded"`
	Filtered    int64 `json:"filtered"`
	Quarantined int64 `json:"quarantined"`
	Read        int64 `json:"read"`  // from sources
	Sinks       int64 `json:"sinks"` // that targets hold
}

// Policy is a policy of a run with its last result.
type Policy struct {
	Gate   string               `json:"gate"`
	Name   string               `json:"name"`
	Result landscape.PolicyWord `json:"result"` // empty if it was never evaluated
}

// account returns the balance of a run, and its policies in document order; not nil. Records that make no sense are no reason to panic.
func account(ctx context.Context, log *landscape.Reader, run string) (b Balance, policies []Policy, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the ways of its rows lead to nodes that the run does not have")
		}
	}()
	summary, err := log.Summary(ctx, run)
	if err != nil {
		return b, nil, err
	}
	b = Balance{Discarded: summary.Discarded, Filtered: summary.Filtered, Quarantined: summary.Quarantined, Read: summary.Rows}
	for _, sink := range summary.Sinks {
		b.Sinks += sink.Finalized
	}
	standing, err := log.Policies(ctx, run)
	policies = make([]Policy, 0, len(standing))
	for _, p := range standing {
		policy := Policy{Gate: p.Gate, Name: p.Policy}
		if p.Last != nil {
			policy.Result = p.Last.Result
		}
		policies = append(policies, policy)
	}
	return b, policies, err
}

// subjects returns the published outputs of a run, by sink.
func subjects(ctx context.Context, log *landscape.Reader, run string) ([]Subject, error) {
	outputs, err := landscape.Select[landscape.ArtifactRecord](ctx, log, run)
	named := make([]Subject, 0, len(outputs))
	for _, output := range outputs {
		named = append(named, subject(output.Path, output.SHA256))
	}
	return named, err
}

// statementFollows compares what the statement says with the records.
func (v *verification) statementFollows() error {
	ctx, log := context.Background(), landscape.NewReader(v.records)
	said := v.signed.Predicate
	balance, policies, err := account(ctx, log, v.Run)
	if err != nil {
		return err
	}
	outputs := []Subject{}
	if len(v.manifest.Redactions) == 0 {
		outputs, err = subjects(ctx, log, v.Run)
	}
	switch {
	case err != nil:
		return err
	case balance != said.Balance:
		return fmt.Errorf("the statement counts %s, and the records %s", said.Balance, balance)
	case !slices.Equal(policies, said.Policies):
		return errors.New("the statement names other policies or results than the records")
	case !slices.Equal(outputs, v.signed.Subject[1:]):
		return errors.New("the statement names other outputs than the records")
	}
	v.Balance, v.Policies = &balance, policies
	return nil
}

// String says it for people.
func (b Balance) String() string {
	return fmt.Sprintf("%s read, %d in sinks, %d in quarantine, %d filtered, %d discarded",
		plural(b.Read, "row"), b.Sinks, b.Quarantined, b.Filtered, b.Discarded)
}

// String says it for people.
func (p Policy) String() string {
	if p.Result == "" {
		return p.Name + " (gate " + p.Gate + "): not evaluated"
	}
	return fmt.Sprintf("%s (gate %s): %s", p.Name, p.Gate, p.Result)
}
