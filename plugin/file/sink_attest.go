package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"waymark/internal/disk"
	"waymark/internal/text"
	"waymark/plugin"
)

var _ plugin.Attester = (*fileTarget)(nil)

// Attest reads what lies under the final name.
func (t *fileTarget) Attest(ctx context.Context, w plugin.Written) (plugin.Condition, error) {
	parts, err := t.inOrder(w.Header, w.Parts)
	if err != nil {
		return plugin.Condition{}, err
	}
	w.Parts = parts
	info, err := t.disk.Lstat(t.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return allOf(w, plugin.Missing, "there is no "+path.Base(t.name)), nil
	case err == nil && info.Mode().Type() != t.kind:
		return allOf(w, plugin.Missing, fmt.Sprintf("in its place is %s", kindName(info))), nil
	case err == nil:
		var found plugin.Condition
		if found, err = t.layout.attest(ctx, t.name, w); err == nil {
			return found, nil
		}
	}
	return plugin.Condition{}, t.classify(err)
}

// allOf says the same of all pieces of an output.
func allOf(w plugin.Written, state plugin.State, why string) plugin.Condition {
	found := plugin.Condition{Unit: plugin.Pieces}
	found.Add(1+int64(len(w.Parts)), plugin.Finding{State: state, Why: why})
	return found
}

// attest compares every piece of the file. If the file has grown or shrunk, what comes after the place where it was edited has moved: a part that is whole there
// is as it was written.
func (l oneFile) attest(ctx context.Context, at string, w plugin.Written) (plugin.Condition, error) {
	found := plugin.Condition{Unit: plugin.Pieces}
	f, err := openRegular(l.disk, at, os.O_RDONLY)
	if err != nil {
		return found, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return found, err
	}
	for _, part := range w.Parts {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		if !w.Look(part) {
			continue
		}
		state, err := l.attestPart(ctx, f, info.Size(), part, w)
		if err != nil {
			return found, err
		}
		found.AddPart(part, state)
	}
	frame, err := l.attestFrame(f, info.Size(), w, found)
	found.Add(1, frame)
	return found, err
}

func (l oneFile) attestPart(ctx context.Context, f disk.File, size int64, part plugin.Part, w plugin.Written) (plugin.Finding, error) {
	if part.Offset >= size && part.Bytes > 0 {
		return plugin.Finding{State: plugin.Missing, Why: fmt.Sprintf("the file ends at byte %d, before the part", size)}, nil
	}
	moved := size - w.Artifact.Bytes
	for _, offset := range []int64{part.Offset, part.Offset + moved} {
		same, err := isAt(f, part, offset)
		if err != nil || same {
			return plugin.Finding{State: plugin.AsWritten}, err
		}
	}
	data := make([]byte, max(0, min(part.Bytes, size-part.Offset)))
	if _, err := f.ReadAt(data, part.Offset); err != nil && !errors.Is(err, io.EOF) {
		return plugin.Finding{}, err
	}
	why := fmt.Sprintf("%s at byte %d %s written", text.Count(part.Bytes, "byte"), part.Offset,
		text.Agree(part.Bytes, "is not the one that was", "are not those that were"))
	if int64(len(data)) < part.Bytes {
		why = fmt.Sprintf("the file ends at byte %d, within the part", size)
	}
	return plugin.Finding{State: plugin.Changed, Line: w.LineThatDiffers(ctx, part, data), Why: why}, nil
}

// isAt reports whether a file has the bytes of a part at an offset.
func isAt(f disk.File, part plugin.Part, offset int64) (bool, error) {
	if offset < 0 {
		return false, nil
	}
	hash := sha256.New()
	if _, err := io.CopyN(hash, io.NewSectionReader(f, offset, part.Bytes), part.Bytes); err != nil {
		return false, disk.Ignore(err, io.EOF)
	}
	return [sha256.Size]byte(hash.Sum(nil)) == part.SHA256, nil
}

