package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/landscape"
	"waymark/pipeline/schema"
	"waymark/plugin"
)

// recorded is what the record says of a run as a whole, as all forms but Parquet tell it.
type recorded struct {
	landscape.Run
	nodes   []landscape.Node // in document order
	edges   []landscape.Edge
	inputs  []dataset // by node
	outputs []dataset // by sink
}

// dataset is something that a node read, or that a sink published.
type dataset struct {
	node   string
	path   string // absolute, or a URI
	sha256 string // of its bytes; empty if not known
	bytes  int64
	rows   int64 // -1 if not known
	at     landscape.Micros
	schema *schema.Schema // of an output; nil if not known
}

func load(ctx context.Context, log *landscape.Reader, id string) (*recorded, error) {
	run, err := log.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	r := &recorded{Run: run}
	for _, read := range []func(context.Context, *landscape.Reader) error{r.graph, r.sources, r.tables, r.artifacts} {
		if err := read(ctx, log); err != nil {
			return nil, fmt.Errorf("export run %s: %w", id, err)
		}
	}
	return r, nil
}

func (r *recorded) graph(ctx context.Context, log *landscape.Reader) (err error) {
	if r.nodes, err = log.Nodes(ctx, r.ID); err != nil {
		return err
	}
	slices.SortFunc(r.nodes, func(a, b landscape.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	r.edges, err = landscape.Select[landscape.Edge](ctx, log, r.ID)
	return err
}

// sources adds the files of sources. Only of a source of one file is it known how many rows came of it.
func (r *recorded) sources(ctx context.Context, log *landscape.Reader) error {
	sources, err := log.Sources(ctx, r.ID)
	if err != nil {
		return err
	}
	ends, err := log.SourceEnds(ctx, r.ID)
	if err != nil {
		return err
	}
	for _, s := range sources {
		var info plugin.SourceInfo
		if err := json.Unmarshal([]byte(s.Info), &info); err != nil {
			return fmt.Errorf("source %s: %w", s.Source, err)
		}
		var digests []string
		rows := int64(-1)
		if at := slices.IndexFunc(ends, func(e landscape.SourceEnd) bool { return e.Source == s.Source }); at >= 0 {
			if err := json.Unmarshal([]byte(ends[at].Digests), &digests); err != nil {
				return fmt.Errorf("source %s: %w", s.Source, err)
			}
			if len(info.Files) == 1 {
				rows = ends[at].Rows
			}
		}
		for i, f := range info.Files {
			d := dataset{node: s.Source, path: r.absolute(f.Path), bytes: f.Bytes, rows: rows}
			if len(digests) == len(info.Files) {
				d.sha256 = digests[i]
			}
			r.inputs = append(r.inputs, d)
		}
	}
	return nil
}

func (r *recorded) tables(ctx context.Context, log *landscape.Reader) error {
	tables, err := log.Tables(ctx, r.ID)
	for _, t := range tables {
		r.inputs = append(r.inputs, dataset{node: t.Node, path: r.absolute(t.Path), sha256: t.SHA256, bytes: t.Bytes, rows: t.Rows})
	}
	return err
}

func (r *recorded) artifacts(ctx context.Context, log *landscape.Reader) error {
	artifacts, err := log.Artifacts(ctx, r.ID)
	for _, a := range artifacts {
		fields, err := schema.Parse(a.Schema)
		if err != nil {
			return fmt.Errorf("output of %s: %w", a.Sink, err)
		}
		r.outputs = append(r.outputs, dataset{a.Sink, r.absolute(a.Path), a.SHA256, a.Bytes, a.Rows, a.Published, fields})
	}
	return err
}

// absolute returns a path of the document as it is wherever the reader of an export is. URIs stay.
func (r *recorded) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) || strings.Contains(path, "://") {
		return path
	}
	return filepath.Join(r.BaseDir, path)
}

// timestamp is a time as all forms write it.
func timestamp(at landscape.Micros) string {
	return at.Time().UTC().Format("2006-01-02T15:04:05.000000Z07:00")
}
