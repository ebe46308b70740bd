package bundle

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/keys"
	"waymark/internal/strictjson"
)

// Words of the statement. Stored in bundles; never change one.
const (
	payloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "urn:waymark:run:v1"
)

// Statement is what the sealer of a bundle signs, in the form of in-toto. The first subject is the manifest, the others are published outputs.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is a file with its digest.
type Subject struct {
	Name   string `json:"name"`
	Digest struct {
		SHA256 string `json:"sha256"`
	} `json:"digest"`
}

// Predicate says which run it is, and what came of it.
type Predicate struct {
	Balance  Balance  `json:"balance"`
	Document string   `json:"document"` // SHA-256 in hex
	Pipeline string   `json:"pipeline"`
	Plan     string   `json:"plan"`     // SHA-256 in hex
	Policies []Policy `json:"policies"` // in document order; empty, not nil, if there are none
	Run      string   `json:"run"`
	Status   string   `json:"status"`
}

// envelope is DSSE's, with one signature.
type envelope struct {
	Payload     []byte      `json:"payload"`
	PayloadType string      `json:"payloadType"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"` // the public key, as name+hash+base64
	Sig   []byte `json:"sig"`
}

// preAuthentication is what DSSE signs.
func preAuthentication(payload []byte) []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload...)
}

// seal signs a statement.
func seal(s Statement, by keys.Key) ([]byte, error) {
	payload, err := strictjson.Encode(s)
	if err != nil {
		return nil, err
	}
	sig, err := by.Sign(preAuthentication(payload))
	if err != nil {
		return nil, err
	}
	return strictjson.Encode(envelope{payload, payloadType, []signature{{by.VKey, sig}}})
}

// open verifies an envelope, and returns what it says and the key that signed it. Nothing of the payload is read before its signature holds.
func open(text []byte) (s Statement, key string, err error) {
	e, err := strictjson.Decode[envelope](text)
	if err != nil {
		return s, "", err
	}
	if e.PayloadType != payloadType || len(e.Signatures) != 1 {
		return s, "", errors.New("it does not have one signature of an in-toto statement")
	}
	key = e.Signatures[0].KeyID
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return s, "", fmt.Errorf("its keyid is not a public key: %.120q", key)
	}
	if !verifier.Verify(preAuthentication(e.Payload), e.Signatures[0].Sig) {
		return s, "", fmt.Errorf("%s did not sign it", verifier.Name())
	}
	s, err = strictjson.Decode[Statement](e.Payload)
	if err == nil && (s.Type != statementType || s.PredicateType != predicateType || len(s.Subject) == 0 || s.Subject[0].Name != manifestName) {
		err = errors.New("it is not a statement about the manifest of a run")
	}
	return s, key, err
}
