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

// In a table without a key nothing tells equal rows apart, so all that runs wrote is compared with all that is there: of each row as many copies as all
// runs together wrote. A row is a hash of its values here.

// copiesAtOnce is about how many rows are compared at a time: that bounds the memory.
const copiesAtOnce = 1 << 20

// maxNamed is how many rows and runs one finding names.
const maxNamed = 5

// wroteHere is an output in the table: what a run wrote, as far as that is known here.
type wroteHere struct {
	run, sink string
	rows      int64
	plugin.Written
}

// copies are those of one row.
type copies struct {
	wrote int     // by all runs
	runs  []int   // that wrote some: indexes of outputs
	lines []int64 // of the output that is attested
	parts []int64 // for each line
}

// copying compares a whole table without a key.
type copying struct {
	*attestation
	outputs []wroteHere // the one that is attested is the first
	unclear []string    // outputs whose rows are not known here, with the reason
	wide    bool        // an own part is not known
	rows    map[[16]byte]*copies
	found   map[int64]plugin.Finding // by line
	stray   int64                    // rows that no known output has
	where   []string                 // some of these
}

// wholeTable compares the rows of all parts with the table's.
func (a *attestation) wholeTable(ctx context.Context) error {
	c := &copying{attestation: a, found: map[int64]plugin.Finding{}}
	if err := c.known(ctx); err != nil {
		return err
	}
	total := int64(0)
	for _, o := range c.outputs {
		total += o.rows
	}
	passes := min(int(total/copiesAtOnce)+1, 256)
	for pass := range passes {
		c.rows = map[[16]byte]*copies{}
		for i := range c.outputs {
			if err := c.addOutput(ctx, i, pass, passes); err != nil {
				return err
			}
		}
		if err := c.compareTable(ctx, pass, passes); err != nil {
			return err
		}
	}
	c.settleCopies()
	return nil
}

