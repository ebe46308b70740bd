package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"waymark/audit/evidence"
	"waymark/audit/evidence/strictzip"
	"waymark/audit/evidence/trust"
	"waymark/internal/strictjson"
	"waymark/landscape"
	"waymark/landscape/history"
	"waymark/landscape/persons"
)

// checks, in order. Names are stored in reports; never rename one.
var checks = []struct {
	Check
	do func(*verification) error
}{
	{Check{Name: "form", Proves: "the file is a zip in the one strict form, so nothing is hidden in it", Not: "anything about its content"}, (*verification).form},
	{Check{Name: "statement", Proves: "who signed this bundle, and which run it is about", Not: "that the record was true when it was exported"}, (*verification).statement},
	{Check{Name: "members", Proves: "no bit of any member has changed since the export, and no member is missing or added", Not: "that what was not exported does not exist"}, (*verification).membersAre},
	{Check{Name: "log", Proves: "the run began before the head of the log was signed, the witnesses that the policy requires cosigned that head, and the log accepted the keys that signed the bundle and the run's entry", Not: "that the head is the newest, or that no key was revoked later"}, (*verification).inLog},
	{Check{Name: "seal", Proves: "the last seal of the run's records is the one that the log has an entry about, unless a gap says that there is none", Not: "that the records are those that were sealed"}, (*verification).sealIsLogged},
	{Check{Name: "document", Proves: "the document and the plan have the digests that the run's record and the signed statement name", Not: "that the document is correct"}, (*verification).document},
	{Check{Name: "records", Proves: "the records of the run and of each of its rows are those that were sealed: none was changed, added or removed since, as far as they are not redacted; and attestations are what the log has entries about", Not: "that they follow from what the source held"}, (*verification).recordsAreSealed},
	{Check{Name: "account", Proves: "where the rows went, the results of policies and the outputs are in the signed statement as they follow from the records", Not: "that a policy's assertion is true: nothing evaluates it here"}, (*verification).statementFollows},
	{Check{Name: "sign-offs", Proves: "each person's key signed the root of one of the run's seals and the digests of its outputs, and the log has an entry about each signature, unless a gap says that there is none", Not: "that a key is that of the person: the line of the approvers file that is recorded says so, or the file of --approvers"}, (*verification).signOffsHold},
	{Check{Name: "approvals", Proves: "each signature under an approval request about the run holds, nobody signed one twice, as many signed it as its execution says, and the log has entries about all this, unless a gap says that there are none", Not: "that a key is that of the person, as for sign-offs; or that two keys are two people"}, (*verification).ordersHold},
	{Check{Name: "history", Proves: "the events follow from the records, and the snapshot is what the events add up to", Not: "that the records are true"}, (*verification).historyFollows},
	{Check{Name: "payloads", Proves: "each payload is the bytes whose SHA-256 is its name", Not: "that the source told the truth"}, (*verification).payloadsAre},
	{Check{Name: "artifacts", Proves: "each output in the bundle is what the run published, none is missing without a gap that says why, and the rows of CSV and JSON Lines fit the schema on record", Not: "that the place where it was published still holds it"}, (*verification).artifactsAre},
}

// Verify verifies a bundle of that many bytes. The policy says which logs and witnesses the caller trusts; without one it takes the
// key of the log that the bundle itself names, and the report says so. The approvers say whose keys may sign off a run and sign orders; without them it takes
// the line that is recorded with each signature. The error says that the file could not be read; what is wrong with it
// is in the report.
func Verify(file io.ReaderAt, size int64, policy *trust.Policy, approvers *persons.Approvers) (*Report, error) {
	from := &failing{ReaderAt: file}
	v := newVerification(from, size)
	v.policy, v.approvers = policy, approvers
	defer v.records.Close() //nolint:errcheck // a file without a name
	for _, check := range checks {
		problem := check.do(v)
		if from.err != nil {
			return nil, fmt.Errorf("read the bundle: %w", from.err)
		}
		if lost, ok := errors.AsType[*fs.PathError](problem); ok {
			return nil, fmt.Errorf("a file for the records of the bundle: %w", lost)
		}
		check.OK = problem == nil
		v.Checks = append(v.Checks, check.Check)
		if problem != nil {
			v.Problem = fmt.Sprintf("%s: %v", check.Name, problem)
			break
		}
	}
	return v.Report, nil
}

