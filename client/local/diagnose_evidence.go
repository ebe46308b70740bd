package local

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"waymark/activities/recompute"
	"waymark/audit/evidence"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
)

// seal compares what is recorded with the run's seals, and these with the log.
func (p patient) seal(ctx context.Context) ([]client.Check, error) {
	if p.run.Status == pipeline.Running {
		return one(client.Good("the run is sealed when it ends"))
	}
	last, entry, err := evidence.CheckedRecord(ctx, p.stores.Log.Reader, p.run.ID)
	switch {
	case errors.Is(err, landscape.ErrUnsealed):
		return one(client.Failure(client.SealRun, "the run ended and is not sealed: nothing proves that its records did not change"))
	case errors.Is(err, landscape.ErrSealBroken):
		return one(client.Failure(client.VerifyRun, "%v", err))
	case err != nil:
		return nil, err
	case last.Late:
		return one(client.Warning("", "%s fit seal %d, which was made later: it proves that nothing changed since", text.Count(last.Leaves, "record"), last.Seq))
	case entry == nil:
		return one(client.Warning(client.CheckLog, "%s fit seal %d, of which the log has no entry", text.Count(last.Leaves, "record"), last.Seq))
	}
	return one(client.Good("%s fit seal %d, which is entry %d of the log", text.Count(last.Leaves, "record"), last.Seq, *entry))
}

// inLog says how far the run's first entry in the log is signed and anchored.
func (p patient) inLog(ctx context.Context) ([]client.Check, error) {
	in, err := p.RunInLog(ctx, p.run.ID)
	switch {
	case err != nil:
		return nil, err
	case in == nil:
		return one(client.Warning(client.SignLog, "the landscape has no log"))
	case in.Entry < 0:
		return one(client.Failure(client.AdmitSealer, "no entry: the run is older than the log, or a process without a key that counts recorded it"))
	case in.Missing != nil:
		return one(client.Warning(client.CheckLog, "the run %v", in.Missing[0]))
	case !in.Signed:
		return one(client.Warning(client.SignLog, "entry %d is not signed yet", in.Entry))
	case in.Anchored < in.Anchors:
		return one(client.Warning(client.CheckLog, "entry %d is signed, and at %d of %s", in.Entry, in.Anchored, text.Count(int64(in.Anchors), "anchor")))
	}
	return one(client.Good("entry %d is signed, and at %s", in.Entry, text.Count(int64(in.Anchors), "anchor")))
}

// repeats compares the run with the newest other one of the same document that read the same. Both must be complete.
func (p patient) repeats(ctx context.Context) ([]client.Check, error) {
	if !client.Complete(p.run.Status) {
		return one(client.Good("not compared with other runs: it is not complete"))
	}
	forgotten, err := p.stores.Log.ForgottenIn(ctx, p.run.ID)
	if err != nil {
		return nil, err
	}
	if forgotten > 0 {
		return one(client.Good("not compared with other runs: %s of it forgotten", text.Count(forgotten, "row")))
	}
	other, err := p.twin(ctx)
	switch {
	case err != nil:
		return nil, err
	case other == "":
		return one(client.Good("no other complete run of this document and plan read the same"))
	}
	for _, run := range []string{p.run.ID, other} {
		barriers, err := recompute.EndedByClock(ctx, p.stores.Log.Reader, run)
		if err != nil {
			return nil, err
		}
		if len(barriers) > 0 {
			return one(client.Good("run %s read the same, and is not compared: the clock ended batches in %s", other, strings.Join(barriers, ", ")))
		}
	}
	log := p.stores.Log.Reader
	like, err := landscape.CompareRuns(ctx, log, other, log, p.run.ID)
	switch {
	case err != nil:
		return nil, err
	case like.Differ > 0:
		return one(client.Failure(client.ReproduceRun, "run %s read the same, and made something else of it: %s; the first is %v",
			other, text.Count(like.Differ, "record"), like.First[0]))
	}
	return one(client.Good("run %s read the same, and made the same of it: %s, %s",
		other, text.Count(like.Rows, "row"), text.Count(like.Hashes, "hash")))
}

// twin returns the newest other complete run of the same document, plan, parameters and secrets that read the same, and of
// which no row was forgotten: "" if there is none.
func (p patient) twin(ctx context.Context) (string, error) {
	log := p.stores.Log
	var alike []landscape.RunHead
	err := log.RunHeads(ctx, func(run landscape.RunHead) bool {
		same := run.DocumentSHA256 == p.run.DocumentSHA256 && run.PlanSHA256 == p.run.PlanSHA256 && run.ID != p.run.ID
		if same && client.Complete(run.Status) {
			alike = append(alike, run)
		}
		return true
	})
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(alike, func(a, b landscape.RunHead) int { return cmp.Compare(b.Started, a.Started) })
	mine, err := p.readings(ctx, p.run.ID)
	for _, run := range alike {
		if err != nil {
			return "", err
		}
		var other landscape.Run
		if other, err = log.Run(ctx, run.ID); err != nil || other.Params != p.run.Params || other.Refs != p.run.Refs {
			continue
		}
		var theirs []string
		if theirs, err = p.readings(ctx, run.ID); err != nil || !slices.Equal(mine, theirs) {
			continue
		}
		var forgotten int64
		if forgotten, err = log.ForgottenIn(ctx, run.ID); err == nil && forgotten == 0 {
			return run.ID, nil
		}
	}
	return "", err
}

// readings returns the payloads with what the sources of a run read, chunk by chunk.
func (p patient) readings(ctx context.Context, run string) (packs []string, err error) {
	err = p.stores.Log.PayloadsOf(ctx, run, landscape.SourceClass, func(pack string) bool { packs = append(packs, pack); return true })
	return packs, err
}
