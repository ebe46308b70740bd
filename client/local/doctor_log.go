package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/worker/storage"
)

// log looks whether the landscape's log is the one that was signed, and how far it is signed and anchored. What waits stops no run.
func (d doctor) log(ctx context.Context) client.Check {
	anchors := d.logAnchors()
	if d.Cluster != nil {
		anchors = d.LogAnchors // the state folder's own is of runs here
	}
	if err := checkAnchors(d.LogAnchors...); err != nil {
		return client.Failure("", "%v", err) // as runs are refused
	}
	switch _, _, place, err := d.runs(ctx); {
	case err != nil && !missing(err):
		return client.Warning(client.CureOther, "the record cannot be asked")
	case err != nil || place == "":
		return noLogYet(ctx, anchors)
	}
	var found logState
	var away []error
	err := d.withLandscape(ctx, func(stores *storage.Storage) (err error) {
		if d.Cluster == nil {
			if away, err = evidence.Compare(ctx, stores.Log.Reader, d.evidence()); err != nil {
				return d.wordedLog(ctx, err)
			}
			if anchors, err = d.comparedAnchors(ctx, stores.Log.Reader); err != nil {
				return err
			}
		}
		if found, err = stateOf(ctx, stores.Log.Reader, anchors, d.sealedBy()); err == nil {
			found.unable = d.unable(ctx, stores.Log)
		}
		for _, why := range away {
			if told := why.Error(); !slices.Contains(found.away, told) {
				found.away = append(found.away, told)
			}
		}
		return err
	})
	return logCheck(ctx, found, anchors, err)
}

// missing reports whether an error says that there is no record.
func missing(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return errors.Is(err, landscape.ErrNotFound) ||
		ok && (refused.Code == client.LandscapeNotFound || refused.Code == client.LogRolledBack)
}

// unable says why the key of a log that is here does not sign it: another one replaced it, or it is in no file and its signer does not answer; or why the one that it
// replaced does not sign beside it. It is nil if it can sign, or is not this one's.
func (d doctor) unable(ctx context.Context, log *landscape.Log) error {
	folder := d.evidence().Keys
	key, err := keys.Load(folder, keys.Log)
	if err != nil {
		return nil //nolint:nilerr // there is none here, or the comparison said what is wrong with it
	}
	if err := cmp.Or(evidence.Replaced(ctx, log.Reader, key, folder), key.Test()); err != nil {
		return err
	}
	return errors.Join(evidence.Silent(ctx, log.Reader, folder, log.Now().Time())...)
}

// noLogYet is what is said of a log without entries: it has yet to begin, unless an anchor knows better.
func noLogYet(ctx context.Context, anchors []string) client.Check {
	for _, anchor := range anchors {
		switch begun, err := evidence.PlaceOf(anchor).Begun(ctx); {
		case errors.Is(err, evidence.ErrCannotSay):
		case err != nil:
			return client.Warning(client.CureOther, "%v", err)
		case begun:
			return client.Failure(client.RestoreLog, "none, and %s has heads of it: the record was removed, or another was put in its place", anchor)
		}
	}
	return client.Good("none yet; the first run begins it")
}

// logState is how far a landscape's log is, and what is missing in it.
type logState struct {
	evidence.Backlog
	unlogged int64    // runs without an entry
	foreign  int64    // heads that the log did not sign
	unsealed []string // runs that ended without a seal
	gone     []string // anchors that have nothing of what was brought there
	away     []string // why anchors could not be asked
	unable   error    // why the log's key cannot sign
}

// sealedBy is when a run must have ended that is sealed by now; 0 where no server and no worker has to come for it.
func (d doctor) sealedBy() landscape.Micros {
	if d.Cluster == nil {
		return 0
	}
	return landscape.MicrosOf(d.now().Add(-evidence.SealPatience))
}

// stateOf returns how far the log is. Runs that ended until ended should be sealed; 0 is for all.
func stateOf(ctx context.Context, log *landscape.Reader, anchors []string, ended landscape.Micros) (s logState, err error) {
	if s.unlogged, err = evidence.Unlogged(ctx, log); err != nil {
		return s, err
	}
	if s.unsealed, err = log.UnsealedRuns(ctx, ended); err != nil {
		return s, err
	}
	if s.foreign, err = evidence.ForeignHeads(ctx, log); err != nil {
		return s, err
	}
	s.Backlog, err = evidence.BacklogOf(ctx, log, anchors)
	for i, anchor := range s.Anchors {
		switch begun, away := evidence.PlaceOf(anchors[i]).Begun(ctx); {
		case errors.Is(away, evidence.ErrCannotSay):
		case away != nil:
			s.away = append(s.away, away.Error())
		case anchor.Entries > 0 && !begun:
			s.gone = append(s.gone, anchor.Anchor)
		}
	}
	return s, err
}

func logCheck(ctx context.Context, b logState, anchors []string, err error) client.Check {
	found := fmt.Sprintf("%s, %d signed", text.Count(b.Entries, "entry"), b.Signed)
	for _, anchor := range b.Anchors {
		found += fmt.Sprintf(", %d at %s", anchor.Entries, anchor.Anchor)
	}
	damaged, ok := errors.AsType[*client.Error](err)
	switch {
	case ok && damaged.Code == client.LogForked:
		return client.Failure(client.CheckLog, "%v", err)
	case ok && damaged.Kind == client.Damaged:
		return client.Failure(client.RestoreLog, "%v", err)
	case err != nil:
		return client.Warning(client.CureOther, "%v", err)
	case b.gone != nil:
		return client.Warning(client.SignLog, "%s; there is nothing at %s any more: waymark log check", found, strings.Join(b.gone, ", "))
	case b.away != nil:
		return client.Warning(client.SignLog, "%s; %s", found, strings.Join(b.away, "; "))
	case b.foreign > 0:
		return client.Warning(client.CheckLog, "%s; %s", found, foreignText(b.foreign))
	case b.unable != nil:
		return client.Warning(client.SignLog, "%s; %v", found, b.unable)
	case b.unsealed != nil:
		return client.Warning(client.SealRuns, "%s; %s", found, unsealedText(b.unsealed))
	case b.Entries == 0:
		return noLogYet(ctx, anchors)
	case b.unlogged > 0:
		return client.Warning(client.AdmitSealer, "%s; %s no entry", found, haveRuns(b.unlogged))
	case !b.Oldest.IsZero() && time.Since(b.Oldest) > evidence.LongWait:
		return client.Warning(client.SignLog, "%s; the oldest of the others waits since %s", found, b.Oldest.Format(time.RFC3339))
	}
	return client.Good("%s", found)
}

// foreignText says that so many of the heads that the record has are not the log's.
func foreignText(n int64) string {
	return fmt.Sprintf("log_heads has %s that the log did not sign: a role that may write the landscape inserted that, and it does not count",
		text.Count(n, "head"))
}

// haveRuns is the beginning of a sentence about so many runs.
func haveRuns(n int64) string {
	return text.Count(n, "run") + text.Agree(n, " has", " have")
}
