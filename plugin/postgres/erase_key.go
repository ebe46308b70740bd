package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"waymark/plugin"
)

// byKey deletes rows that are found by their key.
type byKey struct {
	*erasing
	wanted map[int64]bool
	keys   map[string]int64 // of the wanted lines, as keysOf gives them: the line
	blocks []lineBlock      // with wanted lines
}

// lineBlock is rows with their lines.
type lineBlock struct {
	rowBlock
	lines []int64
}

// eraseByKey settles lines of a table with a key.
func (e *erasing) eraseByKey(ctx context.Context, lines []int64) error {
	k := &byKey{erasing: e, wanted: map[int64]bool{}, keys: map[string]int64{}}
	for _, line := range lines {
		k.wanted[line] = true
	}
	if err := k.own(ctx, lines); err != nil {
		return err
	}
	if err := k.later(ctx); err != nil {
		return err
	}
	for _, b := range k.blocks {
		if err := k.eraseBlock(ctx, b); err != nil {
			return err
		}
	}
	e.settleAs(lines, plugin.RowUnclear) // what they were is not known any more
	return nil
}

// own finds the wanted lines, and those of them that a later line of the output replaced.
func (k *byKey) own(ctx context.Context, lines []int64) error {
	first, last := slices.Min(lines), slices.Max(lines)
	if k.header.upserts() {
		last = 1<<63 - 1
	}
	between := func(from, to int64) bool { return to >= first && from <= last }
	return k.eachBlock(ctx, k.run, k.name, &k.written, between, func(b rowBlock, before int64, _ bool) error {
		keys, err := k.keysOf(ctx, b)
		if errors.Is(err, errOtherType) {
			return nil // the table does not hold what was written
		}
		if err != nil {
			return err
		}
		var rows []int
		some := lineBlock{}
		for i, key := range keys {
			line := before + b.places[i]
			if was, is := k.keys[key]; is {
				k.outcomes[was] = plugin.RowReplaced
				delete(k.keys, key)
			}
			if k.wanted[line] {
				k.keys[key] = line
				rows, some.lines = append(rows, i), append(some.lines, line)
			}
		}
		if some.rowBlock = b.only(rows); len(rows) > 0 {
			k.blocks = append(k.blocks, some)
		}
		return nil
	})
}

// keysOf returns the key of each row of a block: equal for rows with equal keys, as far as the table has the row.
func (e *erasing) keysOf(ctx context.Context, b rowBlock) ([]string, error) {
	if b.count == 0 {
		return nil, nil
	}
	from, key := e.keyed()
	var keys []string
	err := e.within(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, fmt.Sprintf("select %s from %s order by v.n", key, from), b.args()...)
		if err == nil {
			keys, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	return keys, ofType(err)
}

// later finds the wanted lines that later outputs replaced, and whether there is one that may have replaced some.
func (k *byKey) later(ctx context.Context) error {
	later, err := k.written.Later(ctx)
	if err != nil {
		return err
	}
	known := []string{k.run}
	for _, by := range later {
		known = append(known, by.Run)
		if err := k.replacedBy(ctx, by); err != nil {
			return err
		}
	}
	return k.strangers(ctx, known)
}

func (k *byKey) replacedBy(ctx context.Context, by plugin.WrittenBy) error {
	h, err := parseHeader(by.Header)
	if err != nil || !slices.Equal(h.names(), k.header.names()) {
		if err != nil || h.upserts() {
			k.unclear = by.Run
		}
		return nil
	}
	return k.eachBlock(ctx, by.Run, by.Sink, &by.Written, everyPart, func(b rowBlock, _ int64, known bool) error {
		keys, err := k.keysOf(ctx, b)
		if !known || errors.Is(err, errOtherType) {
			if h.upserts() {
				k.unclear = by.Run
			}
			return nil
		}
		for _, key := range keys {
			if line, is := k.keys[key]; is {
				k.outcomes[line] = plugin.RowReplaced
			}
		}
		return err
	})
}

// eraseBlock deletes the rows of a block that may be deleted, and says of the others what is there.
func (k *byKey) eraseBlock(ctx context.Context, b lineBlock) error {
	var may []int
	for i, line := range b.lines {
		if k.outcomes[line] == "" && k.unclear == "" {
			may = append(may, i)
		}
	}
	deleted, err := k.deleteExactly(ctx, b.only(may))
	if err != nil {
		return err
	}
	for _, n := range deleted {
		k.outcomes[b.lines[may[n-1]]] = plugin.RowDeleted
	}
	found, err := k.look(ctx, b.rowBlock)
	if err != nil {
		return err
	}
	for i, line := range b.lines {
		switch outcome := k.outcomes[line]; {
		case outcome != "":
		case found[i].State == plugin.Missing:
			k.outcomes[line] = plugin.RowGone
		case found[i].State == plugin.Changed:
			k.outcomes[line] = plugin.RowEdited
		case k.unclear != "":
			k.outcomes[line] = plugin.RowUnclear
		default:
			return k.fault(codeTargetRefused, "a trigger or a policy of the table kept a row from being deleted: let the role delete it, or delete it yourself")
		}
	}
	return nil
}

// deleteExactly deletes the rows that are there with all the values, and returns their numbers within the block, from 1.
func (e *erasing) deleteExactly(ctx context.Context, b rowBlock) (numbers []int64, err error) {
	if b.count == 0 {
		return nil, nil
	}
	same := []string{fmt.Sprintf("%s = %s", exactly(e.stored()), exactly(e.wanted()))}
	for i, column := range e.columns {
		if slices.Contains(e.key, column.name) {
			same = append(same, fmt.Sprintf("t.%s = %s", quoted(column.name), e.cast(i)))
		}
	}
	rows, err := e.tx.Query(ctx, fmt.Sprintf("delete from %s t using %s where %s returning v.n", quotedTable(e.table), e.unnested(), strings.Join(same, " and ")), b.args()...)
	if err == nil {
		numbers, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	return numbers, err
}