// attestFrame looks at the header and, if the parts that were looked at are as they were written, at the size.
func (l oneFile) attestFrame(f disk.File, size int64, w plugin.Written, parts plugin.Condition) (plugin.Finding, error) {
	header := make([]byte, len(w.Header))
	if _, err := f.ReadAt(header, 0); err != nil && !errors.Is(err, io.EOF) {
		return plugin.Finding{}, err
	}
	switch more := size - w.Artifact.Bytes; {
	case !bytes.Equal(header, w.Header):
		return plugin.Finding{State: plugin.Changed, Why: "the header is not the one that was written"}, nil
	case parts.Equal < parts.LookedAt || more == 0:
	case parts.Equal == int64(len(w.Parts)):
		why := text.Count(more, "byte") + text.Agree(more, " was", " were") + " added at the end"
		return plugin.Finding{State: plugin.Changed, Line: w.Artifact.Rows + 1, Why: why}, nil
	default:
		why := fmt.Sprintf("it has %s, and the run wrote %d", text.Count(size, "byte"), w.Artifact.Bytes)
		return plugin.Finding{State: plugin.Changed, Why: why}, nil
	}
	return plugin.Finding{State: plugin.AsWritten}, nil
}

// attest compares every file of the folder.
func (l partsFolder) attest(ctx context.Context, at string, w plugin.Written) (plugin.Condition, error) {
	found := plugin.Condition{Unit: plugin.Pieces}
	all := NewManifest(l.sink)
	for _, part := range w.Parts {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		all.Add(ManifestPart{File: path.Base(l.partFile(at, part.Ordinal))})
		if !w.Look(part) {
			continue
		}
		state, err := l.attestFile(ctx, l.partFile(at, part.Ordinal), part, w)
		if err != nil {
			return found, err
		}
		found.AddPart(part, state)
	}
	frame, err := l.attestManifest(at, all, w)
	found.Add(1, frame)
	return found, err
}

func (l partsFolder) attestFile(ctx context.Context, name string, part plugin.Part, w plugin.Written) (plugin.Finding, error) {
	data, err := readRegular(l.disk, name)
	if other, ok := errors.AsType[*irregular](err); ok {
		return plugin.Finding{State: plugin.Missing, Why: other.Error()}, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return plugin.Finding{State: plugin.Missing, Why: "there is no " + path.Base(name)}, nil
	}
	if err != nil {
		return plugin.Finding{}, err
	}
	return AttestPart(ctx, path.Base(name), data, part, w), nil
}

// AttestPart says what became of a file, or object, of this name with a header and a part.
func AttestPart(ctx context.Context, name string, data []byte, part plugin.Part, w plugin.Written) plugin.Finding {
	rest, headed := bytes.CutPrefix(data, w.Header)
	switch {
	case !headed:
		return plugin.Finding{State: plugin.Changed, Why: "the header of " + name + " is not the one that was written"}
	case sha256.Sum256(rest) != part.SHA256:
		return plugin.Finding{State: plugin.Changed, Line: w.LineThatDiffers(ctx, part, rest), Why: name + " does not hold what was written"}
	}
	return plugin.Finding{State: plugin.AsWritten}
}

// attestManifest looks at the manifest, and for files that are not of the output.
func (l partsFolder) attestManifest(at string, all Manifest, w plugin.Written) (plugin.Finding, error) {
	text, err := readRegular(l.disk, path.Join(at, ManifestName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return plugin.Finding{State: plugin.Missing, Why: "there is no " + ManifestName}, nil
	case err != nil:
		return plugin.Finding{}, err
	case digestOf(text) != w.Artifact.SHA256:
		return plugin.Finding{State: plugin.Changed, Why: ManifestName + " is not the one that was written"}, nil
	}
	stray, err := l.stray(at, all)
	if err == nil && stray != "" {
		return plugin.Finding{State: plugin.Changed, Why: fmt.Sprintf("the folder holds %q, which the run did not write", stray)}, nil
	}
	return plugin.Finding{State: plugin.AsWritten}, err
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
