package bundle

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"waymark/audit/evidence/strictzip"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/pipeline/schema"
)

// rowsFit compares the rows in files of an output with the schema on record. Parquet files have one of their own.
func (v *verification) rowsFit(output landscape.ArtifactRecord, files []strictzip.Member) error {
	recorded, err := schema.Parse(output.Schema)
	if recorded == nil {
		return err
	}
	sinks, err := landscape.Select[landscape.Node](context.Background(), v.records, v.Run)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(sinks, func(n landscape.Node) bool { return n.Node == output.Sink })
	if at < 0 {
		return errors.New("the run has no such sink")
	}
	var config struct{ CSV *pipeline.CSVSink }
	if err := json.Unmarshal([]byte(sinks[at].Config), &config); err != nil {
		return err
	}
	rows := func(r io.Reader) (int, error) { return linesFit(recorded, r) }
	switch {
	case config.CSV != nil:
		rows = func(r io.Reader) (int, error) { return cellsFit(recorded, config.CSV.Separator(), r) }
	case sinks[at].Operation != "jsonl":
		return nil
	}
	for _, m := range files {
		_, err := v.zip.Read(m, func(r io.Reader) error {
			row, err := rows(r)
			if err != nil {
				err = fmt.Errorf("%s: row %d does not fit the schema on record: %w", m.Name, row, err)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// linesFit returns which row of JSON Lines does not fit the schema, and why.
func linesFit(s *schema.Schema, r io.Reader) (row int, err error) {
	from := json.NewDecoder(r)
	from.UseNumber()
	for row = 1; ; row++ {
		var object map[string]any
		err := from.Decode(&object)
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err == nil {
			err = s.FitsJSON(object)
		}
		if err != nil {
			return row, err
		}
	}
}

// cellsFit returns which row of a CSV file does not fit the schema, and why; 0 for the header.
func cellsFit(s *schema.Schema, delimiter rune, r io.Reader) (row int, err error) {
	from := csv.NewReader(r)
	from.Comma, from.FieldsPerRecord, from.ReuseRecord = delimiter, -1, true
	for row = 0; ; row++ {
		cells, err := from.Read()
		switch {
		case errors.Is(err, io.EOF):
			return 0, nil
		case err == nil && row == 0:
			err = s.FitsHeader(cells)
		case err == nil:
			err = s.FitsCells(cells)
		}
		if err != nil {
			return row, err
		}
	}
}
