package evidence

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence/cosign"
	"waymark/audit/evidence/trust"
	"waymark/landscape"
)

// Proof is an entry of the log with what proves that it is in it: a file in the form of the C2SP's tlog-proof.
type Proof struct {
	Position int64
	Entry    string
	Text     string // tlog-proof: the path in the tree, and the head
}

// Rotates reports whether the entry says that the log has another key from there on: without it nothing proves whose the head is.
func (p Proof) Rotates() bool {
	s, _, err := read(p.Entry)
	return err == nil && s.Type == Rotated
}

// ErrUnsigned says that an entry is under no signed head yet.
var ErrUnsigned = errors.New("no signed head covers the run's entry yet: the process with the log's key signs within seconds; try again then")

// Beside is what the log has entries about beside the beginning and the seals of a run.
type Beside struct {
	Looks    [][]landscape.Attestation // each of one number
	SignOffs []landscape.SignOff
	// approval requests about the run: landscape.ApprovalRequest, landscape.Approval and landscape.ApprovedExecution
	Orders []landscape.Record
}

// Uncovered says of which kinds some have no entry that a signed head covers.
type Uncovered struct{ Looks, SignOffs, Orders bool }

// ProofsOf returns the entries that say which keys count, the one that says that a run began, and those about seals of it,
// each with its proof under one signed head, in the order of the log. Of the heads that cover them all it is the newest of
// those with the most cosignatures, and has these. The entries about what else there is follow as far as a head covers them.
// The error wraps landscape.ErrNotFound if there is no such entry, and ErrUnsigned if no head covers one yet.
func ProofsOf(
	ctx context.Context, log *landscape.Reader, run string, beside Beside, seals ...landscape.RunSeal,
) (found []Proof, without Uncovered, err error) {
	of := []Statement{{Type: Began, Run: run}}
	for _, seal := range seals {
		of = append(of, sealed(seal))
	}
	last, _, err := signedSoFar(ctx, log)
	if err != nil {
		return nil, without, err
	}
	add := func(said Statement, missing *bool) error {
		entry, err := log.LogEntryAbout(ctx, said.about())
		switch {
		case errors.Is(err, landscape.ErrNotFound), err == nil && entry.Position >= last.Size:
			*missing = true
			return nil
		case err == nil:
			of = append(of, said)
		}
		return err
	}
	for _, look := range beside.Looks {
		err = errors.Join(err, add(attested(look), &without.Looks))
	}
	for _, s := range beside.SignOffs {
		err = errors.Join(err, add(signedOff(s), &without.SignOffs))
	}
	for _, r := range beside.Orders {
		said, _ := noted(r)
		err = errors.Join(err, add(said, &without.Orders))
	}
	if err != nil {
		return nil, without, err
	}
	found, err = proofs(ctx, log, of...)
	return found, without, err
}

// ProofsOfSeal is ProofsOf with the entry about a seal of a run in place of the one that says that it began.
func ProofsOfSeal(ctx context.Context, log *landscape.Reader, seal landscape.RunSeal) ([]Proof, error) {
	return proofs(ctx, log, sealed(seal))
}

func proofs(ctx context.Context, log *landscape.Reader, of ...Statement) (proofs []Proof, err error) {
	last, by, err := signedSoFar(ctx, log)
	if err != nil {
		return nil, err
	}
	var entries []landscape.LogEntry
	for _, s := range of {
		entry, err := log.LogEntryAbout(ctx, s.about())
		if err != nil {
			return nil, err
		}
		if entry.Position >= last.Size {
			return nil, fmt.Errorf("entry %d: %w", entry.Position, ErrUnsigned)
		}
		entries = append(entries, entry)
	}
	about, _, err := entriesAboutKeys(ctx, log, last.Size)
	if err != nil {
		return nil, err
	}
	entries = append(entries, about...)
	entries = slices.DeleteFunc(entries, func(e landscape.LogEntry) bool { return e.Position >= last.Size })
	slices.SortFunc(entries, func(a, b landscape.LogEntry) int { return int(a.Position - b.Position) })
	head, err := mostCosigned(ctx, log, by, last.Size, entries[len(entries)-1].Position)
	if err != nil {
		return nil, err
	}
	hashes := &tree{ctx: ctx, log: log}
	for _, e := range entries {
		path, err := hashes.proveRecord(head, e)
		if err != nil {
			return nil, fmt.Errorf("prove entry %d: %w", e.Position, err)
		}
		proofs = append(proofs, Proof{e.Position, e.Entry, ProofText(e.Position, path, head.Note)})
	}
	return proofs, nil
}

// mostCosigned returns the newest of the heads with the most cosignatures that cover a position, with these; the last
// head, of that size, if there are none. Heads that none of these keys signed do not count.
func mostCosigned(ctx context.Context, log *landscape.Reader, by LogKeys, last, position int64) (head Head, err error) {
	receipts, seen := map[int64][]string{}, map[string]bool{} // by size, in the order of the anchors' names
	err = landscape.Each(ctx, log, func(a landscape.Anchored) bool {
		who, ok := cosigner(a.Receipt)
		if once := fmt.Sprintf("%d %s", a.Size, who); ok && !seen[once] && a.Size > position { // a witness may have two addresses
			receipts[a.Size], seen[once] = append(receipts[a.Size], a.Receipt), true
		}
		return true
	})
	if err != nil {
		return head, err
	}
	best := last
	for size := range receipts {
		if its, err := signedHead(ctx, log, by, size); err != nil {
			return head, err
		} else if its.Size == 0 {
			continue
		}
		if more := len(receipts[size]) - len(receipts[best]); more > 0 || more == 0 && size > best {
			best = size
		}
	}
	head, err = signedHead(ctx, log, by, best)
	if err == nil && head.Size == 0 {
		err = fmt.Errorf("log_heads %d: %w", best, landscape.ErrNotFound)
	}
	head.Note += strings.Join(receipts[best], "")
	return head, err
}

