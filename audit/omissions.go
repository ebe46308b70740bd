package audit

import (
	"bytes"
	"context"
	"fmt"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
)

// writtenPart is a part that a run wrote, and where it is computed again.
type writtenPart struct {
	plugin.Part
	compiled *plan.Plan
	node     int
	of       landscape.EffectKey // its write
	before   int64               // lines of the output before it
}

// rowsOf computes the rows of a part again, without those that were forgotten or deleted by order.
func (a *attesting) rowsOf(ctx context.Context, part writtenPart) (rows plugin.PartRows, err error) {
	chunk := landscape.ChunkKey{Source: part.of.Source, Chunk: part.of.Chunk}
	forgotten, err := a.log.Forgotten(ctx, part.of.Run, chunk)
	if err != nil {
		return rows, err
	}
	if forgotten == nil {
		rows.Data, err = a.bytesOf(ctx, part.compiled, part.node, part.of.Run, chunk, part.Part)
		return rows, orLost(err)
	}
	record, err := a.log.Chunk(ctx, part.of.Run, chunk)
	if err != nil {
		return rows, err
	}
	in, err := recompute.Stored(ctx, a.log, a.payloads, part.compiled, record)
	if err != nil {
		return rows, orLost(err)
	}
	o := &omissions{number: map[int64]int{}, without: map[int]plugin.Omission{}}
	o.blank = recompute.LeaveOutBlank(&in)
	data, err := a.linesOf(ctx, part, in)
	if err == nil {
		err = a.omit(ctx, part, forgotten, o)
	}
	if err != nil {
		return rows, err
	}
	return o.from(data, record.FirstRow)
}

// orLost says of an error about payloads that are not to be had that the rows are lost.
func orLost(err error) error {
	if lost(err) {
		return &plugin.LostError{Err: err}
	}
	return err
}

// linesOf sends what is left of a chunk through the steps again.
func (a *attesting) linesOf(ctx context.Context, part writtenPart, in engine.Input) (lines []byte, err error) {
	if in.Firsts, err = recompute.Repeats(ctx, a.log, part.compiled, part.of.Run, part.of.Chunk, in); err != nil {
		return nil, err
	}
	runner, err := engine.NewRunner(part.compiled)
	if err != nil {
		return nil, err
	}
	result, err := runner.Run(in)
	if err != nil {
		return nil, err
	}
	return result.Parts[part.node].Data, nil
}

// omissions are the rows of a part that are not known.
type omissions struct {
	tokens  []landscape.Token // of all rows of the part, in order
	blank   map[int]bool      // records of the chunk, by index
	number  map[int64]int     // of the row on a line of the output
	without map[int]plugin.Omission
}

// omit finds out which rows of a part are not known, or are not there any more.
func (a *attesting) omit(ctx context.Context, part writtenPart, forgotten []landscape.Forgotten, o *omissions) (err error) {
	if o.tokens, err = a.log.SinkTokens(ctx, part.of); err != nil {
		return err
	}
	for number, token := range o.tokens {
		for _, f := range forgotten {
			if f.Row == token.Row && o.blank[int(f.Slot)] {
				o.without[number] = plugin.Omission{Why: fmt.Sprintf("order %d forgot the row: nothing can compare it any more", f.Order)}
			}
		}
	}
	orders, err := a.log.Erasures(ctx, part.of.Run, part.of.Sink)
	if err != nil || orders.Erasures == nil {
		return err
	}
	if err := a.number(ctx, part, o); err != nil {
		return err
	}
	for _, e := range orders.Erasures {
		number, here := o.number[e.Line]
		outcome, done := orders.Outcomes[e.Line]
		switch {
		case !here, !done && a.erasing:
		case !done:
			o.without[number] = plugin.Omission{Why: fmt.Sprintf("order %d deletes the row, and is not carried out yet: waymark forget --finish does it", e.Order)}
		case outcome.Absent():
			o.without[number] = plugin.Omission{Erased: true}
		default:
			o.without[number] = plugin.Omission{
				Why: fmt.Sprintf("order %d forgot the row, and did not delete it: %s", e.Order, landscape.ErasureText(outcome)),
			}
		}
	}
	return nil
}

// number finds out which row of the part is on which line of the output.
func (a *attesting) number(ctx context.Context, part writtenPart, o *omissions) error {
	held, err := a.log.HeldTokens(ctx, part.of)
	numbers := map[landscape.Token]int{}
	for number, token := range o.tokens {
		numbers[token] = number
	}
	for i, token := range held {
		o.number[part.before+int64(i)+1] = numbers[token]
	}
	return err
}

// from returns the rows of a part from the lines of those whose records are not blank.
func (o *omissions) from(lines []byte, firstRow int64) (plugin.PartRows, error) {
	rows := plugin.PartRows{Without: o.without}
	for number, token := range o.tokens {
		if o.blank[int(token.Row-firstRow)] {
			continue
		}
		end := bytes.IndexByte(lines, '\n') + 1
		if end == 0 {
			return rows, fmt.Errorf("the part, computed again, has fewer rows than are recorded")
		}
		if _, omitted := o.without[number]; !omitted {
			rows.Data = append(rows.Data, lines[:end]...)
		}
		lines = lines[end:]
	}
	if len(lines) > 0 {
		return rows, fmt.Errorf("the part, computed again, has more rows than are recorded")
	}
	return rows, nil
}
