package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/jackc/pgx/v5"
)

// arrayType is a type of arrays, of which values are written as JSON arrays: as the source reads them.
type arrayType struct {
	delimiter byte
	json      bool // the elements are JSON themselves
}

// arraysOf returns the types of the table's columns that have arrays, domains over them included, by the names of the columns.
func (t *target) arraysOf(ctx context.Context, q querier) (map[string]arrayType, error) {
	rows, err := q.Query(ctx, `
		with recursive typed as (
			select attname, atttypid as oid from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped
			union all
			select attname, d.typbasetype from typed join pg_type d using (oid) where d.typtype = 'd')
		select attname, e.typdelim::text, e.oid in ('json'::regtype, 'jsonb'::regtype)
		from typed join pg_type a using (oid) join pg_type e on e.oid = a.typelem and e.typarray = a.oid`, quotedTable(t.table))
	if err != nil {
		return nil, err
	}
	arrays := map[string]arrayType{}
	var name, delimiter string
	var of arrayType
	_, err = pgx.ForEachRow(rows, []any{&name, &delimiter, &of.json}, func() error {
		of.delimiter = delimiter[0]
		arrays[name] = of
		return nil
	})
	return arrays, err
}

// withArrays returns the rows of a part with Postgres' form of arrays in place of JSON arrays, in the columns that have arrays.
func (t *target) withArrays(ctx context.Context, q querier, columns []string, data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{'['}) && !bytes.Contains(data, []byte("\t[")) && !bytes.Contains(data, []byte("\n[")) {
		return data, nil
	}
	arrays, err := t.arraysOf(ctx, q)
	if err != nil || len(arrays) == 0 {
		return data, err
	}
	written := make([]byte, 0, len(data))
	for line := range bytes.Lines(data) {
		for i, cell := range bytes.Split(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\t'}) {
			if i > 0 {
				written = append(written, '\t')
			}
			of, is := arrays[columns[i]]
			if text := string(cell); is && strings.HasPrefix(text, "[") {
				written = appendEscaped(written, of.literal(*unescaped(text)))
				continue
			}
			written = append(written, cell...)
		}
		written = append(written, '\n')
	}
	return written, nil
}

// literal returns a text as Postgres writes arrays, if it is a JSON array, else as it is.
func (a arrayType) literal(text string) string {
	if !strings.HasPrefix(text, "[") || !json.Valid([]byte(text)) {
		return text
	}
	return string(a.appendArray(nil, []byte(text)))
}

func (a arrayType) appendArray(dst, array []byte) []byte {
	var elements []json.RawMessage
	_ = json.Unmarshal(array, &elements) // it is valid
	dst = append(dst, '{')
	for i, element := range elements {
		if i > 0 {
			dst = append(dst, a.delimiter)
		}
		dst = a.appendElement(dst, element)
	}
	return append(dst, '}')
}

func (a arrayType) appendElement(dst, element []byte) []byte {
	switch {
	case string(element) == "null":
		return append(dst, "NULL"...)
	case element[0] == '[' && !a.json:
		return a.appendArray(dst, element)
	case element[0] == '"' && !a.json:
		var text string
		_ = json.Unmarshal(element, &text) // it is valid
		element = []byte(text)
	}
	dst = append(dst, '"')
	for _, c := range element {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}
