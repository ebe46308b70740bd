// Package bundle keeps the versions of deployed pipelines as payloads: the document, the files that it is compiled with, and a manifest that
// lists them. The manifest's digest names the bundle: equal bytes are the same bundle.
package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/payload"
)

// format is the form of manifests. Stored; never rename.
const format = "bundle-v1"

// Role is what a file is to the document. Stored; never rename one.
type Role string

// The roles.
const (
	Document Role = "document"
	Table    Role = "table" // of a lookup, or with values of a schedule
)

// Manifest lists the files of a bundle.
type Manifest struct {
	Waymark  string `json:"waymark"`
	Document string `json:"document"` // path of the document
	Files    []File `json:"files"`    // by path; the document first
}

// File is one file of a bundle.
type File struct {
	Path   string         `json:"path"` // as the document has it; of the document, its name
	SHA256 payload.Digest `json:"sha256"`
	Bytes  int64          `json:"bytes"`
	Role   Role           `json:"role"`
}

// Bundle is a document and the files that it is compiled with.
type Bundle struct {
	Name   string // of the document's file
	Source []byte
	Files  map[string][]byte // the others: by their paths as the document has them
}

// Manifest returns the manifest: equal bundles have equal ones.
func (b Bundle) Manifest() Manifest {
	m := Manifest{Waymark: format, Document: b.Name}
	for path, content := range b.Files {
		m.Files = append(m.Files, fileOf(path, content, Table))
	}
	slices.SortFunc(m.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	m.Files = slices.Insert(m.Files, 0, fileOf(b.Name, b.Source, Document))
	return m
}

func fileOf(path string, content []byte, role Role) File {
	return File{Path: path, SHA256: payload.Of(content), Bytes: int64(len(content)), Role: role}
}

// JSON returns the manifest as it is stored.
func (m Manifest) JSON() []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		panic(err) // texts and numbers only
	}
	return bytes.TrimSpace(text.Bytes())
}

// Digest is the name of the bundle.
func (m Manifest) Digest() payload.Digest { return payload.Of(m.JSON()) }

// Bytes is how much all files are.
func (m Manifest) Bytes() (bytes int64) {
	for _, file := range m.Files {
		bytes += file.Bytes
	}
	return bytes
}

// Put stores the files of the bundle, and then its manifest. It may be repeated.
func Put(ctx context.Context, payloads *payload.Store, b Bundle) error {
	contents := [][]byte{b.Source}
	for _, file := range b.Manifest().Files[1:] {
		contents = append(contents, b.Files[file.Path])
	}
	for _, content := range append(contents, b.Manifest().JSON()) {
		if _, err := payloads.Put(ctx, content); err != nil {
			return err
		}
	}
	return nil
}

// Parse reads a manifest.
func Parse(text []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	switch {
	case m.Waymark != format:
		return m, fmt.Errorf("the manifest has the format %.32q; this program knows %q", m.Waymark, format)
	case len(m.Files) == 0 || m.Files[0].Role != Document:
		return m, errors.New("the manifest has no document")
	}
	return m, nil
}

// Get reads the bundle with this digest. What is read is what was stored, or the error says so.
func Get(ctx context.Context, payloads *payload.Store, digest payload.Digest) (Bundle, error) {
	text, err := payloads.Get(ctx, digest)
	if err != nil {
		return Bundle{}, fmt.Errorf("manifest of bundle %s: %w", digest, err)
	}
	m, err := Parse(text)
	if err != nil {
		return Bundle{}, fmt.Errorf("bundle %s: %w", digest, err)
	}
	b := Bundle{Name: m.Document, Files: map[string][]byte{}}
	for i, file := range m.Files {
		content, err := payloads.Get(ctx, file.SHA256)
		if err != nil {
			return Bundle{}, fmt.Errorf("bundle %s: %s: %w", digest, file.Path, err)
		}
		if i == 0 {
			b.Source = content
		} else {
			b.Files[file.Path] = content
		}
	}
	return b, nil
}
