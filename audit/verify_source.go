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
	"waymark/plugin"
)

func (v *verification) verifyOrigins(ctx context.Context) error {
	if err := v.loadWrites(ctx); err != nil {
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
		is := func(n landscape.Node) bool { return n.Node == origin.Source && n.Kind == landscape.SourceNode }
		if err := v.verifyOrigin(ctx, origin, slices.ContainsFunc(nodes, is)); err != nil {
			return err
		}
	}
	return v.verifyEnds(ctx, origins)
}

// verifyEnds looks for ends of sources that the run does not have.
func (v *verification) verifyEnds(ctx context.Context, origins []landscape.Source) error {
	ends, err := v.log.SourceEnds(ctx, v.run.ID)
	for _, end := range ends {
		if !slices.ContainsFunc(origins, func(o landscape.Source) bool { return o.Source == end.Source }) {
			v.add(RecordDiffers, end.Source, "its end is on record, and the run has no such source")
		}
	}
	return err
}

// verifyOrigin checks the chunks of a source or barrier one after the other, and then its end.
func (v *verification) verifyOrigin(ctx context.Context, origin landscape.Source, isSource bool) error {
	var pin plugin.SourceInfo
	if err := json.Unmarshal([]byte(origin.Info), &pin); err != nil {
		v.add(RecordDiffers, origin.Source, "what the source held cannot be read: %v", err)
	}
	refused, err := v.log.RefusedRows(ctx, v.run.ID, origin.Source)
	if err != nil {
		return err
	}
	v.refused += int64(len(refused))
	v.headers = map[string]string{}
	totals := landscape.SourceEnd{Run: v.run.ID, Source: origin.Source}
	next := position{files: pin.Files, row: 1}
	for record, err := range v.log.Chunks(ctx, v.run.ID, origin.Source) {
		if err != nil {
			return err
		}
		if record.Chunk != totals.Chunks {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "it is on record where chunk %d should be", totals.Chunks)
		}
		addTotals(&totals, record)
		switch fed := v.again[origin.Source]; {
		case fed != nil:
			err = v.verifyAgain(ctx, record, fed, &next)
		case isSource:
			v.verifyPosition(record, &next)
		default:
			v.verifyOrder(record, &next)
		}
		if err != nil {
			return err
		}
		if err := v.verifyChunk(ctx, record, takeRows(&refused, record.FirstRow+record.Rows)); err != nil {
			return err
		}
	}
	for _, stray := range refused {
		v.add(RecordDiffers, origin.Source, "row %d is in no chunk, on record is an error of it", stray.Row)
	}
	if fed := v.again[origin.Source]; fed != nil {
		if err := v.verifyFedEnd(ctx, origin.Source, fed, totals.Rows); err != nil {
			return err
		}
	}
	v.chunks += totals.Chunks
	if isSource {
		v.rows += totals.Rows
	}
	if err := v.verifyEnd(ctx, totals, pin); err != nil {
		return err
	}
	return v.verifyReading(ctx, origin.Source, pin)
}

func addTotals(end *landscape.SourceEnd, chunk landscape.Chunk) {
	end.Chunks++
	end.Rows += chunk.Rows
	end.Blank += chunk.Blank
	end.Comments += chunk.Comments
	end.Bytes += chunk.Bytes
}

// takeRows removes the errors of rows before end from the beginning of the list, and returns them.
func takeRows(list *[]landscape.RefusedRow, end int64) []landscape.RefusedRow {
	n := 0
	for n < len(*list) && (*list)[n].Row < end {
		n++
	}
	taken := (*list)[:n]
	*list = (*list)[n:]
	return taken
}

// hexDigest is how a digest is written.
var hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// verifyEnd compares the end of a source, if it was reached, with the totals of its chunks, and its digests with its files.
func (v *verification) verifyEnd(ctx context.Context, totals landscape.SourceEnd, pin plugin.SourceInfo) error {
	ends, err := v.log.SourceEnds(ctx, v.run.ID)
	if err != nil {
		return err
	}
	for _, end := range ends {
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
		if err := v.verifyFile(ctx, end.Source, file, digests[i]); err != nil {
			return err
		}
	}
	return nil
}

// verifyFile reads a source file again if it looks as the run found it. A file that is gone, or was changed since, is no
// problem of the record.
func (v *verification) verifyFile(ctx context.Context, source string, pin plugin.FileInfo, recorded string) error {
	path := pin.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(v.run.BaseDir, path)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != pin.Bytes || info.ModTime().UnixMicro() != pin.ModifiedMicros {
		return nil //nolint:nilerr // as the comment says: a file that cannot be looked at is no problem of the record
	}
	sum, err := fileDigest(ctx, path)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && sum != recorded {
		v.add(SourceDiffers, source, "%s has the size and time that the run found, and hashes to %s, on record is %s", pin.Path, sum, recorded)
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
