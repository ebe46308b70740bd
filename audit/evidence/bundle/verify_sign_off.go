package bundle

import (
	"context"
	"fmt"

	"waymark/landscape"
	"waymark/landscape/persons"
)

// signOffsHold verifies what people signed about the run, and compares it with the entries of the log.
func (v *verification) signOffsHold() error {
	signed, err := persons.LookAtRun(context.Background(), landscape.NewReader(v.records), v.Run, v.approvers)
	if err != nil {
		return err
	}
	for i, one := range signed.Looked {
		record := signed.Records[i]
		if one.Problem != "" {
			return fmt.Errorf("sign-off %d: %s", i, one.Problem)
		}
		if err := v.signOffIsLogged(record, int64(i)); err != nil {
			return err
		}
		if last := signed.Seals[len(signed.Seals)-1]; last.Seq > record.Seal {
			one.Since = append(one.Since, fmt.Sprintf("seal %d", last.Seq))
		}
		v.SignOffs = append(v.SignOffs, one)
	}
	if n := int64(len(signed.Records)); int64(len(v.entriesOf)) > n {
		return fmt.Errorf("the log has %d entries about sign-offs of the run, and the bundle has %d", len(v.entriesOf), n)
	}
	return nil
}

// signOffIsLogged requires that the log has an entry about a sign-off, and says what is recorded of it.
func (v *verification) signOffIsLogged(record landscape.SignOff, number int64) error {
	entry, ok := v.entriesOf[number]
	switch {
	case record.Seq != number:
		return fmt.Errorf("sign-off %d is missing", number)
	case !ok && v.manifest.lacks(signOffGap, logGap):
		return nil
	case !ok:
		return fmt.Errorf("sign-off %d: the bundle contains no log entry about it, and no gap says so", number)
	case !entry.SaysOf(record):
		return fmt.Errorf("sign-off %d is not the one that entry %d is about", number, entry.Position)
	}
	return nil
}
