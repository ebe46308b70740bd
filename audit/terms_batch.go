package audit

import (
	"context"
	"errors"
	"fmt"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline/row"
)

// mostComputed is how many tokens a batch may have whose computed fields are computed again, unless all tokens are asked for.
const mostComputed = 1000

// batchTerms returns the expressions of an aggregate with what they and their parts were for a batch, computed again from its tokens,
// then that of its trigger. Without values it returns them for a batch of too many tokens, or if a record is not to be had; then note
// says why. A batch of rows that were turned away has none.
func (i *explaining) batchTerms(ctx context.Context, made landscape.BatchRecord, members []landscape.Token) (list []Term, note string, err error) {
	at := plan.None
	if i.compiled != nil {
		at = i.compiled.Find(made.Node)
	}
	if at == plan.None || i.compiled.Nodes[at].Operation != plan.Aggregate || made.Trigger == barrier.FiredByArrival {
		return nil, "", nil
	}
	node := &i.compiled.Nodes[at]
	var rows []row.Row
	if made.Rows > mostComputed && !i.all {
		note = fmt.Sprintf("its %d tokens are too many to compute this again; --all does", made.Rows)
	} else if rows, err = i.rowsAt(ctx, at, members); err != nil {
		return nil, "", err
	} else if rows == nil {
		note = "records of its tokens are missing or corrupt, so this cannot be computed again"
	}
	list, computed := computedTerms(node, rows)
	for k, field := range node.Batch.Compute {
		list[k].Contributions = i.contributions(field, rows, members)
	}
	if node.Batch.When != nil {
		term := Term{For: "when", Expression: node.Spec.Trigger.When}
		if rows != nil {
			term.Values = values(node.Batch.When.Explain(barrier.Condition(node, computed, int64(len(rows)))))
		}
		list = append(list, term)
	}
	return list, note, nil
}

// computedTerms returns the computed fields with what they were for the rows, and their values, null for those that have none; without
// rows, only the expressions.
func computedTerms(node *plan.Node, rows []row.Row) (list []Term, computed []row.Value) {
	for k, field := range node.Batch.Compute {
		term, value := Term{For: field.Field, Expression: node.Spec.Aggregate.Compute[k].Value}, row.NullValue()
		if rows != nil {
			term.Values, value = computeAgain(field, rows)
		}
		list, computed = append(list, term), append(computed, value)
	}
	return list, computed
}

// computeAgain returns what the parts of a computed field were for the rows, and its value; null if it has none.
func computeAgain(field plan.Computed, rows []row.Row) ([]Value, row.Value) {
	results, err := barrier.Results(field.Program, rows)
	if err != nil {
		return []Value{{Source: field.Field, Error: err.Error()}}, row.NullValue()
	}
	value, err := field.Program.Eval(results)
	if err != nil {
		value = row.NullValue() // the first part says why
	}
	return values(field.Program.Explain(results)), value
}

// rowsAt returns the rows with which tokens came to a barrier, computed again from their records; nil if one is not to be had.
func (i *explaining) rowsAt(ctx context.Context, at int, tokens []landscape.Token) ([]row.Row, error) {
	runner, err := engine.NewRunner(i.compiled)
	if err != nil {
		return nil, err
	}
	var rows []row.Row
	var about landscape.Chunk
	var in engine.Input
	for _, token := range tokens {
		if about.Source != token.Source || token.Row < about.FirstRow || token.Row >= about.FirstRow+about.Rows {
			if about, err = i.log.ChunkOf(ctx, i.run.ID, token.Source, token.Row); err != nil {
				return nil, err
			}
			in, err = recompute.Others(ctx, i.log, i.payloads, i.compiled, about)
		}
		if errors.Is(err, payload.ErrNotFound) || errors.Is(err, payload.ErrCorrupt) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if in.Without[int(token.Row-about.FirstRow)] {
			return nil, nil
		}
		came, found, err := rowAt(runner, in, int(token.Row-about.FirstRow), int(token.Lane), at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", i.id(token), err)
		}
		if !found {
			return nil, nil
		}
		rows = append(rows, came)
	}
	return rows, nil
}

// rowAt returns the row with which the token of a record comes to a node, if it does.
func rowAt(runner *engine.Runner, in engine.Input, index, lane, node int) (row.Row, bool, error) {
	traced, err := runner.Trace(in, index)
	if _, stopped := errors.AsType[*engine.FailedError](err); err != nil && !stopped {
		return row.Row{}, false, err
	}
	for _, event := range traced.Events {
		if event.Node == node && event.Lane == lane && event.Before.Shape != nil {
			return event.Before, true, nil
		}
	}
	return row.Row{}, false, nil
}
