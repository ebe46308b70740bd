package witness

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence/cosign"
)

// request asks for a cosignature.
type request struct {
	old    int64          // size of the head that the client believes was cosigned last
	proof  tlog.TreeProof // that the new head continues it
	origin string
	note   string // the new head
}

// maxProof is how many hashes a proof has at most.
const maxProof = 63

// parse reads the body of a request. Of the note it reads the first line.
func parse(body string) (r request, err error) {
	lines, signed, found := strings.Cut(body, "\n\n")
	all := strings.Split(lines, "\n")
	old, isOld := strings.CutPrefix(all[0], "old ")
	if !found || !isOld || len(all) > 1+maxProof {
		return r, errors.New("it is not a line `old SIZE`, at most 63 lines of a proof, an empty line and a checkpoint")
	}
	if r.old, err = cosign.ParseSize(old); err != nil {
		return r, err
	}
	for _, line := range all[1:] {
		hash, err := parseHash(line)
		if err != nil {
			return r, err
		}
		r.proof = append(r.proof, hash)
	}
	r.note = signed
	r.origin, _, _ = strings.Cut(signed, "\n")
	return r, nil
}

func parseHash(text string) (tlog.Hash, error) {
	hash, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(hash) != tlog.HashSize || base64.StdEncoding.EncodeToString(hash) != text {
		return tlog.Hash{}, fmt.Errorf("%.60q is not a hash", text)
	}
	return tlog.Hash(hash), nil
}

// head is the size and the root of a tree; the zero head is not of one.
type head struct {
	size int64
	root tlog.Hash
}

// empty is the head of a log without entries.
var empty = head{0, sha256.Sum256(nil)}

// errUnsigned says that no key of a log signed its head.
var errUnsigned = errors.New("none of its signatures is by a key of this log")

// open reads a head that one of these keys signed. The error wraps errUnsigned if none did; the note has the signatures that did.
func (l *known) open(text string, keys ...note.Verifier) (h head, n *note.Note, err error) {
	n, err = note.Open([]byte(text), note.VerifierList(keys...))
	_, unverified := errors.AsType[*note.UnverifiedNoteError](err)
	_, invalid := errors.AsType[*note.InvalidSignatureError](err)
	switch {
	case unverified || invalid:
		return h, nil, errUnsigned
	case err != nil:
		return h, nil, err
	}
	lines := strings.Split(n.Text, "\n")
	if len(lines) < 4 || lines[0] != l.origin {
		return h, nil, errors.New("it is not a checkpoint of this log")
	}
	if h.size, err = cosign.ParseSize(lines[1]); err == nil {
		h.root, err = parseHash(lines[2])
	}
	return h, n, err
}
