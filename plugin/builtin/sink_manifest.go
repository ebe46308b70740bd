package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"waymark/plugin"
)

const (
	manifestName   = "manifest.json"
	manifestFormat = "parts-v1"
)

// manifest describes a folder of parts. Its bytes depend on nothing but the sink's name and the parts.
type manifest struct {
	Waymark string         `json:"waymark"` // manifestFormat
	Sink    string         `json:"sink"`
	Rows    int64          `json:"rows"`
	Bytes   int64          `json:"bytes"` // of all part files
	Parts   []manifestPart `json:"parts"`
}

type manifestPart struct {
	File   string `json:"file"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the file, the header included
}

// encode returns the bytes of the manifest's file.
func (m manifest) encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// inspect reads every part file in the folder at, compares it with what was recorded of it, and makes it durable. The folder may hold nothing
// else but the manifest and the staged header.
func (l partsFolder) inspect(ctx context.Context, at string, header []byte, parts []plugin.Part) (manifest, error) {
	m := manifest{Waymark: manifestFormat, Sink: l.sink, Parts: []manifestPart{}}
	for _, part := range parts {
		entry, err := l.inspectFile(ctx, l.partFile(at, part.Ordinal), header, part)
		if errors.Is(err, fs.ErrNotExist) {
			err = l.changed("%s is missing in %s", entry.File, path.Base(at))
		}
		if err != nil {
			return manifest{}, err
		}
		m.Rows += entry.Rows
		m.Bytes += entry.Bytes
		m.Parts = append(m.Parts, entry)
	}
	stray, err := l.stray(at, m)
	if err == nil && stray != "" {
		err = l.fault(codeTargetChanged, "%s holds %q, which this run did not write; remove it", path.Base(at), stray)
	}
	return m, err
}

func (l partsFolder) inspectFile(ctx context.Context, name string, header []byte, part plugin.Part) (manifestPart, error) {
	entry := manifestPart{File: path.Base(name), Rows: part.Rows, Bytes: int64(len(header)) + part.Bytes}
	f, err := openRegular(l.disk, name, os.O_RDONLY)
	if err != nil {
		return entry, err
	}
	defer f.Close()
	whole := sha256.New()
	from := io.TeeReader(f, whole)
	if err := l.inspectSize(f, entry.Bytes); err != nil {
		return entry, err
	}
	if err := l.inspectHeader(from, name, header); err != nil {
		return entry, err
	}
	if err := l.inspectPart(ctx, from, name, part); err != nil {
		return entry, err
	}
	entry.SHA256 = hex.EncodeToString(whole.Sum(nil))
	return entry, f.Sync()
}

// stray returns the name of something in the folder at that is not of the manifest, or "".
func (l partsFolder) stray(at string, m manifest) (string, error) {
	f, err := l.disk.OpenFile(at, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return "", err
	}
	known := map[string]bool{manifestName: true, headerName: true}
	for _, part := range m.Parts {
		known[part.File] = true
	}
	slices.Sort(names)
	for _, name := range names {
		if !known[name] {
			return name, nil
		}
	}
	return "", nil
}

// inspectManifest compares the published manifest with m.
func (l partsFolder) inspectManifest(at string, m manifest) (plugin.Artifact, error) {
	want, err := m.encode()
	if err != nil {
		return plugin.Artifact{}, err
	}
	found, err := readRegular(l.disk, path.Join(at, manifestName))
	if err = ignore(err, fs.ErrNotExist); err != nil {
		return plugin.Artifact{}, err
	}
	if !bytes.Equal(found, want) {
		return plugin.Artifact{}, l.changed("%s is not the one this run wrote", manifestName)
	}
	return m.artifact(want), nil
}

func (m manifest) artifact(text []byte) plugin.Artifact {
	sum := sha256.Sum256(text)
	return plugin.Artifact{Bytes: m.Bytes, Rows: m.Rows, SHA256: hex.EncodeToString(sum[:])}
}

// ours refuses to replace a folder that holds anything but a manifest of this format and the parts that it names.
func (l partsFolder) ours(at string) error {
	text, err := readRegular(l.disk, path.Join(at, manifestName))
	if err != nil {
		return l.notOurs(at, err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Waymark != manifestFormat {
		return l.fault(codeTargetRefused, "holds a %s that is not Waymark's; remove the folder or choose another path", manifestName)
	}
	stray, err := l.stray(at, m)
	if err == nil && stray != "" {
		err = l.fault(codeTargetRefused, "holds %q, which is not in its %s; move it away or choose another path", stray, manifestName)
	}
	return err
}

// notOurs says what it means that the manifest in the folder at cannot be read: nothing if there is no such folder.
func (l partsFolder) notOurs(at string, err error) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case exists(l.disk, at):
		return l.fault(codeTargetRefused, "holds no %s, so Waymark did not write it; remove it or choose another path", manifestName)
	}
	return nil
}
