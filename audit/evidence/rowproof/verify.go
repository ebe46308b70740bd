package rowproof

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence"
	"waymark/audit/evidence/trust"
	"waymark/landscape/seal"
)

// Report is what a proof proves.
type Report struct {
	Run      string   `json:"run,omitempty"`
	Pipeline string   `json:"pipeline,omitempty"`
	Status   string   `json:"status,omitempty"`
	Source   string   `json:"source,omitempty"`
	Row      int64    `json:"row,omitempty"`
	SHA256   string   `json:"sha256,omitempty"` // of the record as read
	Ways     []Way    `json:"ways"`             // that the row and its copies took; empty, not nil, if there is none
	Refusals int      `json:"refusals"`         // how often a node refused it or a copy of it
	Fields   []Field  `json:"fields,omitempty"` // that are shown; nil if the proof is of the whole row
	Hidden   int64    `json:"hidden,omitempty"` // other fields of the row that could be shown; only who made the proof says so
	Sealed   string   `json:"sealed,omitempty"` // when the run was sealed
	Late     bool     `json:"late"`             // that was not when it ended: nothing is proven of the time before
	Log      string   `json:"log,omitempty"`    // its name
	Trusted  bool     `json:"trusted"`          // the policy trusts the key of the log
	Checks   []string `json:"checks"`           // that hold, in order

	Cosigned []evidence.Cosignature `json:"cosigned"` // that the policy's witnesses put under the head of the log; empty, not nil, if there are none

	Quantum string `json:"post_quantum,omitempty"` // the log's key of ML-DSA-44, as name+hash, that signed the head, if the policy has it

	Problem string `json:"problem,omitempty"`
}

// Way is where a row went.
type Way struct {
	Signature string `json:"signature"`
	Outcome   string `json:"outcome"`
	Path      string `json:"path"`
	Sink      string `json:"sink"`
}

// Verify verifies a proof. The policy says which logs and witnesses the caller trusts; without one the proof's own word is taken for the key of the log, and
// the report says so. record is the record as read, to compare; nil for none.
func Verify(text []byte, policy *trust.Policy, record []byte) *Report {
	v := &verification{Report: &Report{Ways: []Way{}, Checks: []string{}, Cosigned: []evidence.Cosignature{}}, text: text, policy: policy}
	for _, check := range []struct {
		name string
		do   func() error
	}{
		{"form", v.form}, {"log", v.log}, {"run", v.run}, {"chunk", v.chunk}, {"fields", v.fields}, {"ways", v.ways}, {"record", func() error { return v.record(record) }},
	} {
		if check.name == "record" && record == nil || v.proof != nil && v.proof.leavesOut(check.name) {
			continue
		}
		if err := check.do(); err != nil {
			v.Problem = fmt.Sprintf("%s: %v", check.name, err)
			break
		}
		v.Checks = append(v.Checks, check.name)
	}
	return v.Report
}

type verification struct {
	*Report
	text   []byte
	policy *trust.Policy
	proof  *Proof
	body   *seal.Body
	root   tlog.Hash // of the run
	leaves int64     // of its tree
}

// form reads the file.
func (v *verification) form() (err error) {
	if v.proof, err = Parse(v.text); err != nil {
		return err
	}
	if v.proof.Fields != nil {
		return v.proof.fieldsForm()
	}
	if v.body, err = seal.ParseBody(v.proof.Body); err == nil && len(v.proof.Records) != 1+len(v.wayIDs()) {
		err = errors.New("it does not have a record for the chunk and for each way, and no others")
	}
	return err
}

