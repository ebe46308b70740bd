package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

func (v *verification) verifyOrigins(ctx context.Context) error {
	if err := v.loadBeginning(ctx); err != nil {
		return err
	}
	nodes, err := v.log.Nodes(ctx, v.run.ID)
	if err != nil {
		return err
	}
	origins, err := v.log.Sources(ctx, v.run.ID)
	if err != nil {
		return err
	}
	for _, origin := range origins {
		ok := func(n landscape.Node) bool { return n.Node == origin.Source && n.Kind == landscape.SourceNode }
		err := v.guard(ctx, origin.Source, func(ctx context.Context) error {
			return v.verifyOrigin(ctx, origin, slices.ContainsFunc(nodes, ok))
		})
		if err != nil {
			return err
		}
	}
	v.verifyEnds(origins)
	return nil
}

// verifyEnds looks for ends of sources that the run does not have.
func (v *verification) verifyEnds(origins []landscape.Source) {
	for _, end := range v.ends {
		if !slices.ContainsFunc(origins, func(o landscape.Source) bool { return o.Source == end.Source }) {
			v.add(RecordDiffers, end.Source, "its end is recorded, and the run has no such source")
		}
	}
}

// verifyOrigin checks the chunks of a source or barrier one after the other, and then its end.
func (v *verification) verifyOrigin(ctx context.Context, origin landscape.Source, isSource bool) error {
	var pin plugin.SourceInfo
	if err := json.Unmarshal([]byte(origin.Info), &pin); err != nil {
		v.add(RecordDiffers, origin.Source, "what the source held cannot be read: %v", err)
	}
	rejected, err := v.log.RowErrors(ctx, v.run.ID, origin.Source)
	if err != nil {
		return err
	}
	v.refused += int64(rejected.Len())
	v.headers = map[string]string{}
	o := &originCheck{verification: v, isSource: isSource, again: v.again[origin.Source], next: position{files: pin.Files, row: 1}}
	o.totals = landscape.SourceEnd{Run: v.run.ID, Source: origin.Source}
	if err := o.chunks(ctx, rejected); err != nil {
		return err
	}
	for stray := range rejected.All() {
		v.add(RecordDiffers, origin.Source, "row %d is in no chunk, the record has an error of it", stray.Row)
	}
	if o.again != nil {
		v.verifyFedEnd(origin.Source, o.again, o.totals.Rows)
	}
	v.chunks += o.totals.Chunks
	if isSource {
		v.rows += o.totals.Rows
	}
	if err := v.verifyEnd(ctx, o.totals, pin); err != nil {
		return err
	}
	return v.verifyReading(ctx, origin.Source, pin)
}

// originCheck checks the chunks of an origin one after the other.
type originCheck struct {
	*verification
	isSource bool
	again    *fedAgain // nil if it does not feed records again
	totals   landscape.SourceEnd
	next     position
}

// chunkWork is a chunk and the errors of its tokens.
type chunkWork struct {
	landscape.Chunk
	refused *landscape.RowErrors
}

// chunks checks all chunks. What hangs on the chunks before is checked in their order, the rest of some of them side by side. It takes
// their errors off the list.
func (o *originCheck) chunks(ctx context.Context, rejected *landscape.RowErrors) error {
	var work []chunkWork
	open := int64(0)
	for record, err := range o.log.Chunks(ctx, o.run.ID, o.totals.Source) {
		if err != nil {
			return err
		}
		work = append(work, chunkWork{record, rejected.Take(record.FirstRow + record.Rows)})
		if !o.passed[record.Key()] {
			open++
		}
	}
	if open > 0 && o.run.Status == pipeline.Running {
		o.skipped(CheckedSteps, o.totals.Source, "%s had not gone through the steps when the verification began", plural(open, "chunk"))
	}
	size := func(w chunkWork) int64 { return o.chunkBytes(w.Chunk) }
	check := func(w chunkWork) chunkCheck { return o.checkChunk(ctx, w.Chunk, w.refused) }
	return inOrder(work, size, check, func(w chunkWork, c chunkCheck) (bool, error) {
		if err := o.place(ctx, w.Chunk); err != nil {
			return false, err
		}
		o.absorb(c)
		if c.read && w.Fold == nil {
			o.verifyHeader(w.Chunk, c.header)
		}
		return true, c.err
	})
}

// mayMiss reports whether chunks can be recorded and those before them not: of a source whose shares are read side by
// side, and that was not read to its end.
func (o *originCheck) mayMiss() bool {
	return o.isSource && o.again == nil && !o.ended(o.totals.Source)
}

