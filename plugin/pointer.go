package plugin

import "context"

// Pointed is what a Sink may be as well: one that keeps a name that leads to the latest of its outputs.
type Pointed interface {
	// Latest returns nil if the document wants no such name.
	Latest() Pointer
}

// A Pointer is a name that leads to one of several outputs. Its methods may be repeated, and are safe for concurrent use. Errors that a retry cannot
// cure are *TargetErrors.
type Pointer interface {
	// String returns the name: a path or a URI without secrets, the same for all that lead there.
	String() string
	// Check fails with a *TargetError TARGET_EXISTS if something else has the name, which Lead would not replace.
	Check(ctx context.Context) error
	// Leads returns the output that the name leads to, as Lead was given it or, of a file, by another path to it; empty if there is no such name. It fails as
	// Check does.
	Leads(ctx context.Context) (output string, err error)
	// Lead makes the name lead to the output, at once, whatever output it led to before.
	Lead(ctx context.Context, output Latest) error
}

// Latest is the output of a sink that a name leads to.
type Latest struct {
	Run    string `json:"run"`
	For    string `json:"for"`    // the slot that the run is about, else when it was asked for
	Output string `json:"output"` // Artifact.Path
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"` // as in Artifact
}
