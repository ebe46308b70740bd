// Package webhook reads what is a payload by the time that a run reads it: deliveries to a trigger, which other services sent, rows that came with the request for a run, and rows that a
// trigger found in a table.
package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/jsonl"
)

// Codes of what is wrong with a source, and with records. They stand in landscapes; never rename one.
const (
	codeNotDelivered = "NOT_DELIVERED" // a run reads what only a trigger or a request brings, and neither did
	codeDamaged      = "SOURCE_CHANGED"
	codeNoRecords    = "NO_RECORDS" // there is neither an object nor an array where the document says that the objects are
)

// Scheme begins the path of a delivery; its receipt follows. Stored; never rename.
const Scheme = "webhook://"

// ByPayload begins the Target of the plugin.FileInfo of a delivery; the digest of the payload that holds it follows. ByDigest begins its Version; the SHA-256 of the body
// follows. Stored; never rename.
const (
	ByPayload = "payload:"
	ByDigest  = "sha256:"
)

// Read returns the bytes of a payload. They are those that hash to the digest, or there is an error.
type Read func(ctx context.Context, payload string) ([]byte, error)

// Delivery describes what came: FileInfo of what Pack returned for the same, which is stored under payload.
func Delivery(receipt, payload string, body []byte) plugin.FileInfo {
	return stored(Scheme+receipt, payload, body)
}

// stored describes a body that a payload holds.
func stored(path, payload string, body []byte) plugin.FileInfo {
	sum := sha256.Sum256(body)
	return plugin.FileInfo{Path: path, Bytes: int64(len(body)), Target: ByPayload + payload, Version: ByDigest + hex.EncodeToString(sum[:])}
}

// Pack returns what is stored of a delivery. With the receipt no two deliveries are the same payload, whatever their bodies hold: so one can be deleted, and the other stays.
func Pack(receipt string, body []byte) []byte { return append(head(receipt), body...) }

// head begins the payload of a delivery. Stored; never change it.
func head(receipt string) []byte { return []byte("waymark-delivery-v1 " + receipt + "\n") }

// unpack returns the body in a payload.
func unpack(info plugin.FileInfo, packed []byte) ([]byte, error) {
	body, whole := bytes.CutPrefix(packed, head(strings.TrimPrefix(info.Path, Scheme)))
	switch {
	case isRequest(info):
		body, whole = unpackRows(info, packed)
	case isFound(info):
		body, whole = bytes.CutPrefix(packed, foundHead(info.Path))
	}
	sum := sha256.Sum256(body)
	if !whole || int64(len(body)) != info.Bytes || ByDigest+hex.EncodeToString(sum[:]) != info.Version {
		return nil, &plugin.SourceError{Code: codeDamaged, File: info.Path, Message: "what is stored is not what was delivered"}
	}
	return body, nil
}

var _ plugin.Watched = (*source)(nil)

// source reads deliveries.
type source struct {
	name    string
	path    []string // keys, from the outermost object to what holds the records
	records *jsonl.Records
	read    Read
}

// NewSource makes the source that a document's entry with a webhook field describes. name is the entry's name. The error names the option at fault.
func NewSource(name string, spec pipeline.WebhookSource, schema pipeline.Schema, read Read) (plugin.Source, error) {
	records, err := jsonl.NewRecords(schema)
	if err != nil {
		return nil, fmt.Errorf("sources.%s: %w", name, err)
	}
	return &source{name: name, path: pathOf(spec.Records), records: records, read: read}, nil
}

// pathOf returns the keys that records of a document names.
func pathOf(records string) []string {
	if records == "" {
		return nil
	}
	return strings.Split(records, ".")
}

// AtMost returns how many records a body can have at most, wherever they are in it: they are divided by commas, or by
// the ends of lines.
func AtMost(body []byte) int {
	return bytes.Count(body, []byte{','}) + bytes.Count(body, []byte{'\n'}) + 1
}

// Records returns how many records a run reads of a body that was delivered, with records as the document of the source
// has it.
func Records(body []byte, records string) int { return len(split(body, pathOf(records))) }

// Determinism says that the rows depend on what was delivered.
func (*source) Determinism() pipeline.Determinism { return pipeline.ReadsIO }

// Fields returns the declared fields; rows carry others after them unless the schema is fixed.
func (s *source) Fields() ([]pipeline.Named[pipeline.Field], bool) { return s.records.Fields() }

// Parser returns a parser. The context says nothing: every record names its keys.
func (s *source) Parser([]byte) (plugin.Parser, error) { return s.records.Parser(), nil }

// Stat fails: only a trigger, or the request for a run, brings what there is to read.
func (s *source) Stat(context.Context) (plugin.SourceInfo, error) {
	return plugin.SourceInfo{}, &plugin.SourceError{
		Code: codeNotDelivered, File: s.name, Message: "reads what is posted to its trigger, or comes with the request for a run, and this run has neither: give it rows (waymark run … --rows " + s.name + "=FILE, or rows in POST /v1/runs), or post to /in/ENVIRONMENT/PIPELINE/TRIGGER of waymark serve",
	}
}

// Look finds nothing: what is delivered is recorded already.
func (*source) Look(context.Context) (files []plugin.FileInfo, left []error, err error) {
	return nil, nil, nil
}

// Parts finds none: outputs are not delivered.
func (*source) Parts(context.Context, string) (parts []plugin.OutputPart, manifest string, err error) {
	return nil, "", nil
}

// Open returns a Reader at the cursor.
func (s *source) Open(_ context.Context, at plugin.Cursor, pin plugin.SourceInfo) (plugin.Reader, error) {
	return open(s.name, s.path, s.read, at, pin)
}

// OpenFound returns a Reader, at the cursor, of rows that a trigger found for a source: pin is a list of what FoundRows describes.
func OpenFound(name string, read Read, at plugin.Cursor, pin plugin.SourceInfo) (plugin.Reader, error) {
	return open(name, nil, read, at, pin)
}

func open(name string, path []string, read Read, at plugin.Cursor, pin plugin.SourceInfo) (plugin.Reader, error) {
	if read == nil {
		return nil, errors.New("deliveries cannot be read here")
	}
	if at.File < 0 || at.File > len(pin.Files) {
		return nil, fmt.Errorf("source %s: cursor points to delivery %d of %d", name, at.File, len(pin.Files))
	}
	return &reader{name: name, path: path, read: read, pin: pin, at: at}, nil
}