// ended reports whether the end of a source is recorded.
func (v *verification) ended(source string) bool {
	return slices.ContainsFunc(v.ends, func(end landscape.SourceEnd) bool { return end.Source == source })
}

// place checks that a chunk is the next one.
func (o *originCheck) place(ctx context.Context, record landscape.Chunk) error {
	switch missing := record.Chunk - o.next.chunk; {
	case missing > 0 && o.mayMiss():
		o.skipped(CheckedSource, o.totals.Source, "%s from chunk %d on were not read: the run came no further there",
			plural(missing, "chunk"), o.next.chunk)
		o.next.row, o.next.cursor = max(record.FirstRow, o.next.row), nil
	case missing != 0:
		where := place(record.Source, record.Chunk)
		o.add(RecordDiffers, where, "it is recorded where chunk %d should be", o.next.chunk)
	}
	o.next.chunk = record.Chunk + 1
	addTotals(&o.totals, record)
	switch {
	case o.again != nil:
		return o.verifyAgain(ctx, record, o.again, &o.next)
	case o.isSource:
		o.verifyPosition(record, &o.next)
	default:
		o.verifyOrder(record, &o.next)
	}
	return nil
}

func addTotals(end *landscape.SourceEnd, chunk landscape.Chunk) {
	end.Chunks++
	end.Rows += chunk.Rows
	end.Blank += chunk.Blank
	end.Comments += chunk.Comments
	end.Bytes += chunk.Bytes
}

// hexDigest is how a digest is written.
var hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// verifyEnd compares the end of a source, if it was reached, with the totals of its chunks, and its digests with its files.
func (v *verification) verifyEnd(ctx context.Context, totals landscape.SourceEnd, pin plugin.SourceInfo) error {
	for _, end := range v.ends {
		if end.Source != totals.Source {
			continue
		}
		totals.Digests = end.Digests
		differences, err := v.log.CompareEnd(ctx, totals)
		if err != nil {
			return err
		}
		v.addDifferences(end.Source, differences)
		return v.verifyDigests(ctx, end, pin)
	}
	return nil
}

func (v *verification) verifyDigests(ctx context.Context, end landscape.SourceEnd, pin plugin.SourceInfo) error {
	var digests []string
	if err := json.Unmarshal([]byte(end.Digests), &digests); err != nil {
		v.add(RecordDiffers, end.Source, "the digests of its files cannot be read: %v", err)
		return nil
	}
	if len(digests) != len(pin.Files) {
		v.add(RecordDiffers, end.Source, "%s read, %s on record", plural(int64(len(pin.Files)), "file"), plural(int64(len(digests)), "digest"))
		return nil
	}
	for i, file := range pin.Files {
		if !hexDigest.MatchString(digests[i]) {
			v.add(RecordDiffers, end.Source, "%s: %q is no digest", file.Path, digests[i])
			continue
		}
		if i < len(pin.Outputs) && pin.Outputs[i].SHA256 != "" && pin.Outputs[i].SHA256 != digests[i] {
			v.add(RecordDiffers, end.Source, "%s: %s read, and sink %s of run %s published %s", file.Path, digests[i], pin.Outputs[i].Sink, pin.Outputs[i].Run, pin.Outputs[i].SHA256)
		}
		if err := v.verifyFile(ctx, end.Source, file, digests[i]); err != nil {
			return err
		}
	}
	return nil
}

// verifyFile reads a source file again if it looks as the run found it. A file that is gone, or was changed since, is no
// problem of the record. One that is no file of this machine is for its source to read.
func (v *verification) verifyFile(ctx context.Context, source string, pin plugin.FileInfo, recorded string) error {
	if !isFile(pin.Path) {
		return nil
	}
	path := pin.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(v.run.BaseDir, path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		v.skipped(CheckedSource, source, "%v", err)
		return nil
	case info.Size() != pin.Bytes || info.ModTime().UnixMicro() != pin.ModifiedMicros:
		v.skipped(CheckedSource, source, "%s was changed since the run read it", pin.Path)
		return nil
	}
	sum, err := fileDigest(ctx, path)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		v.skipped(CheckedSource, source, "%v", err)
	case sum != recorded:
		v.add(SourceDiffers, source, "%s has the size and time that the run found, and hashes to %s, the record has %s", pin.Path, sum, recorded)
	}
	return nil
}

// fileDigest returns the lower-case hex SHA-256 of a file.
func fileDigest(ctx context.Context, path string) (digest string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	for {
		_, err := io.CopyN(hash, file, 1<<20)
		if err == io.EOF {
			return hex.EncodeToString(hash.Sum(nil)), nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return "", err
		}
	}
}
