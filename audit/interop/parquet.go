package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"waymark/landscape"
	"waymark/plugin/parquet"
)

// script is the name of the statements with which DuckDB reads the files.
const script = "landscape.sql"

// Parquet writes tables and views of the landscape into a folder, which is there: a file NAME.parquet for each, and landscape.sql, with which DuckDB
// gives them their names. run, if not empty, selects the rows of a run, and leaves out what is of no run. Memory does not depend on the number of
// rows. It returns the files; what was written before an error is of no use.
func Parquet(ctx context.Context, log *landscape.Reader, run, folder string) ([]File, error) {
	var files []File
	sql := strings.Builder{}
	sql.WriteString(macros)
	for _, r := range landscape.Relations() {
		if run != "" && !r.OfRun() {
			continue
		}
		file, err := writeFile(folder, r.Name+".parquet", func(to io.Writer) error { return streamRelation(ctx, log, r, run, to) })
		if err != nil {
			return nil, fmt.Errorf("export %s: %w", r.Name, err)
		}
		files = append(files, file)
		fmt.Fprintf(&sql, "create view %s as from '%s.parquet';\n", r.Name, r.Name)
	}
	file, err := writeFile(folder, script, func(to io.Writer) error {
		_, err := io.WriteString(to, sql.String())
		return err
	})
	return append(files, file), err
}

// macros are functions that DuckDB lacks, and that the questions of docs/landscape.md use.
const macros = `-- cd here, then: duckdb -init landscape.sql
create macro datetime(seconds, unit) as strftime(make_timestamp((seconds * 1000000)::bigint), '%Y-%m-%d %H:%M:%S');
`

func streamRelation(ctx context.Context, log *landscape.Reader, r landscape.Relation, run string, to io.Writer) error {
	kinds := map[landscape.ColumnType]parquet.StreamKind{
		landscape.TextColumn: parquet.Texts, landscape.IntColumn: parquet.Ints, landscape.BytesColumn: parquet.Bytes,
	}
	columns := make([]parquet.StreamColumn, len(r.Columns))
	for i, c := range r.Columns {
		columns[i] = parquet.StreamColumn{Name: c.Name, Kind: kinds[c.Type]}
	}
	stream := parquet.NewStream(to, columns)
	var failed error
	err := log.ReadRelation(ctx, r, run, func(values []any) bool {
		failed = stream.Append(portable(values))
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return stream.Close()
}

// portable makes the texts valid UTF-8: those of SQLite need not be.
func portable(values []any) []any {
	for i, v := range values {
		text, ok := v.(string)
		if !ok {
			continue
		}
		if portable := landscape.PortableText(text); portable != text {
			values[i] = portable
		}
	}
	return values
}
