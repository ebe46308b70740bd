package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"waymark/landscape"
	"waymark/pipeline"
)

// keyspace is the name space of the ids that runs have by their keys. Stored by way of these; never change it.
var keyspace = uuid.MustParse("5f0c7a52-63e1-4f6b-9a0e-8d4c1be1a7d3")

// RunOfKey returns the id of the run of a pipeline that a service asks for under a key: however often it asks, it means this run.
func RunOfKey(pipeline, key string) string {
	return uuid.NewSHA1(keyspace, []byte(pipeline+"\x00"+key)).String()
}

// Keyed is what is recorded of the run that somebody asks for under a key. It travels through workflow history.
type Keyed struct {
	Status  pipeline.RunStatus `json:"status,omitempty"`  // empty if the run is not recorded
	Rows    int64              `json:"rows,omitempty"`    // that its sources held, as far as they were read
	Refused int64              `json:"refused,omitempty"` // of its tokens
	Reason  string             `json:"reason,omitempty"`  // why it stopped
	Ending
	None    string `json:"none,omitempty"`    // why no run came of the last start, if it is not recorded; empty if one may
	Waits   string `json:"waits,omitempty"`   // for which places it waits; empty if it does not
	Differs string `json:"differs,omitempty"` // in what it differs from what is asked for; empty if it is the same

	WillTell bool `json:"will_tell,omitempty"` // its workflow knows who waits for its end, and tells
}

// FindInput names a run that somebody else asked for.
type FindInput struct {
	OpenInput
	Joins bool `json:"joins,omitempty"` // the workflow that looks for the run wants to know when it ends
}

// FindKeyed looks for the run that somebody asks for under a key, or whose result is to be that of another one. It changes nothing on record.
//
// It may run twice: the run remembers each workflow that waits for its end once.
func (a *Activities) FindKeyed(ctx context.Context, in FindInput) (Keyed, error) {
	return anyAttempt(ctx, a, in.Run, 0, in, func(a *Activities, ctx context.Context, in FindInput) (Keyed, error) {
		on, err := a.log.Run(ctx, in.Run)
		if errors.Is(err, landscape.ErrNotFound) {
			return a.askedFor(ctx, in)
		}
		if err != nil {
			return Keyed{}, err
		}
		found := Keyed{Status: on.Status, Reason: on.Reason}
		if found.Differs, err = a.differences(ctx, on, in.OpenInput); err != nil {
			return Keyed{}, err
		}
		progress, err := a.log.Progress(ctx, in.Run)
		found.Rows, found.Refused = progress.Rows, progress.Failed
		switch {
		case err != nil:
		case on.Status != pipeline.Running:
			found.Ending, err = a.ending(ctx, in.Run)
		case in.Joins:
			found.WillTell = a.join(ctx, in.Run)
		}
		return found, err
	})
}

// askedFor returns what is recorded of the starts of a run that is not: in what the one that is to begin differs from what is asked for, or why there
// is none.
func (a *Activities) askedFor(ctx context.Context, in FindInput) (found Keyed, err error) {
	start, err := a.log.LastStart(ctx, in.Run)
	if errors.Is(err, landscape.ErrNotFound) {
		return found, nil
	}
	if err == nil && start.Decided != 0 {
		found.None = cmp.Or(start.Reason, string(start.State))
		return found, nil
	}
	if start.State == landscape.StartWaiting {
		found.Waits = start.Reason
	}
	var params map[string]string
	if err == nil {
		err = json.Unmarshal([]byte(start.Params), &params)
	}
	if err != nil {
		return found, fmt.Errorf("start of run %s: %w", in.Run, err)
	}
	if names := differing(params, in.Params); len(names) > 0 {
		found.Differs = "other values of the parameters " + strings.Join(names, ", ")
	} else if in.Joins {
		found.WillTell = a.join(ctx, in.Run)
	}
	return found, nil
}