// known finds out which outputs are in the table.
func (c *copying) known(ctx context.Context) error {
	c.outputs = []wroteHere{{run: c.run, sink: c.name, Written: c.written}}
	for _, part := range c.written.Parts {
		c.outputs[0].rows += part.Rows
	}
	others, err := c.written.Others(ctx)
	if err != nil {
		return err
	}
	entered := []wroteHere{}
	l := ledgerOf(c.table)
	err = c.within(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select o.run, o.sink, coalesce(sum(p.rows - jsonb_array_length(p.refused)), 0)::bigint from `+l.outputs()+` o left join `+l.parts()+` p using (run, sink)
			where o.target = $1 and (o.run, o.sink) <> ($2, $3) group by o.run, o.sink order by o.run, o.sink`, c.table.String(), c.run, c.name)
		if err != nil {
			return err
		}
		var o wroteHere
		_, err = pgx.ForEachRow(rows, []any{&o.run, &o.sink, &o.rows}, func() error { entered = append(entered, o); return nil })
		return err
	})
	if err != nil && !tableMissing(err) {
		return err
	}
	for _, o := range entered {
		at := slices.IndexFunc(others, func(by plugin.WrittenBy) bool { return by.Run == o.run && by.Sink == o.sink })
		switch {
		case o.rows == 0:
			continue
		case at < 0:
			c.doubt(o, "it is not recorded here as published")
			continue
		}
		o.Written = others[at].Written
		if h, err := parseHeader(o.Header); err != nil || !slices.Equal(h.names(), c.header.names()) {
			c.doubt(o, "its columns are others, or not known here")
			continue
		}
		c.outputs = append(c.outputs, o)
	}
	return nil
}

// doubt notes an output whose rows are not known here.
func (c *copying) doubt(o wroteHere, why string) {
	if doubt := fmt.Sprintf("run %s wrote %d: %s", o.run, o.rows, why); !slices.Contains(c.unclear, doubt) {
		c.unclear = append(c.unclear, doubt)
	}
}

// addOutput adds the rows of an output. What is not known of one stays out of all passes.
func (c *copying) addOutput(ctx context.Context, i, pass, passes int) error {
	o := &c.outputs[i]
	for _, part := range o.Parts {
		err := c.addPart(ctx, i, part, pass, passes)
		var unknown *notComparable
		switch {
		case err == nil:
		case !errors.As(err, &unknown):
			return err
		case i > 0:
			if pass == 0 {
				c.doubt(*o, unknown.Error())
			}
			return nil
		default:
			c.wide = true
			if pass == 0 {
				c.attestation.found.Add(o.Holds(part), plugin.Finding{State: unknown.state, Part: &part.Ordinal, Why: unknown.Error()})
			}
		}
	}
	return nil
}

// notComparable says why a part is not compared row by row.
type notComparable struct {
	state plugin.State
	error
}

// addPart adds the rows of one part, as the table would show them.
func (c *copying) addPart(ctx context.Context, i int, part plugin.Part, pass, passes int) error {
	o := &c.outputs[i]
	known, err := o.RowsOf(ctx, part)
	var refused map[int]bool
	if err == nil {
		refused, err = c.refusedOf(ctx, o.run, o.sink, part)
	}
	if err != nil {
		return errors.Join(ctx.Err(), &notComparable{plugin.NotKnown, err})
	}
	rows := newRowBlock(part, known, c.columns, refused)
	before := o.RowsBefore(part)
	if pass == 0 {
		c.omitFrom(i, part, before, rows.omitted)
	}
	hashes, err := c.hashesOf(ctx, rows)
	if errors.Is(err, errOtherType) {
		return &notComparable{plugin.Changed, err}
	}
	if err != nil {
		return err
	}
	for k, hash := range hashes {
		if int(hash[0])%passes == pass {
			c.add(i, hash, part.Ordinal, before+rows.places[k])
		}
	}
	if pass == 0 && i == 0 {
		c.attestation.found.Add(int64(len(hashes)), plugin.Finding{State: plugin.AsWritten})
	}
	return nil
}

// omitFrom notes rows of an output that are not known.
func (c *copying) omitFrom(i int, part plugin.Part, before int64, rows []omitted) {
	there := slices.DeleteFunc(rows, func(o omitted) bool { return o.Erased })
	switch {
	case len(there) == 0:
	case i == 0:
		c.wide = true
		c.omit(part, before, there)
	default:
		c.doubt(c.outputs[i], there[0].Why)
	}
}

// hashesOf returns the hash of each row of a block, as the table would show it. The error is errOtherType if the table does not take one.
func (a *attestation) hashesOf(ctx context.Context, rows rowBlock) (hashes [][16]byte, err error) {
	if rows.count == 0 {
		return nil, nil
	}
	err = a.within(ctx, func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, fmt.Sprintf("select %s from %s order by v.n", hashed(a.wanted()), a.unnested()), rows.args()...)
		if err != nil {
			return err
		}
		var hash []byte
		_, err = pgx.ForEachRow(found, []any{&hash}, func() error { hashes = append(hashes, [16]byte(hash)); return nil })
		return err
	})
	return hashes, ofType(err)
}

// hashed is a hash of a row, so that the memory that a row takes does not depend on its values.
func hashed(values []string) string {
	return fmt.Sprintf("substr(sha256(convert_to(%s, 'UTF8')), 1, 16)", exactly(values))
}

func (c *copying) add(output int, row [16]byte, part, line int64) {
	of := c.rows[row]
	if of == nil {
		of = &copies{}
		c.rows[row] = of
	}
	of.wrote++
	if !slices.Contains(of.runs, output) {
		of.runs = append(of.runs, output)
	}
	if output == 0 {
		of.lines, of.parts = append(of.lines, line), append(of.parts, part)
	}
}

// compareTable counts the copies that the table has.
func (c *copying) compareTable(ctx context.Context, pass, passes int) error {
	rows, err := c.tx.Query(ctx, fmt.Sprintf(`select h, count(*), min(at) from (select %s as h, tableoid::regclass::text || ' ctid ' || ctid::text as at from %s t) x
		where get_byte(h, 0) %% %d = %d group by h order by h`, hashed(c.stored()), quotedTable(c.table), passes, pass))
	if err != nil {
		return err
	}
	var hash []byte
	var has int
	var at string
	_, err = pgx.ForEachRow(rows, []any{&hash, &has, &at}, func() error {
		of := c.rows[[16]byte(hash)]
		wrote := 0
		if of != nil {
			wrote = of.wrote
			c.short(of, has)
			delete(c.rows, [16]byte(hash))
		}
		if has > wrote {
			c.stray += int64(has - wrote)
			if len(c.where) < maxNamed {
				c.where = append(c.where, at)
			}
		}
		return nil
	})
	for _, of := range c.rows {
		c.short(of, 0)
	}
	return err
}

// short notes which rows of the output are missing, if the table has fewer copies than were written: the last lines of equal ones.
func (c *copying) short(of *copies, has int) {
	gone := min(of.wrote-has, len(of.lines))
	if gone <= 0 {
		return
	}
	why := "no row of the table has all these values"
	if has > 0 || len(of.runs) > 1 {
		why = fmt.Sprintf("the table has %d of %s with these values", has, inRows(int64(of.wrote)))
	}
	if len(of.runs) > 1 {
		var names []string
		for _, i := range of.runs[:min(len(of.runs), maxNamed)] {
			names = append(names, c.outputs[i].run)
		}
		why += ", which runs " + strings.Join(names, ", ") + " wrote: whose are gone nothing tells"
	}
	for k := len(of.lines) - gone; k < len(of.lines); k++ {
		c.found[of.lines[k]] = plugin.Finding{State: plugin.Missing, Part: &of.parts[k], Line: of.lines[k], Why: why}
	}
}

// settleCopies counts what was found, and the rows of the table that no run wrote.
func (c *copying) settleCopies() {
	found := &c.attestation.found
	missing := int64(len(c.found))
	found.Equal, found.LookedAt = found.Equal-missing, found.LookedAt-missing
	lines := make([]int64, 0, len(c.found))
	for line := range c.found {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, line := range lines {
		found.Add(1, c.found[line])
	}
	switch {
	case len(c.unclear) > 0:
		more := ""
		if len(c.unclear) > maxNamed {
			c.unclear, more = c.unclear[:maxNamed], "; and more"
		}
		found.Add(1, plugin.Finding{State: plugin.NotKnown, Why: fmt.Sprintf("rows of the table of which it is not known here who wrote them: %d; %s", c.stray, strings.Join(c.unclear, "; ")+more)})
	case c.stray > 0 && c.entered && !c.wide:
		state := plugin.NotKnown
		if c.spec.Create {
			state = plugin.Changed
		}
		why := fmt.Sprintf("the table has %s that no run wrote: %s", inRows(c.stray), strings.Join(c.where, ", "))
		found.Add(c.stray, plugin.Finding{State: state, Why: why})
	}
}

func inRows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}
