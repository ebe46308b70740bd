package graphs

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// Codes of records that a source refuses.
const (
	codeRequired   = "REQUIRED"
	codeConvert    = "CONVERT"
	codeSyntax     = "SYNTAX"
	codeFieldCount = "FIELD_COUNT"
)

// Read parses the files of the document's sources and lookups. It knows plain UTF-8 files with declared fields and default
// options, one file for each source, JSON lines without escapes that matter, and CSV without quoted empty cells.
func Read(doc *pipeline.Document, files map[string]string) Input {
	input := Input{Sources: map[string][][]Record{}, Tables: map[string][]row.Row{}}
	size := newGraph(doc).rows
	for _, source := range doc.Pipeline.Sources {
		records := readRecords(source.Value.CSV, source.Value.JSONL, source.Value.Schema, files)
		input.Sources[source.Name] = slices.Collect(slices.Chunk(records, size))
	}
	for _, step := range doc.Pipeline.Steps {
		if step.Lookup == nil {
			continue
		}
		for _, record := range readRecords(step.Lookup.CSV, step.Lookup.JSONL, step.Lookup.Schema, files) {
			input.Tables[step.Name] = append(input.Tables[step.Name], record.Row)
		}
	}
	return input
}

func readRecords(asCSV *pipeline.CSVSource, asJSONL *pipeline.JSONLSource, schema pipeline.Schema, files map[string]string) []Record {
	if asCSV != nil {
		return readCSV(files[asCSV.Path], schema)
	}
	var records []Record
	for line := range strings.Lines(files[asJSONL.Path]) {
		records = append(records, readLine(strings.TrimSuffix(line, "\n"), schema))
	}
	return records
}

// readLine reads a JSON object. Of several faults the first in the line counts, then the first field that is missing. Keys
// that are not declared follow the declared fields.
func readLine(line string, schema pipeline.Schema) Record {
	values, others := map[string]row.Value{}, newFields()
	var refused *Refusal
	err := row.ScanObject(line, func(key string, raw row.RawValue) error {
		field, declared := schema.Fields.Get(key)
		kind := raw.Kind
		if declared && raw.Kind != row.Null {
			kind = field.Kind()
		}
		value, err := raw.As(kind)
		switch {
		case err != nil && refused == nil:
			refused = &Refusal{codeConvert, key}
		case declared:
			values[key] = value
		default:
			others.put(key, value)
		}
		return nil
	})
	if refused == nil && err != nil {
		refused = &Refusal{Code: codeSyntax}
	}
	return recordOf(values, others, refused, schema)
}

// readCSV reads records below a header. An empty cell is null.
func readCSV(text string, schema pipeline.Schema) []Record {
	reader := csv.NewReader(strings.NewReader(text))
	reader.FieldsPerRecord = -1
	header, err := reader.Read()
	var records []Record
	for err == nil {
		var cells []string
		if cells, err = reader.Read(); err == nil {
			records = append(records, readCells(header, cells, schema))
		}
	}
	if !errors.Is(err, io.EOF) {
		panic(err)
	}
	return records
}

func readCells(header, cells []string, schema pipeline.Schema) Record {
	values := map[string]row.Value{}
	if len(cells) != len(header) {
		return Record{Refused: &Refusal{Code: codeFieldCount}}
	}
	for i, name := range header {
		field, _ := schema.Fields.Get(name)
		if cells[i] == "" {
			continue
		}
		value, err := row.Parse(field.Kind(), cells[i])
		if err != nil {
			return Record{Refused: &Refusal{codeConvert, name}}
		}
		values[name] = value
	}
	return recordOf(values, newFields(), nil, schema)
}

// recordOf puts the values into the order of the schema.
func recordOf(values map[string]row.Value, others *fields, refused *Refusal, schema pipeline.Schema) Record {
	made := newFields()
	for _, field := range schema.Fields {
		value := values[field.Name]
		if value.IsNull() && !field.Value.Optional && refused == nil {
			refused = &Refusal{codeRequired, field.Name}
		}
		made.put(field.Name, value)
	}
	if refused != nil {
		return Record{Refused: refused}
	}
	for _, name := range others.names {
		made.put(name, others.values[name])
	}
	return Record{Row: made.row()}
}