// failing remembers that the file could not be read, which says nothing of the bundle.
type failing struct {
	io.ReaderAt
	err error
}

func (f *failing) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// Records are the records of the run that a bundle is about.
type Records struct {
	landscape.ArchivedRecords
	close func() error
}

// Close ends what Open began.
func (r *Records) Close() error { return r.close() }

// Open returns the records in a bundle of that many bytes. It requires that the bundle has its form, and that its members are those that its signature covers; whose
// signature that is, and whether the records are those that were sealed, Verify says. Close them.
func Open(file io.ReaderAt, size int64) (*Records, error) {
	v := newVerification(file, size)
	for _, check := range []func() error{v.form, v.statement, v.membersAre, func() error { return v.badTable }, v.records.index} {
		if err := check(); err != nil {
			return nil, errors.Join(err, v.records.Close())
		}
	}
	return &Records{v.records, v.records.Close}, nil
}

func newVerification(file io.ReaderAt, size int64) *verification {
	return &verification{
		file: file, size: size, entriesOf: map[int64]evidence.Entry{}, kept: map[string][]byte{}, digests: map[string]string{}, events: history.NewDerivation(), records: newRecords(),
		Report: &Report{Gaps: []Gap{}, Redacted: []Redaction{}, Cosigned: []evidence.Cosignature{}},
	}
}

type verification struct {
	*Report
	file   io.ReaderAt
	size   int64
	policy *trust.Policy

	approvers *persons.Approvers       // nil for those that are recorded
	entriesOf map[int64]evidence.Entry // about sign-offs of the run, by number

	zip      *strictzip.Reader
	signed   Statement
	manifest Manifest
	kept     map[string][]byte // members that later checks read
	sealed   *evidence.Entry   // about the seal of the run; nil if there is none
	attested []evidence.Entry  // about what was found of its outputs
	ordered  []evidence.Entry  // about approval requests about it
	badName  string            // a payload that is not what its name says
	digests  map[string]string // of all members, by name
	events   *history.Derivation
	badLine  error // of a record from which events should follow
	records  *records
	badTable error // the first table that is not one

	badOutput string // an output that is not what its name says
}

// form reads the zip.
func (v *verification) form() (err error) {
	if v.zip, err = strictzip.NewReader(v.file, v.size); err != nil {
		return err
	}
	members := v.zip.Members()
	n := len(members)
	v.Members = n
	if n < 3 || members[0].Name != mimeName || members[n-2].Name != manifestName || members[n-1].Name != envelopeName {
		return fmt.Errorf("it is not a bundle: its first member is not %s, or the last two are not %s and %s", mimeName, manifestName, envelopeName)
	}
	if !slices.IsSortedFunc(members[1:n-2], func(a, b strictzip.Member) int { return strings.Compare(a.Name, b.Name) }) {
		return errors.New("its members are not sorted")
	}
	for _, m := range members {
		if m.Stored != stored(m.Name) {
			return fmt.Errorf("%s: method is not the one that its name requires", m.Name)
		}
	}
	return nil
}

// Limits of members that are read whole.
const (
	maxText   = 64 << 20 // the manifest of 100,000 members
	maxRecord = 16 << 20 // the record of a run: its document has 1 MiB at most
	maxEntry  = 1 << 10
	maxProof  = 64 << 10
)

// whole returns the content of one member.
func (v *verification) whole(m strictzip.Member, limit uint64) (content []byte, err error) {
	if m.Size > limit {
		return nil, fmt.Errorf("%s: %d bytes are too many", m.Name, m.Size)
	}
	_, err = v.zip.Read(m, func(r io.Reader) (err error) {
		content, err = io.ReadAll(r)
		return err
	})
	if err != nil && !strings.HasPrefix(err.Error(), m.Name) {
		err = fmt.Errorf("%s: %w", m.Name, err)
	}
	return content, err
}

