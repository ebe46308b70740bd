package evidence

import (
	"context"

	"waymark/landscape"
)

// attested is what an entry says of attestations of one number.
func attested(found []landscape.Attestation) Statement {
	return Statement{
		Type: Attested, At: found[0].At.Time().UTC().Format(moment), Run: found[0].Run, Look: found[0].Seq,
		Records: landscape.AttestationDigest(found), Result: landscape.WorstResult(found),
	}
}

// Attests reports whether a statement is about attestations of one number, and says what is recorded of them.
func (s Statement) Attests(found []landscape.Attestation) bool {
	want := attested(found)
	want.N, want.V = s.N, s.V
	return s == want
}

// EntryOfAttestations returns the position of the entry about attestations of one number. The error wraps landscape.ErrNotFound if there is none. Nothing is
// verified.
func EntryOfAttestations(ctx context.Context, log *landscape.Reader, found []landscape.Attestation) (position int64, err error) {
	e, err := log.LogEntryAbout(ctx, attested(found).about())
	return e.Position, err
}

// ByNumber divides attestations of a run into those of one number.
func ByNumber(of []landscape.Attestation) (looks [][]landscape.Attestation) {
	for _, a := range of {
		if n := len(looks); n > 0 && looks[n-1][0].Seq == a.Seq {
			looks[n-1] = append(looks[n-1], a)
		} else {
			looks = append(looks, []landscape.Attestation{a})
		}
	}
	return looks
}
