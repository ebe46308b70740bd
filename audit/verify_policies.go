package audit

import (
	"context"

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
	again, err := recompute.Policies(ctx, v.log, v.compiled.Policies, v.run)
	if err != nil {
		return err
	}
	for _, result := range again {
		v.verifyPolicy(result, recorded)
	}
	v.compared(CheckedPolicies, "", "the results of %s, from the counts of the run", plural(int64(len(again)), "assertion"))
	return nil
}

// verifyPolicy compares what a policy comes to with each of its results on record.
func (v *verification) verifyPolicy(again landscape.PolicyResult, recorded []landscape.PolicyResult) {
	evaluated := false
	for _, result := range recorded {
		if result.Policy != again.Policy || result.Result == landscape.PolicyWaived {
			continue
		}
		evaluated = true
		if result.Result != again.Result || result.Figures != again.Figures {
			v.add(RecordDiffers, "policy "+again.Policy, "attempt %d %s with %s on record, and comes to %s with %s",
				result.Attempt, result.Result, result.Figures, again.Result, again.Figures)
		}
	}
	if !evaluated {
		v.add(RecordDiffers, "policy "+again.Policy, "no result is recorded, and it comes to %s: %s", again.Result, again.Detail)
	}
}
