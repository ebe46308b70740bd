package persons

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"waymark/landscape"
)

// SignOff is what a person signed about a run.
type SignOff struct {
	Name      string   `json:"name"`   // printed, of the person
	Person    string   `json:"person"` // as the approvers file names the person
	Role      string   `json:"role"`
	Meaning   string   `json:"meaning"`
	At        string   `json:"at"` // in UTC, by the clock of the machine where it was signed
	Seal      int64    `json:"seal"`
	Root      string   `json:"root"`               // of that seal, in hex: what was signed
	Key       string   `json:"key"`                // its fingerprint
	Approvers string   `json:"approvers"`          // SHA-256 of the approvers file of then
	Since     []string `json:"since,omitempty"`    // what became of the run afterwards, which the signature says nothing of
	OwnWord   bool     `json:"own_word,omitempty"` // no approvers file was looked at: whose key it is, only the line says that is recorded with the signature
	Note      string   `json:"note,omitempty"`
	Problem   string   `json:"problem,omitempty"`    // why it does not count; empty if it does
	NoRelease string   `json:"no_release,omitempty"` // why it does not help the run to publish its outputs; empty if it does, if that needs no sign-off, or with a Problem
}

// String tells it in one line.
func (s SignOff) String() string {
	line := fmt.Sprintf("%s (%s) as %s at %s: %s", s.Name, s.Person, s.Role, s.At, s.Meaning)
	if s.OwnWord {
		line += "; by its own word: no approvers file here says whose key that is"
	}
	if len(s.Since) > 0 {
		line += fmt.Sprintf("; of root %.8s…, before %s", s.Root, strings.Join(s.Since, ", "))
	}
	switch {
	case s.Problem != "":
		line += "; DOES NOT COUNT: " + s.Problem
	case s.NoRelease != "":
		line += "; does not count for the release: " + s.NoRelease
	}
	return line
}

// Releases reports whether it helps the run to publish its outputs, as far as that needs sign-offs.
func (s SignOff) Releases() bool { return s.Problem == "" && s.NoRelease == "" }

// Signed is what people signed about a run, the oldest first; nil slices if nobody did.
type Signed struct {
	Records []landscape.SignOff
	Looked  []SignOff // each of the records, as Look finds it
	Seals   []landscape.RunSeal
}

// LookAtRun looks at all that people signed about a run, as Look does.
func LookAtRun(ctx context.Context, log *landscape.Reader, run string, approvers *Approvers) (s Signed, err error) {
	if s.Records, err = log.SignOffs(ctx, run); err != nil || s.Records == nil {
		return s, err
	}
	if s.Seals, err = log.RunSeals(ctx, run); err != nil {
		return s, err
	}
	outputs, err := landscape.Select[landscape.ArtifactRecord](ctx, log, run)
	if err != nil {
		return s, err
	}
	for _, record := range s.Records {
		s.Looked = append(s.Looked, Look(record, s.Seals, outputs, approvers))
	}
	return s, nil
}

// Look verifies a sign-off as VerifySignOff does, and compares it with the approvers of now, unless that is nil. What is wrong is in Problem.
func Look(record landscape.SignOff, seals []landscape.RunSeal, outputs []landscape.ArtifactRecord, approvers *Approvers) SignOff {
	v, err := VerifySignOff(record, seals, outputs)
	one := SignOff{
		Name: v.Name, Person: record.Person, Role: record.Role, Meaning: v.Meaning, At: record.At.Time().UTC().Format("2006-01-02 15:04:05 MST"),
		Seal: record.Seal, Root: v.Root, Approvers: v.Approvers,
	}
	if v.Key != nil {
		one.Key = ssh.FingerprintSHA256(v.Key)
	}
	one.OwnWord = approvers == nil
	if err == nil && approvers != nil {
		var changed bool
		if changed, err = v.AllowedBy(approvers); changed {
			one.Note = fmt.Sprintf("the approvers file was another one when %s signed: SHA-256 %.12s…, and now %.12s…", v.Person, v.Approvers, approvers.SHA256)
		}
	}
	if err != nil {
		one.Problem = err.Error()
	}
	return one
}
