package file

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

	"waymark/internal/disk"
	"waymark/plugin"
)

// ManifestName is the name of a manifest's file, beside the parts or their folder.
const ManifestName = "manifest.json"

const manifestFormat = "parts-v1"

// Manifest describes an output in parts. Its bytes depend on nothing but the sink's name and the parts, and on the folder if
// they lie in one.
type Manifest struct {
	Waymark string         `json:"waymark"` // says that Waymark wrote it
	Sink    string         `json:"sink"`
	Folder  string         `json:"folder,omitempty"` // beside the manifest, with the parts; "" if they are beside it themselves
	Rows    int64          `json:"rows"`
	Bytes   int64          `json:"bytes"` // of all parts
	Parts   []ManifestPart `json:"parts"`
}

// ManifestPart describes one part.
type ManifestPart struct {
	File   string `json:"file"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the file, the header included
}

// NewManifest returns the manifest of a sink's output, without parts.
func NewManifest(sink string) Manifest {
	return Manifest{Waymark: manifestFormat, Sink: sink, Parts: []ManifestPart{}}
}

// ParseManifest returns what the text describes, and false if it is not a manifest of ours.
func ParseManifest(text []byte) (Manifest, bool) {
	var m Manifest
	err := json.Unmarshal(text, &m)
	return m, err == nil && m.Waymark == manifestFormat
}

// Add adds the part that comes next.
func (m *Manifest) Add(part ManifestPart) {
	m.Rows += part.Rows
	m.Bytes += part.Bytes
	m.Parts = append(m.Parts, part)
}

// Encode returns the bytes of the manifest's file.
func (m Manifest) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// inspect reads every part file in the folder at, compares it with what was recorded of it, and makes it durable. The folder may hold nothing
// else but the manifest and the staged header.
func (l partsFolder) inspect(ctx context.Context, at string, header []byte, parts []plugin.Part) (Manifest, error) {
	m := NewManifest(l.sink)
	for _, part := range parts {
		entry, err := l.inspectFile(ctx, l.partFile(at, part.Ordinal), header, part)
		if errors.Is(err, fs.ErrNotExist) {
			err = l.changed("%s is missing in %s", entry.File, path.Base(at))
		}
		if err != nil {
			return Manifest{}, err
		}
		m.Add(entry)
	}
	stray, err := l.stray(at, m)
	if err == nil && stray != "" {
		err = l.fault(codeTargetChanged, "%s holds %q, which this run did not write; remove it", path.Base(at), stray)
	}
	return m, err
}

func (l partsFolder) inspectFile(ctx context.Context, name string, header []byte, part plugin.Part) (ManifestPart, error) {
	entry := ManifestPart{File: path.Base(name), Rows: part.Rows, Bytes: int64(len(header)) + part.Bytes}
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
func (l partsFolder) stray(at string, m Manifest) (string, error) {
	names, err := l.disk.Names(at)
	if err != nil {
		return "", err
	}
	known := map[string]bool{ManifestName: true, headerName: true}
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
func (l partsFolder) inspectManifest(at string, m Manifest) (plugin.Artifact, error) {
	want, err := m.Encode()
	if err != nil {
		return plugin.Artifact{}, err
	}
	found, err := readRegular(l.disk, path.Join(at, ManifestName))
	if err = disk.Ignore(err, fs.ErrNotExist); err != nil {
		return plugin.Artifact{}, err
	}
	if !bytes.Equal(found, want) {
		return plugin.Artifact{}, l.changed("%s is not the one this run wrote", ManifestName)
	}
	return m.Artifact()
}

// Artifact describes the output, but for its path. Equal outputs have the same SHA-256, in whatever folder their parts lie.
func (m Manifest) Artifact() (plugin.Artifact, error) {
	m.Folder = ""
	text, err := m.Encode()
	sum := sha256.Sum256(text)
	return plugin.Artifact{Bytes: m.Bytes, Rows: m.Rows, SHA256: hex.EncodeToString(sum[:])}, err
}

// ours refuses to replace a folder that holds anything but a manifest of this format and the parts that it names.
func (l partsFolder) ours(at string) error {
	text, err := readRegular(l.disk, path.Join(at, ManifestName))
	if err != nil {
		return l.notOurs(at, err)
	}
	m, ok := ParseManifest(text)
	if !ok {
		return l.fault(codeTargetRefused, "holds a %s that is not Waymark's; remove the folder or choose another path", ManifestName)
	}
	stray, err := l.stray(at, m)
	if err == nil && stray != "" {
		err = l.fault(codeTargetRefused, "holds %q, which is not in its %s; move it away or choose another path", stray, ManifestName)
	}
	return err
}

// notOurs says what it means that the manifest in the folder at cannot be read: nothing if there is no such folder.
func (l partsFolder) notOurs(at string, err error) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case disk.Exists(l.disk, at):
		return l.fault(codeTargetRefused, "holds no %s, so Waymark did not write it; remove it or choose another path", ManifestName)
	}
	return nil
}
