package audit

import (
	"context"
	"slices"

	"waymark/activities/recompute"
	"waymark/landscape"
)

// verifyPolicies evaluates the policies of the run again, if they were evaluated: every result on record must be the one that follows from the
// records of the run, and of the runs before it. That a person waived a policy is believed. That one which did not pass kept the run from being
// complete, the sweep says.
func (v *verification) verifyPolicies(ctx context.Context) error {
	recorded, err := v.log.PolicyResults(ctx, v.run.ID)
	if err != nil || v.compiled == nil || len(v.compiled.Policies) == 0 {
		return err
	}
	if recorded == nil && !concluded(v.report.Status) {
		v.skipped(CheckedPolicies, "", "the run is %s: its policies were not evaluated", v.report.Status)
		return nil
	}
	var again []landscape.PolicyResult
	for _, epoch := range v.evaluatedIn(recorded) {
		run := v.run
		run.Epoch = epoch
		if again, err = recompute.Policies(ctx, v.log, v.compiled, run); err != nil {
			return err
		}
		then := recorded
		if v.compiled.SignOffs != nil {
			then = slices.DeleteFunc(slices.Clone(recorded), func(r landscape.PolicyResult) bool { return r.Epoch != epoch })
		}
		for _, result := range again {
			v.verifyPolicy(result, then)
		}
	}
	v.verifyEvaluated(again, recorded)
	v.compared(CheckedPolicies, "", "the results of %s, from the counts of the run", plural(int64(len(again)), "assertion"))
	return nil
}

// evaluatedIn returns the epochs in which policies are evaluated again, ascending: each of the record if people must sign the run off, for the longer it waits the more
// have; else the last one of the run, because nothing else that policies see changes.
func (v *verification) evaluatedIn(recorded []landscape.PolicyResult) (epochs []int64) {
	if v.compiled.SignOffs == nil || recorded == nil {
		return []int64{v.run.Epoch}
	}
	for _, result := range recorded {
		epochs = append(epochs, result.Epoch)
	}
	slices.Sort(epochs)
	return slices.Compact(epochs)
}

// verifyEvaluated requires that every policy was evaluated.
func (v *verification) verifyEvaluated(again, recorded []landscape.PolicyResult) {
	for _, policy := range again {
		if !slices.ContainsFunc(recorded, func(r landscape.PolicyResult) bool {
			return r.Policy == policy.Policy && r.Result != landscape.PolicyWaived
		}) {
			v.add(RecordDiffers, "policy "+policy.Policy, "no result is recorded, and it comes to %s: %s", policy.Result, policy.Detail)
		}
	}
}

// verifyPolicy compares what a policy comes to with each of its results on record.
func (v *verification) verifyPolicy(again landscape.PolicyResult, recorded []landscape.PolicyResult) {
	for _, result := range recorded {
		if result.Policy != again.Policy || result.Result == landscape.PolicyWaived {
			continue
		}
		if result.Result != again.Result || result.Figures != again.Figures {
			v.add(RecordDiffers, "policy "+again.Policy, "attempt %d %s with %s on record, and comes to %s with %s",
				result.Attempt, result.Result, result.Figures, again.Result, again.Figures)
		}
	}
}
