package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"waymark/internal/text"
	"waymark/landscape"
	"waymark/plugin"
)

// UpstreamRow is the row of an output of another pipeline that a record is: its run published it, and a trigger brought it.
type UpstreamRow struct {
	Run      string `json:"run"`
	Pipeline string `json:"pipeline"`
	Status   string `json:"status"`
	Sink     string `json:"sink"`
	Line     int64  `json:"line,omitempty"`  // in the sink's output, from 1, not counting a header; 0 if nobody can tell
	Token    string `json:"token,omitempty"` // that is there; "" if nobody can tell
	Note     string `json:"note,omitempty"`  // why
}

// DownstreamRow is the record of another pipeline's run that a row of an output is: a trigger brought the output to it.
type DownstreamRow struct {
	Run      string `json:"run"`
	Pipeline string `json:"pipeline"`
	Status   string `json:"status"`
	Sink     string `json:"sink"`            // whose output it read
	Token    string `json:"token,omitempty"` // of the record there; "" as long as the output was not read to its end
}

// upstream fills in which row of another pipeline's output the record is, and which runs read the outputs that its tokens are in.
func (i *explaining) upstream(ctx context.Context) error {
	if i.chunk.Fold != nil {
		return i.downstream(ctx)
	}
	pin, err := i.pinOf(ctx, i.run.ID, i.asked.Source)
	if err != nil {
		return err
	}
	for at, file := range pin.Files {
		if file.Path == i.chunk.File && at < len(pin.Outputs) && pin.Outputs[at].Run != "" {
			if err := i.publishedBy(ctx, pin, pin.Outputs[at]); err != nil {
				return err
			}
		}
	}
	return i.downstream(ctx)
}

// pinOf returns what a source of a run held; the zero value if the run has no such source.
func (a *Auditor) pinOf(ctx context.Context, run, source string) (pin plugin.SourceInfo, err error) {
	sources, err := a.log.Sources(ctx, run)
	for _, s := range sources {
		if s.Source != source {
			continue
		}
		if err := json.Unmarshal([]byte(s.Info), &pin); err != nil {
			return pin, fmt.Errorf("%w: source %s of run %s: %w", landscape.ErrIncomplete, source, run, err)
		}
	}
	return pin, err
}

// publishedBy fills in which row of an output the record is.
func (i *explaining) publishedBy(ctx context.Context, pin plugin.SourceInfo, of plugin.OutputOf) error {
	from := &UpstreamRow{Run: of.Run, Sink: of.Sink}
	i.explanation.Upstream = from
	run, err := i.log.Run(ctx, of.Run)
	if err != nil {
		return unreadable(&from.Note, err)
	}
	from.Pipeline, from.Status = run.Pipeline, string(run.Status)
	first, whole, err := i.placeOf(ctx, i.run.ID, i.asked.Source, pin, of)
	if err != nil {
		return unreadable(&from.Note, err)
	}
	if !whole {
		from.Note = "the rows that were read are not as many as were published, so nobody can tell which one it is"
		return nil
	}
	from.Line = i.asked.Row - first + 1
	token, err := i.find(ctx, run, Question{Run: of.Run, Sink: of.Sink, Line: from.Line})
	if err == nil {
		from.Token, err = i.log.TokenID(ctx, of.Run, token)
	}
	return unreadable(&from.Note, err)
}

// unreadable notes why the record of another run cannot be read, if it only cannot; any other error is returned.
func unreadable(note *string, err error) error {
	_, archived := errors.AsType[*landscape.ArchivedError](err)
	if archived || errors.Is(err, landscape.ErrNotFound) || errors.Is(err, landscape.ErrIncomplete) {
		*note = err.Error()
		return nil
	}
	return err
}

// placeOf returns the first of the rows of a source that are those of an output, and whether they are as many as were published: then they are the same, in the same
// order.
func (a *Auditor) placeOf(ctx context.Context, run, source string, pin plugin.SourceInfo, of plugin.OutputOf) (first int64, whole bool, err error) {
	files := map[string]bool{}
	for at, output := range pin.Outputs {
		if output.Run == of.Run && output.Sink == of.Sink {
			files[pin.Files[at].Path] = true
		}
	}
	var rows int64
	for chunk, err := range a.log.Chunks(ctx, run, source) {
		if err != nil {
			return 0, false, err
		}
		if !files[chunk.File] {
			continue
		}
		if rows == 0 {
			first = chunk.FirstRow
		}
		rows += chunk.Rows
	}
	published, err := a.log.ArtifactOf(ctx, of.Run, of.Sink)
	return first, err == nil && published != nil && rows > 0 && rows == published.Rows, err
}

// downstream fills in which runs read the outputs that the record's tokens are in.
func (i *explaining) downstream(ctx context.Context) error {
	for _, t := range i.tokens {
		if t.Line == 0 || t.Output == "" {
			continue
		}
		readers, err := i.log.ReadersOf(ctx, i.run.ID, t.Sink)
		if err != nil {
			return err
		}
		for _, reader := range readers {
			read, err := i.readBy(ctx, reader.Run, t.Sink, t.Line)
			if errors.Is(err, landscape.ErrNotFound) {
				continue // the run has not begun
			}
			if err != nil {
				return err
			}
			i.explanation.Downstream = append(i.explanation.Downstream, read)
		}
	}
	return nil
}

// readBy tells as what a run has read a row of an output of the explained run.
func (i *explaining) readBy(ctx context.Context, reader, sink string, line int64) (read DownstreamRow, err error) {
	run, err := i.log.Run(ctx, reader)
	if err != nil {
		return read, err
	}
	read = DownstreamRow{Run: reader, Pipeline: run.Pipeline, Status: string(run.Status), Sink: sink}
	sources, err := i.log.Sources(ctx, reader)
	if err != nil {
		return read, err
	}
	for _, s := range sources {
		pin, err := i.pinOf(ctx, reader, s.Source)
		if err != nil {
			return read, err
		}
		first, whole, err := i.placeOf(ctx, reader, s.Source, pin, plugin.OutputOf{Run: i.run.ID, Sink: sink})
		if err != nil {
			return read, err
		}
		if whole {
			read.Token = fmt.Sprintf("%s:%d", s.Source, first+line-1)
		}
	}
	return read, nil
}

// write tells which row of another pipeline's output the record is.
func (u *UpstreamRow) write(b *strings.Builder) {
	if u == nil {
		return
	}
	what := "a row"
	if u.Line > 0 {
		what = fmt.Sprintf("row %d", u.Line)
	}
	fmt.Fprintf(b, "  from    %s of %s, which run %s", what, u.Sink, u.Run)
	if u.Pipeline != "" {
		fmt.Fprintf(b, " of %s (%s)", u.Pipeline, text.Spaced(u.Status))
	}
	b.WriteString(" published")
	if u.Token != "" {
		fmt.Fprintf(b, ": %s there", u.Token)
	}
	b.WriteString("\n")
	if u.Note != "" {
		fmt.Fprintf(b, "          %s\n", escape(u.Note))
	}
}

// write tells as what another pipeline's run read a row of an output.
func (d DownstreamRow) write(b *strings.Builder) {
	as := ""
	if d.Token != "" {
		as = " as " + d.Token
	}
	fmt.Fprintf(b, "read     by run %s of %s (%s)%s\n", d.Run, d.Pipeline, text.Spaced(d.Status), as)
}
