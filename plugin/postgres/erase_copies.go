package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"waymark/plugin"
)

// equalRows are rows with the same values: the wanted lines, how many others wrote, and those that the table has.
type equalRows struct {
	lines  []int64
	others int
	tables []uint32 // of each row of the table: its partition, and its place there
	places []string
	differ bool // in columns that the run did not write
}

// eraseCopies settles lines of a table without a key.
func (e *erasing) eraseCopies(ctx context.Context, lines []int64) error {
	c := &copying{attestation: e.attestation, found: map[int64]plugin.Finding{}}
	if err := c.known(ctx); err != nil {
		return err
	}
	wanted := map[int64]bool{}
	for _, line := range lines {
		wanted[line] = true
	}
	equal := map[[16]byte]*equalRows{}
	if err := e.count(ctx, c, 0, equal, wanted); err != nil { // the wanted ones first
		return err
	}
	for i := range c.outputs {
		if err := e.count(ctx, c, i, equal, nil); err != nil {
			return err
		}
	}
	if err := e.rowsLike(ctx, equal); err != nil {
		return err
	}
	for _, rows := range equal {
		if err := e.eraseSome(ctx, rows, len(c.unclear) > 0); err != nil {
			return err
		}
	}
	e.settleAs(lines, plugin.RowUnclear) // what they were is not known any more
	return nil
}

// count adds the wanted lines of an output, or with nil counts the others that are equal to wanted ones.
func (e *erasing) count(ctx context.Context, c *copying, i int, equal map[[16]byte]*equalRows, wanted map[int64]bool) error {
	o := &c.outputs[i]
	return e.eachBlock(ctx, o.run, o.sink, &o.Written, everyPart, func(b rowBlock, before int64, known bool) error {
		hashes, err := e.hashesOf(ctx, b)
		if !known || errors.Is(err, errOtherType) {
			c.doubt(*o, "what it wrote is not known any more")
			return nil
		}
		for k, hash := range hashes {
			line, of := before+b.places[k], equal[hash]
			switch {
			case wanted[line] && of == nil:
				equal[hash] = &equalRows{lines: []int64{line}}
			case wanted[line]:
				of.lines = append(of.lines, line)
			case wanted == nil && of != nil:
				of.others++
			}
		}
		return err
	})
}

// rowsLike finds and locks the rows of the table that are equal to wanted ones.
func (e *erasing) rowsLike(ctx context.Context, equal map[[16]byte]*equalRows) error {
	var hashes [][]byte
	for hash, of := range equal {
		of.others -= len(of.lines) // they were counted as well
		hashes = append(hashes, hash[:])
	}
	sql := fmt.Sprintf("select %s, t.tableoid, t.ctid::text, t::text from %s t "+
		"where %[1]s = any($1::bytea[]) for update", hashed(e.stored()), quotedTable(e.table))
	rows, err := e.tx.Query(ctx, sql, hashes)
	if err != nil {
		return err
	}
	var hash []byte
	var table uint32
	var place, whole string
	first := map[[16]byte]string{}
	_, err = pgx.ForEachRow(rows, []any{&hash, &table, &place, &whole}, func() error {
		of := equal[[16]byte(hash)]
		if len(of.places) == 0 {
			first[[16]byte(hash)] = whole
		}
		of.tables, of.places, of.differ = append(of.tables, table), append(of.places, place), of.differ || whole != first[[16]byte(hash)]
		return nil
	})
	return err
}

// eraseSome deletes as many equal rows as there are lines, if the table has so many besides those that others wrote.
func (e *erasing) eraseSome(ctx context.Context, rows *equalRows, unclear bool) error {
	n := min(len(rows.lines), len(rows.places)-rows.others)
	switch {
	case n <= 0:
		e.settleAs(rows.lines, plugin.RowGone)
		return nil
	case unclear, n < len(rows.places) && rows.differ:
		return nil
	}
	tag, err := e.tx.Exec(ctx, fmt.Sprintf("delete from %s where (tableoid, ctid) in (select * from unnest($1::oid[], $2::text[]::tid[]))", quotedTable(e.table)), rows.tables[:n], rows.places[:n])
	if err == nil && tag.RowsAffected() != int64(n) {
		err = e.fault(codeTargetRefused, "a trigger or a policy of the table kept a row from being deleted: let the role delete it, or delete it yourself")
	}
	if err != nil {
		return err
	}
	e.settleAs(rows.lines[:n], plugin.RowDeleted)
	e.settleAs(rows.lines[n:], plugin.RowGone)
	return nil
}