// cosigner returns whose signature a receipt is, as the line of a note says it: the name and the hash of the key. ok is false if it is none, such as a stamp.
func cosigner(receipt string) (by string, ok bool) {
	_, err := note.Open([]byte("\n\n"+receipt), note.VerifierList())
	read, ok := errors.AsType[*note.UnverifiedNoteError](err)
	if !ok || len(read.Note.UnverifiedSigs) != 1 || cosign.Line(read.Note.UnverifiedSigs[0]) != receipt {
		return "", false
	}
	s := read.Note.UnverifiedSigs[0]
	return fmt.Sprintf("%s+%08x", s.Name, s.Hash), true
}

// proofMark is the first line of a tlog-proof.
const proofMark = "c2sp.org/tlog-proof@v1\n"

// ProofText returns the tlog-proof of an entry: its path in the tree, from the leaf to the root, and the head.
func ProofText(position int64, path tlog.RecordProof, head string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sindex %d\n", proofMark, position)
	for _, hash := range path {
		fmt.Fprintln(&b, hash)
	}
	return b.String() + "\n" + head
}

// maxPath is how many hashes a path in a tree has at most.
const maxPath = 63

// ParseProof reads a tlog-proof, and refuses one that ProofText would not write.
func ParseProof(text string) (position int64, path tlog.RecordProof, head string, err error) {
	lines, head, _ := strings.Cut(text, "\n\n")
	rest, marked := strings.CutPrefix(lines+"\n", proofMark+"index ")
	all := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
	if !marked || len(all) > 1+maxPath {
		return 0, nil, "", errors.New("it is not a tlog-proof")
	}
	if position, err = strconv.ParseInt(all[0], 10, 64); err != nil || position < 0 {
		return 0, nil, "", errors.New("it has no index")
	}
	for _, line := range all[1:] {
		hash, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(hash) != tlog.HashSize {
			return 0, nil, "", errors.New("its path is not of hashes")
		}
		path = append(path, tlog.Hash(hash))
	}
	if ProofText(position, path, head) != text {
		return 0, nil, "", errors.New("it is not in the form of a tlog-proof")
	}
	return position, path, head, nil
}

// Proven is what proofs say, once they are verified.
type Proven struct {
	Origin  string // of the log
	Key     string // that signed its head, as name+hash+base64
	Size    int64  // of the head
	Entries []Entry
	Signatures
	verified *keyring
}

// Cosignature says when a witness cosigned a head.
type Cosignature struct {
	Witness string    `json:"witness"` // its name in the policy
	At      time.Time `json:"at"`      // by its clock
}

// Admits returns the entry since which a sealer's key counts, as far as the entries that were proven say.
func (p *Proven) Admits(key string) (position int64, ok bool) {
	_, ok = p.verified.sealers[key]
	return p.verified.since[key], ok
}

// VerifyProofs verifies that entries are in one log, and signed by keys that counted there. The policy says which logs the caller trusts, and which witnesses
// must have cosigned the head; with none the log's own word is taken for its key. A log whose key was rotated is trusted if the policy has one of its keys: each
// of them signed which one follows. The error names what does not hold.
func VerifyProofs(policy *trust.Policy, proofs []Proof) (*Proven, error) {
	p := &Proven{verified: newKeyring()}
	for _, proof := range proofs {
		if err := p.take(proof); err != nil {
			return nil, fmt.Errorf("entry %d: %w", proof.Position, err)
		}
	}
	if len(proofs) == 0 {
		return nil, errors.New("there is no entry")
	}
	if err := p.under(policy, proofs); err != nil {
		return nil, err
	}
	return p, nil
}

// take verifies the signature of the next entry.
func (p *Proven) take(proof Proof) error {
	s, by, err := read(proof.Entry)
	if err != nil {
		return err
	}
	leaf := tlog.RecordHash([]byte(proof.Entry))
	_, err = p.verified.take(landscape.LogEntry{Position: proof.Position, About: s.about(), Entry: proof.Entry, Leaf: leaf[:]})
	p.Entries = append(p.Entries, Entry{Position: proof.Position, Statement: s, By: by})
	return err
}

// under verifies that the entries, which were taken, are under one head of a log that a policy trusts.
func (p *Proven) under(policy *trust.Policy, proofs []Proof) error {
	known := p.verified.log
	if err := trusts(policy, known); err != nil {
		return err
	}
	var head Head
	var shared string
	for i, proof := range proofs {
		position, path, text, err := ParseProof(proof.Text)
		if err != nil {
			return fmt.Errorf("the proof of entry %d: %w", proof.Position, err)
		}
		if i == 0 {
			if head, p.Signatures, err = openCosigned(text, known, policy); err != nil {
				return fmt.Errorf("the head of the log: %w", err)
			}
			shared = text
		}
		if position != proof.Position || text != shared {
			return fmt.Errorf("the proof of entry %d is of another entry, or under another head", proof.Position)
		}
		if err := tlog.CheckRecord(path, head.Size, head.Root, position, tlog.RecordHash([]byte(proof.Entry))); err != nil {
			return fmt.Errorf("entry %d is not in the log: %w", position, err)
		}
	}
	p.Origin, p.Key, p.Size = known.origin(), known.at(head.Size).vkey, head.Size
	return nil
}