func (v *verification) statement() error {
	members := v.zip.Members()
	text, err := v.whole(members[len(members)-1], maxText)
	if err != nil {
		return err
	}
	if v.signed, v.SignedBy, err = open(text); err != nil {
		return fmt.Errorf("%s: %w", envelopeName, err)
	}
	v.Run, v.Pipeline, v.Status = v.signed.Predicate.Run, v.signed.Predicate.Pipeline, v.signed.Predicate.Status
	manifest, err := v.whole(members[len(members)-2], maxText)
	if err != nil {
		return err
	}
	if digest := digestOf(manifest); digest != v.signed.Subject[0].Digest.SHA256 {
		return fmt.Errorf("%s: its SHA-256 is %s, not the %s that was signed", manifestName, digest, v.signed.Subject[0].Digest.SHA256)
	}
	if v.manifest, err = strictjson.Decode[Manifest](manifest); err == nil && v.manifest.Bundle != formVersion {
		err = fmt.Errorf("it has version %d, and this program reads version %d", v.manifest.Bundle, formVersion)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", manifestName, err)
	}
	v.Payloads = v.manifest.Payloads
	v.Gaps = append(v.Gaps, v.manifest.Gaps...)
	v.Redacted = append(v.Redacted, v.manifest.Redactions...)
	return nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// membersAre reads every member as a stream, and keeps those that later checks read.
func (v *verification) membersAre() error {
	members := v.zip.Members()
	members = members[:len(members)-2]
	for i, m := range members {
		if i >= len(v.manifest.Members) || v.manifest.Members[i].Name != m.Name {
			return fmt.Errorf("%s: it is not the next member of the manifest", m.Name)
		}
		if err := v.member(m, v.manifest.Members[i]); err != nil {
			return err
		}
	}
	if missing := v.manifest.Members[len(members):]; len(missing) > 0 {
		return fmt.Errorf("%s: the manifest lists it, but the bundle does not contain it", missing[0].Name)
	}
	return nil
}

func (v *verification) member(m strictzip.Member, want Member) error {
	limit := keepsUpTo(m.Name)
	if limit > 0 && m.Size > limit {
		return fmt.Errorf("%s: %d bytes are too many", m.Name, m.Size)
	}
	var kept bytes.Buffer
	d, err := v.zip.Read(m, func(r io.Reader) error {
		if limit > 0 {
			r = io.TeeReader(r, &kept)
		}
		if table, ok := strings.CutPrefix(strings.TrimSuffix(m.Name, recordSuffix), recordFolder); ok {
			v.table(table, r)
		}
		_, err := io.Copy(io.Discard, r)
		return err
	})
	content := hex.EncodeToString(d.Content[:])
	switch {
	case err != nil && !strings.HasPrefix(err.Error(), m.Name):
		return fmt.Errorf("%s: %w", m.Name, err)
	case err != nil:
		return err
	case m.Size != want.Bytes:
		return fmt.Errorf("%s: it has %d bytes, not %d", m.Name, m.Size, want.Bytes)
	case content != want.SHA256:
		return fmt.Errorf("%s: its SHA-256 is not that of the manifest", m.Name)
	case hex.EncodeToString(d.Packed[:]) != want.Packed:
		return fmt.Errorf("%s: its bytes in the zip are not those of the manifest", m.Name)
	}
	v.digests[m.Name] = content
	if limit > 0 {
		v.kept[m.Name] = kept.Bytes()
	}
	if strings.HasPrefix(m.Name, packFolder) && m.Name != packName(content) && v.badName == "" {
		v.badName = m.Name
	}
	if strings.HasPrefix(m.Name, artifactFolder) && m.Name != artifactName(content) && v.badOutput == "" {
		v.badOutput = m.Name
	}
	return nil
}

// keepsUpTo returns how long a member may be that later checks read; 0 if none does.
func keepsUpTo(name string) uint64 {
	switch {
	case name == runsName:
		return maxRecord
	case name == sealsName:
		return maxText
	case strings.HasSuffix(name, ".entry"):
		return maxEntry
	case strings.HasSuffix(name, ".proof"):
		return maxProof
	}
	return 0
}

// inLog verifies the entries of the log.
func (v *verification) inLog() error {
	proofs, err := v.proofs()
	if err != nil {
		return err
	}
	if len(proofs) == 0 {
		if v.policy != nil || !v.manifest.lacks(logGap) {
			return errors.New("the bundle contains no log entry: nothing vouches for the key that signed it")
		}
		return nil
	}
	proven, err := evidence.VerifyProofs(v.policy, proofs)
	if err != nil {
		return err
	}
	v.Log, v.Trusted, v.Cosigned, v.Quantum = proven.Origin, v.policy != nil, proven.Cosigned, proven.Quantum
	if _, ok := proven.Admits(v.SignedBy); !ok {
		return fmt.Errorf("the key that signed the bundle does not count in the log %s: %s", proven.Origin, v.SignedBy)
	}
	return v.entries(proven.Entries)
}

// entries finds the entries about the run.
func (v *verification) entries(all []evidence.Entry) error {
	began := false
	for _, e := range all {
		switch {
		case e.Type == evidence.Attested:
			v.attested = append(v.attested, e)
		case e.Type == evidence.Requested || e.Type == evidence.Approved || e.Type == evidence.Executed:
			v.ordered = append(v.ordered, e)
		case e.Type == evidence.SignedOff && e.Run == v.Run:
			v.entriesOf[e.SignOff] = e
		case e.Type == evidence.SignedOff:
			return fmt.Errorf("entry %d is about a sign-off of another run", e.Position)
		case e.Type != evidence.Began && e.Type != evidence.Sealed:
			continue
		case e.Run != v.Run || e.Pipeline != v.Pipeline || e.Type == evidence.Began && e.Document != v.signed.Predicate.Document:
			return fmt.Errorf("entry %d is about another run, pipeline or document", e.Position)
		case e.Type == evidence.Sealed:
			v.sealed = &e
		default:
			began = true
		}
	}
	if !began {
		return errors.New("no entry says that the run began")
	}
	return nil
}

// proofs are what is in the folder of the log.
func (v *verification) proofs() (proofs []evidence.Proof, err error) {
	for name := range v.kept {
		if !strings.HasSuffix(name, ".entry") {
			continue
		}
		var position int64
		if _, err := fmt.Sscanf(name, logFolder+"%d.entry", &position); err != nil || entryName(position) != name {
			return nil, fmt.Errorf("%s: it does not have the name of an entry", name)
		}
		proof, ok := v.kept[proofName(position)]
		if !ok {
			return nil, fmt.Errorf("%s: its proof is missing", name)
		}
		proofs = append(proofs, evidence.Proof{Position: position, Entry: string(v.kept[name]), Text: string(proof)})
	}
	slices.SortFunc(proofs, func(a, b evidence.Proof) int { return int(a.Position - b.Position) })
	return proofs, nil
}

// document compares the record of the run with the statement.
func (v *verification) document() error {
	const name = runsName
	var run struct {
		Table          string `json:"table"`
		ID             string `json:"run_id"`
		Pipeline       string `json:"pipeline"`
		Status         string `json:"status"`
		Document       string `json:"document"`
		DocumentSHA256 string `json:"document_sha256"`
		Plan           string `json:"plan"`
		PlanSHA256     string `json:"plan_sha256"`
	}
	if err := json.Unmarshal(v.kept[name], &run); err != nil {
		return fmt.Errorf("%s: it is not the record of one run: %w", name, err)
	}
	said := v.signed.Predicate
	switch {
	case run.Table != "runs" || run.ID != said.Run || run.Pipeline != said.Pipeline || run.Status != said.Status:
		return fmt.Errorf("%s: it is about another run than the statement", name)
	case run.DocumentSHA256 != said.Document || digestOf([]byte(run.Document)) != said.Document:
		return fmt.Errorf("%s: the SHA-256 of the document is not %s", name, said.Document)
	case run.PlanSHA256 != said.Plan || digestOf([]byte(run.Plan)) != said.Plan:
		return fmt.Errorf("%s: the SHA-256 of the plan is not %s", name, said.Plan)
	}
	return nil
}

func (v *verification) payloadsAre() error {
	if v.badName != "" {
		return fmt.Errorf("%s: its SHA-256 is not its name", v.badName)
	}
	return nil
}
