package rowproof

import (
	"cmp"
	"encoding/hex"
	"errors"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence"
	"waymark/internal/strictjson"
	"waymark/landscape/seal"
)

// Begin is what every file with a proof begins with.
const Begin = `{"proof":`

// Proof is what a file with a proof says.
type Proof struct {
	Proof   int     `json:"proof"`            // version of the form
	Row     Leaf    `json:"row,omitzero"`     // of a proof of a row
	Body    []byte  `json:"body,omitempty"`   // of the row (docs/seal.md); of a proof without fields
	Root    string  `json:"root,omitempty"`   // hex: of the tree over the row's fields; of a proof with fields
	Fields  []Line  `json:"fields,omitempty"` // that are shown, by index
	Records []Line  `json:"records"`          // of the run: the seal of the row's chunk, then the ways that the body names, by id
	Entries []Entry `json:"entries"`          // of the log, in its order; the last is about the seal of the run
	Head    string  `json:"head"`             // of the log
}

// Leaf is the place of a leaf in its tree.
type Leaf struct {
	Index  int64  `json:"index"`
	Leaves int64  `json:"leaves"`         // of the tree
	Salt   string `json:"salt,omitempty"` // hex; none of the row of a proof with fields
	Path   Path   `json:"path"`
}

// Line is a record of the run, as a leaf of the run's tree.
type Line struct {
	Leaf
	Line string `json:"line"` // docs/seal.md
}

// Entry is an entry of the log.
type Entry struct {
	Index int64  `json:"index"`
	Path  Path   `json:"path"`
	Text  string `json:"text"`
}

// Path has the hashes of an audit path one after the other, 32 bytes each, from below.
type Path []byte

func pathOf(hashes []tlog.Hash) Path {
	path := Path{}
	for _, hash := range hashes {
		path = append(path, hash[:]...)
	}
	return path
}

func (p Path) hashes() ([]tlog.Hash, error) {
	if len(p)%tlog.HashSize != 0 {
		return nil, errors.New("a path is not of whole hashes")
	}
	hashes := make([]tlog.Hash, 0, len(p)/tlog.HashSize)
	for rest := []byte(p); len(rest) > 0; rest = rest[tlog.HashSize:] {
		hashes = append(hashes, tlog.Hash(rest[:tlog.HashSize]))
	}
	return hashes, nil
}

// check requires that a leaf with this content is where it should be in the tree with this root.
func (l Leaf) check(content []byte, root tlog.Hash) error {
	hash, err := l.hash(content)
	if err != nil {
		return err
	}
	return l.checkHash(l.Path, hash, root)
}

// checkRow is check for the body of a row. If the row has fields, the path begins with the root of the tree over them.
func (l Leaf) checkRow(body []byte, root tlog.Hash) error {
	hash, err := l.hash(body)
	if err != nil || l.checkHash(l.Path, hash, root) == nil || len(l.Path) < tlog.HashSize {
		return cmp.Or(err, l.check(body, root))
	}
	return l.checkHash(l.Path[tlog.HashSize:], tlog.NodeHash(hash, tlog.Hash(l.Path)), root)
}

// checkFields is check for the root of the tree over the fields of a row. The path begins with the leaf of its body.
func (l Leaf) checkFields(fields, root tlog.Hash) error {
	if len(l.Path) < tlog.HashSize {
		return errors.New("its path is too short")
	}
	return l.checkHash(l.Path[tlog.HashSize:], tlog.NodeHash(tlog.Hash(l.Path), fields), root)
}

// hash returns the hash of a leaf with this content.
func (l Leaf) hash(content []byte) (tlog.Hash, error) {
	bytes, err := hex.DecodeString(l.Salt)
	if err != nil || hex.EncodeToString(bytes) != l.Salt {
		return tlog.Hash{}, errors.New("its salt is not of hex digits")
	}
	salt, err := seal.ParseKey(bytes)
	return seal.LeafHash(salt, content), err
}

// checkHash requires that a hash is where the leaf should be.
func (l Leaf) checkHash(path Path, hash, root tlog.Hash) error {
	hashes, err := path.hashes()
	if err != nil {
		return err
	}
	return tlog.CheckRecord(hashes, l.Leaves, root, l.Index, hash)
}

// entryOf takes a proof of the log apart.
func entryOf(p evidence.Proof) (e Entry, head string, err error) {
	position, path, head, err := evidence.ParseProof(p.Text)
	return Entry{Index: position, Path: pathOf(path), Text: p.Entry}, head, err
}

// proof puts a proof of the log together again.
func (e Entry) proof(head string) (evidence.Proof, error) {
	path, err := e.Path.hashes()
	return evidence.Proof{Position: e.Index, Entry: e.Text, Text: evidence.ProofText(e.Index, path, head)}, err
}

// formVersion is the version of the form of proofs.
const formVersion = 1

// MaxBytes is how long a proof may be.
const MaxBytes = 1 << 20

// Encode writes a proof: one line of JSON, of which there is one form.
func (p *Proof) Encode() ([]byte, error) { return strictjson.Encode(p) }

// Parse reads a proof, and refuses everything that Encode does not write. Nothing is verified.
func Parse(text []byte) (*Proof, error) {
	if len(text) > MaxBytes {
		return nil, errors.New("it is too long for a proof")
	}
	p, err := strictjson.Decode[*Proof](text)
	switch {
	case errors.Is(err, strictjson.ErrForm):
		return nil, err
	case err != nil:
		return nil, errors.New("it is not a proof: " + strings.TrimPrefix(err.Error(), "json: "))
	case p == nil || p.Proof != formVersion:
		return nil, errors.New("it is a proof of another version")
	}
	return p, nil
}
