package audit

import (
	"context"
	"errors"
	"math"
	"slices"

	"waymark/landscape"
)

// smallDatabase is the size up to which a database is always asked whether it is whole, in bytes: SQLite looks through some 80 MB in a second.
// A larger one would take longer than most of its runs, and each verification would read all of it.
const smallDatabase = 128 << 20

// verifyDatabase asks the database whether it is whole: all else is read through its tables and indexes.
func (v *verification) verifyDatabase(ctx context.Context) error {
	most := int64(smallDatabase)
	if v.options.Deep {
		most = math.MaxInt64
	}
	damage, err := v.log.Damage(ctx, most)
	switch {
	case err != nil:
		return err
	case damage.Asked:
		for _, what := range damage.Found {
			v.add(DatabaseDamaged, "landscape", "%s", what)
		}
		v.compared(CheckedDatabase, "", "pages, tables and indexes against each other, and every row against its constraints (pragma integrity_check)")
	case damage.Bytes > 0:
		v.skipped(CheckedDatabase, "", "the file has %d MiB, with the records of all runs, and only --deep looks through so much", damage.Bytes>>20)
	}
	return nil
}

// verifySchema holds the schema of the database against a new one: what views say, and what triggers and checks keep, hangs on it.
func (v *verification) verifySchema(ctx context.Context) error {
	differences, why, err := v.log.CompareSchema(ctx)
	switch {
	case err != nil:
		return err
	case why != "":
		v.skipped(CheckedSchema, "", "%s", why)
		return nil
	}
	for _, d := range differences {
		v.add(SchemaDiffers, d.Object, "it %s, compared with the schema that this program makes", d.What)
		v.missesTable = v.missesTable || d.What == "is missing" && isTable(d.Object)
	}
	v.compared(CheckedSchema, "", "tables, columns, constraints, indexes, triggers, views and functions, against those of a new one")
	return nil
}

// isTable reports whether an object of the schema is a table of records.
func isTable(object string) bool {
	return slices.ContainsFunc(landscape.Tables(), func(t *landscape.Table) bool { return object == "table "+t.Name })
}

// skipAll notes that nothing but the schema can be compared.
func (v *verification) skipAll() {
	for _, what := range []string{CheckedTokens, CheckedDocument, CheckedRecords, CheckedSteps, CheckedFolds, CheckedSource, CheckedEffects, CheckedOutput, CheckedRetries} {
		v.skipped(what, "", "a table is missing: see the problems")
	}
}

// endsEarly reports whether a verification ends with an error because the database is damaged or has another schema, as its report says:
// then what is left cannot be asked, and is not checked.
func (v *verification) endsEarly(ctx context.Context, err error) bool {
	if ctx.Err() != nil || !v.broken || !errors.Is(err, landscape.ErrUnavailable) {
		return false
	}
	v.skipped(CheckedRecords, "", "what is left to compare cannot be read: %v", err)
	return true
}
