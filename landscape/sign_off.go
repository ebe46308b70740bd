package landscape

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/pipeline"
)

// SignOff is what a person signed about a run that ended. Package persons says what is in its statement, and verifies the signature.
type SignOff struct {
	Run       string `db:"run_id,key"`
	Seq       int64  `db:"seq,key"` // from 0; set by Log
	Seal      int64  `db:"seal"`    // the number of the run's seal whose root was signed
	Person    string `db:"person"`  // as the approvers file names the person
	Role      string `db:"role"`    // in which the person signed
	Statement string `db:"statement"`
	Signature string `db:"signature"` // of the statement, in the form of ssh-keygen -Y sign
	Approver  string `db:"approver"`  // the line of the approvers file that let the key sign
	At        Micros `db:"at_us"`     // as the statement says
}

// Table returns sign_offs.
func (SignOff) Table() string { return "sign_offs" }

// Errors of SignOff.
var (
	ErrSignedOff = errors.New("the person has signed off the run in this role")
	ErrResealed  = errors.New("the run is not as it was when its root was signed")
)

// SignOffs returns what people signed about a run, the oldest first; nil if nobody did.
func (r *Reader) SignOffs(ctx context.Context, run string) ([]SignOff, error) {
	return Select[SignOff](ctx, r.from, run)
}

// MaySignOff says why a person cannot sign a seal of a run in a role; nil if the person can. The error wraps ErrSignedOff if the person has done so, and ErrResealed
// if the run is running or that is not its last seal. void are the numbers of earlier sign-offs that do not count: they are in nobody's way.
func (r *Reader) MaySignOff(ctx context.Context, s SignOff, void ...int64) error {
	head, err := get[runEnd](ctx, r.from, s.Run)
	if err != nil {
		return err
	}
	last, err := r.LastSeal(ctx, s.Run)
	if err != nil {
		return err
	}
	if head.Status == pipeline.Running || last.Seq != s.Seal {
		return fmt.Errorf("run %s: seal %d: %w", s.Run, s.Seal, ErrResealed)
	}
	before, err := r.SignOffs(ctx, s.Run)
	for _, other := range before {
		if other.Seal == s.Seal && other.Person == s.Person && other.Role == s.Role && !slices.Contains(void, other.Seq) {
			return fmt.Errorf("run %s: %s as %s, %s: %w", s.Run, s.Person, s.Role, other.At.Time().UTC().Format("2006-01-02 15:04:05 MST"), ErrSignedOff)
		}
	}
	return err
}

// RecordSignOff records that a person signed off a run, with the entry that says so; Seq is set. void and the errors are those of MaySignOff.
func (l *Log) RecordSignOff(ctx context.Context, s SignOff, void ...int64) (SignOff, error) {
	err := settle(s.Table(), func() error {
		if err := l.MaySignOff(ctx, s, void...); err != nil {
			return err
		}
		before, err := l.SignOffs(ctx, s.Run)
		if err != nil {
			return err
		}
		s.Seq = int64(len(before))
		tx := Tx{Insert: []Record{s}}
		if l.sealer != nil {
			entry, err := l.sealer.SignedOff(s)
			if err != nil {
				return err
			}
			tx.Append = []LogEntry{entry}
		}
		return l.driver.Commit(ctx, tx)
	})
	return s, err
}