// wayIDs are the ways that the body names, sorted, each once.
func (v *verification) wayIDs() (ids []string) {
	for _, way := range v.body.Ways {
		ids = append(ids, way.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// log verifies the entries.
func (v *verification) log() error {
	var proofs []evidence.Proof
	for i, e := range v.proof.Entries {
		if i > 0 && e.Index <= v.proof.Entries[i-1].Index {
			return errors.New("its entries are not in order")
		}
		p, err := e.proof(v.proof.Head)
		if err != nil {
			return err
		}
		proofs = append(proofs, p)
	}
	proven, err := evidence.VerifyProofs(v.policy, proofs)
	if err != nil {
		return err
	}
	entries := slices.Clone(proven.Entries)
	for len(entries) > 1 && entries[len(entries)-1].Type == evidence.Rotated {
		entries = entries[:len(entries)-1]
	}
	last := entries[len(entries)-1]
	root, err := hex.DecodeString(last.Root)
	if last.Type != evidence.Sealed || err != nil || len(root) != tlog.HashSize {
		return fmt.Errorf("entry %d is not about the seal of a run", last.Position)
	}
	v.root, v.leaves = tlog.Hash(root), last.Leaves
	v.Run, v.Pipeline, v.Status, v.Sealed, v.Late = last.Run, last.Pipeline, last.Status, last.At, last.Late
	v.Log, v.Trusted, v.Cosigned, v.Quantum = proven.Origin, v.policy != nil, proven.Cosigned, proven.Quantum
	return nil
}

// run verifies that the records are those of the run.
func (v *verification) run() error {
	for _, r := range v.proof.Records {
		var of struct {
			Run string `json:"run_id"`
		}
		if err := json.Unmarshal([]byte(r.Line), &of); err != nil || of.Run != v.Run {
			return errors.New("a record is not one of the run")
		}
		if r.Leaves != v.leaves {
			return errors.New("a record is in another tree")
		}
		if err := r.check([]byte(r.Line), v.root); err != nil {
			return fmt.Errorf("a record is not under the run's root: %w", err)
		}
	}
	return nil
}

// chunk verifies that the row is in the chunk.
func (v *verification) chunk() error {
	var chunk struct{ Table, Source, Root string }
	if err := json.Unmarshal([]byte(v.proof.Records[0].Line), &chunk); err != nil || chunk.Table != "chunk_seals" {
		return errors.New("the first record is not the seal of a chunk")
	}
	root, err := hashOf(chunk.Root)
	if err != nil {
		return fmt.Errorf("its seal: %w", err)
	}
	v.Source = chunk.Source
	if v.proof.Fields != nil {
		return v.fieldsRoot(root)
	}
	if err := v.proof.Row.checkRow(v.proof.Body, root); err != nil {
		return fmt.Errorf("the row is not under the chunk's root: %w", err)
	}
	v.Row, v.SHA256, v.Refusals = v.body.Row, hex.EncodeToString(v.body.SHA256[:]), len(v.body.Errors)
	return nil
}

// fieldsRoot verifies that the tree over the fields is that of a row in the chunk.
func (v *verification) fieldsRoot(chunk tlog.Hash) error {
	root, err := hashOf(v.proof.Root)
	if err == nil {
		err = v.proof.Row.checkFields(root, chunk)
	}
	if err != nil {
		err = fmt.Errorf("the root of the row's fields is not under the chunk's root: %w", err)
	}
	return err
}

// hashOf reads a root.
func hashOf(text string) (tlog.Hash, error) {
	root, err := hex.DecodeString(text)
	if err != nil || len(root) != tlog.HashSize || hex.EncodeToString(root) != text {
		return tlog.Hash{}, errors.New("it has no root of 64 hex digits")
	}
	return tlog.Hash(root), nil
}

// ways verifies that the ways are those that the body names.
func (v *verification) ways() error {
	for i, id := range v.wayIDs() {
		var way struct{ Table, Way, Signature, Outcome, Path, Sink string }
		if err := json.Unmarshal([]byte(v.proof.Records[1+i].Line), &way); err != nil || way.Table != "ways" || way.Way != id {
			return fmt.Errorf("record %d is not the way %s, which the row took", 1+i, id)
		}
		v.Ways = append(v.Ways, Way{way.Signature, way.Outcome, way.Path, way.Sink})
	}
	return nil
}

// record compares the record with the hash of it that was recorded.
func (v *verification) record(record []byte) error {
	if v.body == nil {
		return errors.New("a proof of fields does not have the SHA-256 of the record: ask for one of the whole row")
	}
	if sum := sha256.Sum256(record); sum != v.body.SHA256 {
		return fmt.Errorf("its SHA-256 is %x, and %s was recorded", sum, v.SHA256)
	}
	return nil
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "ok        %s\n", strings.Join(r.Checks, ", "))
	if r.Problem != "" {
		fmt.Fprintf(&b, "NOT verified: %s\n", r.Problem)
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "row       %d of %s, in run %s of %s, %s\n", r.Row, r.Source, r.Run, r.Pipeline, r.Status)
	r.writeShown(&b)
	fmt.Fprintf(&b, "log       %s\n", r.Log)
	for _, c := range r.Cosigned {
		fmt.Fprintf(&b, "witness   %s cosigned the head of the log, %s\n", c.Witness, c.At.Format(time.RFC3339))
	}
	if r.Quantum != "" {
		fmt.Fprintf(&b, "quantum   %s, a post-quantum key, signed the head of the log\n", r.Quantum)
	}
	fmt.Fprintf(&b, "\n%s: %s\n", r.verdict(), r.proves())
	_, err := io.WriteString(w, b.String())
	return err
}

// writeShown writes what is shown of the row.
func (r *Report) writeShown(b *strings.Builder) {
	if r.Fields == nil {
		fmt.Fprintf(b, "record    SHA-256 %s\n", r.SHA256)
		for _, way := range r.Ways {
			fmt.Fprintf(b, "way       %s\n", way.Signature)
		}
		fmt.Fprintf(b, "refusals  %d\n", r.Refusals)
		return
	}
	for _, f := range r.Fields {
		fmt.Fprintf(b, "shown     %s = %s  at sink %s\n", escaped(f.Name), escaped(string(f.Value)), f.Sink)
	}
	fmt.Fprintf(b, "hidden    other fields of the row there, says who made the proof: %d; and everything else that is recorded of it\n", r.Hidden)
}

// escaped returns a text that a terminal prints as it is.
func escaped(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

func (r *Report) verdict() string {
	if r.Trusted {
		return "verified"
	}
	return "verified by its own word: no trust policy says which key the log has"
}

// proves says what a proof that holds proves, and what not.
func (r *Report) proves() string {
	this := "this was recorded of the row"
	if r.Fields != nil {
		this = "with these values the sink got the row: so it was recorded"
	}
	since := this + " when the run was sealed, " + r.Sealed
	if r.Late {
		since = this + " on " + r.Sealed + ", when the run was sealed late"
	}
	return since + ", and was not changed since. Not proven: that the source held the record, or that the steps are right"
}
