package postgres

import (
	"fmt"
	"strings"
)

// exactly returns the SQL of a text that is equal for two rows of values only if each value is stored in the same way.
// The collation of a column may take texts as equal that are not. A cast to text drops the blanks at the end of a
// bpchar, and what is written out drops the declaration of an xml: so the text has both of each value.
func exactly(values []string) string {
	cast := make([]string, len(values))
	for i, value := range values {
		cast[i] = value + "::text"
	}
	return fmt.Sprintf(`(row(%s)::text || row(%s)::text) collate "C"`, strings.Join(values, ", "), strings.Join(cast, ", "))
}

// columnsOf returns the SQL of columns of a row.
func columnsOf(row string, names []string) []string {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = row + "." + quoted(name)
	}
	return values
}

// stored returns the SQL of the written columns of a row t of the table.
func (a *attestation) stored() []string {
	names := make([]string, len(a.columns))
	for i, column := range a.columns {
		names[i] = column.name
	}
	return columnsOf("t", names)
}

// wanted returns the SQL of what was written of a row of unnested, as the table stores it.
func (a *attestation) wanted() []string {
	values := make([]string, len(a.columns))
	for i := range a.columns {
		values[i] = a.cast(i)
	}
	return values
}
