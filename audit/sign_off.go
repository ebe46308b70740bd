package audit

import (
	"context"
	"encoding/hex"
	"fmt"

	"waymark/landscape"
	"waymark/landscape/persons"
)

// SignOffs verifies what people signed about a run, the oldest first; nil if nobody did. approvers are those of now, who must still let each key have signed
// then; nil to take the line that is recorded.
func SignOffs(ctx context.Context, log *landscape.Reader, run string, approvers *persons.Approvers) (all []persons.SignOff, err error) {
	signed, err := persons.LookAtRun(ctx, log, run, approvers)
	if err != nil {
		return nil, err
	}
	for i, one := range signed.Looked {
		if one.Since, err = since(ctx, log, signed.Records[i], signed.Seals); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// since tells what became of a run after a sign-off.
func since(ctx context.Context, log *landscape.Reader, record landscape.SignOff, seals []landscape.RunSeal) (told []string, err error) {
	if last := seals[len(seals)-1]; last.Seq > record.Seal {
		told = append(told, fmt.Sprintf("seal %d of root %.8s…", last.Seq, hex.EncodeToString(last.Root)))
	}
	orders, err := log.PurgesOf(ctx, record.Run, record.At)
	for _, order := range orders {
		told = append(told, order.Told())
	}
	return told, err
}

// verifySignOffs verifies what people signed about the run.
func (v *verification) verifySignOffs(ctx context.Context) (err error) {
	v.report.SignOffs, err = SignOffs(ctx, v.log, v.run.ID, v.options.Approvers)
	if err != nil || v.report.SignOffs == nil {
		return err
	}
	for i, s := range v.report.SignOffs {
		if s.Problem != "" {
			v.add(SignOffBroken, fmt.Sprintf("sign-off %d", i), "%s", s.Problem)
		}
		if s.Note != "" {
			v.note("sign-off %d: %s", i, s.Note)
		}
	}
	v.compared(CheckedSignOffs, "", "%s: the signatures, the roots, the outputs, and %s", plural(int64(len(v.report.SignOffs)), "sign-off"), v.whoseKeys())
	return nil
}

// whoseKeys names what says whose keys signed.
func (v *verification) whoseKeys() string {
	if v.options.Approvers != nil {
		return "the approvers file"
	}
	return "the approver's line that is recorded with each, for there is no approvers file here"
}

// verifyLogged looks for what the log says of the run and is not recorded.
func (v *verification) verifyLogged(ctx context.Context) error {
	if v.options.Logged == nil {
		return nil
	}
	removed, lost, err := v.options.Logged(ctx, v.run.ID)
	for _, what := range removed {
		v.add(EntryMissed, "log", "the run %s", what)
	}
	for _, what := range lost {
		v.note("the run %s", what)
	}
	return err
}
