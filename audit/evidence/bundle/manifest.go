package bundle

import (
	"slices"
	"strings"

	"waymark/internal/strictjson"
)

// Manifest lists what is in a bundle, and what is not.
type Manifest struct {
	Artifacts bool     `json:"artifacts"` // the outputs of the run are here
	Bundle    int      `json:"bundle"`    // version of the form
	Gaps      []Gap    `json:"gaps"`      // what should be here, and could not be had; empty, not nil, if there is none
	Members   []Member `json:"members"`
	Payloads  Payloads `json:"payloads"`

	Redactions []Redaction `json:"redactions"` // what was left out because the exporter wanted it; empty, not nil, if nothing was
}

// Redaction is what a bundle does not show of the rows of a source or barrier or, if Source is empty, of records of the run.
type Redaction struct {
	Fields []string `json:"fields"` // why the rows of the source are redacted; empty, not nil, if no field was named
	Reason string   `json:"reason"`
	Rows   int64    `json:"rows"` // or records
	Source string   `json:"source"`
}

// Member is one file in a bundle.
type Member struct {
	Name   string `json:"name"`
	Bytes  uint64 `json:"bytes"`
	SHA256 string `json:"sha256"` // of the content
	Packed string `json:"packed"` // SHA-256 of the bytes in the zip
}

// Gap is something that is not in a bundle, and why.
type Gap struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// What gaps are called that are no payloads. Stored; never rename one.
const (
	logGap  = "log"  // the entries of the log
	sealGap = "seal" // the seal of the run, or the entry about it

	attestationGap = "attestations" // the entries about some of them
	orderGap       = "approvals"    // the entries about some approval requests about the run
	signOffGap     = "sign-offs"    // the entries about sign-offs of the run
	rowsGap        = "rows"         // that were forgotten
)

// Payloads says which payloads of a run are in its bundle. Stored; never rename one.
type Payloads string

// What --payloads takes.
const (
	NoPayloads      Payloads = "none"    // their hashes alone, which the record has
	RefusedPayloads Payloads = "refused" // the records of rows in quarantine, each by itself
	SourcePayloads  Payloads = "source"  // records as they were read, and the tables of lookups
	AllPayloads     Payloads = "all"     // also what barriers gave and kept
)

// EveryPayloads are all that --payloads takes, in the order of how much they add.
var EveryPayloads = []Payloads{NoPayloads, RefusedPayloads, SourcePayloads, AllPayloads}

// Begin is what every bundle begins with.
const Begin = "PK\x03\x04"

// formVersion is the version of the form of bundles.
const formVersion = 1

// Names of members.
const (
	mimeName     = "mimetype"
	readmeName   = "readme.txt"
	eventsName   = "events.ndjson"
	snapshotName = "snapshot.json"
	manifestName = "manifest.json"
	envelopeName = "manifest.dsse.json"
	logFolder    = "log/"
	recordFolder = "record/"
	recordSuffix = ".ndjson"
	runsName     = recordFolder + "runs" + recordSuffix
	sealsName    = recordFolder + "run_seals" + recordSuffix
	packFolder   = "payloads/"

	artifactFolder = "artifacts/"

	mime = "application/vnd.waymark.bundle"
)

// lacks reports whether one of these gaps is listed.
func (m *Manifest) lacks(gaps ...string) bool {
	return slices.ContainsFunc(m.Gaps, func(g Gap) bool { return slices.Contains(gaps, g.What) })
}

// Digest returns the SHA-256, in hex, of the manifest as a bundle has it.
func (m *Manifest) Digest() (string, error) {
	text, err := strictjson.Encode(m)
	return digestOf(text), err
}

// Proves reports whether the gap is of what binds the records to the log: without it a bundle proves nothing about them.
func (g Gap) Proves() bool { return g.What == logGap || g.What == sealGap }

// stored reports whether a member is not deflated: what does not become smaller, and what the signature fixes.
func stored(name string) bool {
	return name == mimeName || name == manifestName || name == envelopeName || strings.HasPrefix(name, packFolder)
}
