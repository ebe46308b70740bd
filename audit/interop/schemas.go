package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/pipeline/schema"
)

// Schemas writes the schema of each output that a run published, in the form that fits its format: a JSON Schema of the rows of JSON Lines, CSV on the Web
// of CSV, and a Table Schema of Parquet files and tables.
func Schemas(ctx context.Context, log *landscape.Reader, run, folder string) ([]File, error) {
	r, err := load(ctx, log, run)
	if err != nil {
		return nil, err
	}
	files := []File{}
	for i := range r.outputs {
		out := &r.outputs[i]
		if out.schema == nil {
			continue
		}
		suffix, described, err := r.schemaOf(ctx, log, out)
		if err != nil {
			return nil, err
		}
		file, err := writeFile(folder, url.PathEscape(out.node)+suffix, func(to io.Writer) error {
			encoder := json.NewEncoder(to)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			return encoder.Encode(described)
		})
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// schemaOf returns the schema of an output in the form for its format, and how the name of the file ends.
func (r *recorded) schemaOf(ctx context.Context, log *landscape.Reader, out *dataset) (suffix string, described map[string]any, err error) {
	sink := r.node(out.node)
	switch sink.Operation {
	case "jsonl":
		return ".schema.json", out.schema.JSONSchema("Rows of " + out.node + " of " + r.Pipeline), nil
	case "csv":
		described, err = csvw(ctx, log, sink, out)
		return "-metadata.json", described, err
	case "parquet":
		described, err = ofParquet(sink, out)
		return tableSuffix, described, err
	}
	return tableSuffix, out.schema.TableSchema(func(*schema.Field) string { return "" }), nil
}

const tableSuffix = ".tableschema.json"

// ofParquet describes the columns of Parquet files. A decimal without a number of digits is a text there, and what is of
// any type is JSON.
func ofParquet(sink landscape.Node, out *dataset) (map[string]any, error) {
	var config struct{ Parquet pipeline.ParquetSink }
	if err := json.Unmarshal([]byte(sink.Config), &config); err != nil {
		return nil, fmt.Errorf("sink %s: %w", sink.Node, err)
	}
	return out.schema.TableSchema(func(f *schema.Field) string {
		_, digits := config.Parquet.Decimals.Get(f.Name)
		switch {
		case f.Seen:
			return "any"
		case slices.Equal(f.Types, []string{"decimal"}) && !digits:
			return "string"
		}
		return ""
	}), nil
}

func (r *recorded) node(name string) landscape.Node {
	for _, node := range r.nodes {
		if node.Node == name {
			return node
		}
	}
	return landscape.Node{}
}

// csvw describes the CSV files of an output.
func csvw(ctx context.Context, log *landscape.Reader, sink landscape.Node, out *dataset) (map[string]any, error) {
	var config struct{ CSV pipeline.CSVSink }
	if err := json.Unmarshal([]byte(sink.Config), &config); err != nil {
		return nil, fmt.Errorf("sink %s: %w", sink.Node, err)
	}
	files := []string{out.address()}
	if config.CSV.Parts {
		writes, err := log.SinkEffects(ctx, sink.Run, sink.Node)
		if err != nil {
			return nil, err
		}
		folder := files[0]
		files = nil
		for _, write := range writes {
			if write.Kind == landscape.WriteEffect {
				files = append(files, fmt.Sprintf("%s/part-%05d.csv", folder, len(files)))
			}
		}
	}
	return out.schema.CSVW(string(config.CSV.Separator()), config.CSV.Title, files), nil
}

// address returns where the dataset is, as a URI.
func (d *dataset) address() string {
	if strings.Contains(d.path, "://") {
		return d.path
	}
	return (&url.URL{Scheme: "file", Path: d.path}).String()
}

// lineageSchema describes the fields of an output; nil if they are not known.
func lineageSchema(s *schema.Schema) object {
	if s == nil {
		return nil
	}
	fields := []object{}
	for i := range s.Fields {
		fields = append(fields, object{"name": s.Fields[i].Name, "type": s.Fields[i].Text()})
	}
	return facet("1-1-1/SchemaDatasetFacet.json", object{"fields": fields})
}
