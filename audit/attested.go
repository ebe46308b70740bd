package audit

import (
	"context"
	"fmt"
	"slices"

	"waymark/landscape"
	"waymark/plugin"
)

// attested says what the newest attestation found of the output of a sink, and of one of its lines if it names that; "" if nobody looked.
func (i *explaining) attested(ctx context.Context, sink string, line int64) (string, error) {
	all, err := i.log.Attestations(ctx, i.run.ID)
	if err != nil {
		return "", err
	}
	for _, a := range slices.Backward(all) {
		if a.Sink != sink {
			continue
		}
		said := TellAttestation(all, a)
		findings, err := a.Found()
		for _, f := range findings {
			if f.Line == line {
				said += "; of this row: " + f.Why
			}
		}
		return said, err
	}
	return "", nil
}

// TellAttestation says in a sentence what an attestation found, and if the output was changed, since when, as all attestations of the run say.
func TellAttestation(all []landscape.Attestation, a landscape.Attestation) string {
	said := fmt.Sprintf("%s at %s", a.Result, momentOf(a.At))
	if !a.Whole() {
		said += ", by a sample"
	}
	switch a.Result {
	case plugin.Replaced:
		said += ": by run " + a.ReplacedBy
	case plugin.Changed, plugin.Missing:
		seen := landscape.LastSeenEqual(all, a.Sink, a.Seq)
		if seen.Equal != 0 {
			said += ", equal at " + momentOf(seen.Equal)
		}
		if _, first := landscape.FoundSo(all, a); first != a.At {
			said += ", first found so at " + momentOf(first)
		}
		if seen.Other != 0 {
			said += ", not equal since " + momentOf(seen.Other)
		}
	case plugin.AsWritten, plugin.NotKnown:
	}
	return said
}

// momentOf writes a moment for people, with the day of the week.
func momentOf(at landscape.Micros) string {
	return at.Time().UTC().Format("Mon 2006-01-02 15:04:05 MST")
}
