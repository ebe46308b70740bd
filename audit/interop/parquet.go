package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"waymark/landscape"
	"waymark/plugin/parquet"
)

// File is a file that was written.
type File struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// script is the name of the statements with which DuckDB reads the files.
const script = "landscape.sql"

// Parquet writes tables and views of the landscape into a folder, which is there: a file NAME.parquet for each, and landscape.sql, with which DuckDB
// gives them their names. run, if not empty, selects the rows of a run, and leaves out what is of no run. Memory does not depend on the number of
// rows. It returns the Parquet files by name; what was written before an error is of no use.
func Parquet(ctx context.Context, log *landscape.Reader, run, folder string) ([]File, error) {
	var files []File
	sql := strings.Builder{}
	sql.WriteString(macros)
	for _, r := range landscape.Relations() {
		if run != "" && !r.OfRun() {
			continue
		}
		rows, err := writeRelation(ctx, log, r, run, filepath.Join(folder, r.Name+".parquet"))
		if err != nil {
			return nil, fmt.Errorf("export %s: %w", r.Name, err)
		}
		files = append(files, File{r.Name + ".parquet", rows})
		fmt.Fprintf(&sql, "create view %s as from '%s.parquet';\n", r.Name, r.Name)
	}
	return files, os.WriteFile(filepath.Join(folder, script), []byte(sql.String()), 0o644)
}

// macros are functions that DuckDB lacks, and that the questions of docs/landscape.md use.
const macros = `-- cd here, then: duckdb -init landscape.sql
create macro datetime(seconds, unit) as strftime(make_timestamp((seconds * 1000000)::bigint), '%Y-%m-%d %H:%M:%S');
`

func writeRelation(ctx context.Context, log *landscape.Reader, r landscape.Relation, run, path string) (rows int64, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(file, 1<<18)
	rows, err = streamRelation(ctx, log, r, run, out)
	return rows, errors.Join(err, out.Flush(), file.Sync(), file.Close())
}

func streamRelation(ctx context.Context, log *landscape.Reader, r landscape.Relation, run string, to io.Writer) (rows int64, err error) {
	kinds := map[landscape.ColumnType]parquet.StreamKind{
		landscape.TextColumn: parquet.Texts, landscape.IntColumn: parquet.Ints, landscape.BytesColumn: parquet.Bytes,
	}
	columns := make([]parquet.StreamColumn, len(r.Columns))
	for i, c := range r.Columns {
		columns[i] = parquet.StreamColumn{Name: c.Name, Kind: kinds[c.Type]}
	}
	stream := parquet.NewStream(to, columns)
	var failed error
	err = log.ReadRelation(ctx, r, run, func(values []any) bool {
		rows++
		failed = stream.Append(portable(values))
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return rows, err
	}
	return rows, stream.Close()
}

// portable makes the texts valid UTF-8: those of SQLite need not be.
func portable(values []any) []any {
	for i, v := range values {
		if text, ok := v.(string); ok {
			values[i] = landscape.PortableText(text)
		}
	}
	return values
}
