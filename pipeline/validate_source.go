package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

func (l *loader) checkSource(path string, source Source) {
	if at, files := source.files(path); files != nil {
		l.checkFiles(at, *files)
	}
	if source.JSON != nil && slices.Contains(strings.Split(source.JSON.Records, "."), "") && source.JSON.Records != "" {
		l.report(Key(Key(path, "json"), "records"), "has an empty key: write the keys with one dot between them, as in data.items")
	}
	if source.CSV != nil {
		l.checkCSV(Key(path, "csv"), source.CSV)
	}
	if source.Postgres != nil {
		l.checkPostgresSource(Key(path, "postgres"), source.Postgres)
	}
	if source.Parquet != nil {
		l.checkParquetSource(Key(path, "parquet"), source.Parquet)
	}
	l.checkSchema(Key(path, "schema"), source.Schema)
	if source.Schema.InForce() == ModeFixed {
		for i, field := range source.Key {
			if _, ok := source.Schema.Fields.Get(field); !ok {
				l.report(Item(Key(path, "key"), i), "the schema has no field %s%s", quote(field), suggestion(field, source.Schema.Fields.names()))
			}
		}
	}
	l.checkColumns(path, source)
}

// filesOf returns the files of the format that is set, and where the document says so; nil if the format has none.
func filesOf(path string, csv *CSVSource, jsonl *JSONLSource) (at string, files *Files) {
	switch {
	case csv != nil:
		return Key(path, "csv"), &csv.Files
	case jsonl != nil:
		return Key(path, "jsonl"), &jsonl.Files
	}
	return path, nil
}

// files returns the files of the source as filesOf does.
func (s Source) files(path string) (at string, files *Files) {
	if s.JSON != nil {
		return Key(path, "json"), &s.JSON.Files
	}
	return filesOf(path, s.CSV, s.JSONL)
}

// checkInput reports sources that would share standard input.
func (l *loader) checkInput(p *Pipeline) {
	first := ""
	for _, source := range p.Sources {
		at, files := source.Value.files(Key("sources", source.Name))
		if files == nil || files.Path != Stdio {
			continue
		}
		if first != "" {
			l.report(Key(at, "path"), "the sources %q and %q both read standard input, which can be read once", first, source.Name)
		}
		first = source.Name
	}
}

// ReadsInput reports whether a source reads standard input.
func (p *Pipeline) ReadsInput() bool {
	return slices.ContainsFunc(p.Sources, func(source Named[Source]) bool {
		_, files := source.Value.files("")
		return files != nil && files.Path == Stdio
	})
}

// checkCSV reports characters that cannot do what they are given for.
func (l *loader) checkCSV(path string, csv *CSVSource) {
	l.checkDelimiter(Key(path, "delimiter"), csv.Delimiter, "tab")
	l.checkDelimiter(Key(path, "quote"), csv.Quote, "none")
	l.checkDelimiter(Key(path, "comment"), csv.Comment, "")
	delimiter, quoteChar := csv.Delimiter, csv.Quote
	if delimiter == "" {
		delimiter = ","
	}
	if quoteChar == "" {
		quoteChar = `"`
	}
	roles := map[string]string{delimiter: "delimiter"}
	for _, given := range []struct{ key, char string }{{"quote", quoteChar}, {"comment", csv.Comment}} {
		if other, is := roles[given.char]; is {
			l.report(Key(path, given.key), "%s is the %s already", quote(given.char), other)
		}
		roles[given.char] = given.key
	}
}

// checkDelimiter reports what is not the word and not one character that can separate or mark texts.
func (l *loader) checkDelimiter(path, text, word string) {
	if text == "" || text == word && word != "" {
		return
	}
	if len(text) == 1 && isSeparator(text[0]) {
		return
	}
	alternative := ""
	if word != "" {
		alternative = fmt.Sprintf("the word %s, or ", word)
	}
	l.report(path, "%s: write %sone ASCII character that is not a letter, a digit or a line end", quote(text), alternative)
}

func isSeparator(c byte) bool {
	letter := 'a' <= c|0x20 && c|0x20 <= 'z'
	digit := '0' <= c && c <= '9'
	return c < 0x80 && c != 0 && c != '\n' && c != '\r' && !letter && !digit
}

// checkColumns reports a header and columns that contradict each other.
func (l *loader) checkColumns(path string, source Source) {
	if source.CSV == nil {
		return
	}
	columns, without := source.CSV.Columns, source.CSV.Header == "none"
	at := Key(Key(path, "csv"), "columns")
	switch {
	case without && columns == nil:
		l.report(Key(Key(path, "csv"), "header"), "a file without a header needs columns: list their names in order")
	case !without && columns != nil:
		l.report(at, "the names of the columns come from the header: delete columns, or write header: none")
	case without:
		for _, field := range source.Schema.Fields {
			if !slices.Contains(columns, field.Value.origin(field.Name)) && !field.Value.Optional {
				l.report(at, "no column for the required field %s", quote(field.Name))
			}
		}
	}
}

// origin returns the name that the field has in the source.
func (f Field) origin(name string) string {
	if f.From != "" {
		return f.From
	}
	return name
}
