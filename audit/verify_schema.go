package audit

import "context"

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
	}
	v.compared(CheckedSchema, "", "tables, columns, constraints, indexes, triggers, views and functions, against those of a new one")
	return nil
}
