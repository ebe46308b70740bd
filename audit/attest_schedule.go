package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"waymark/engine/plan"
	"waymark/landscape"
)

// AttestSchedule knows when the outputs of which runs are to be attested again, as their documents say. It keeps what does not change of complete runs, so the next look
// reads less. It is not safe for concurrent use.
type AttestSchedule struct {
	log  *landscape.Reader
	none map[string]bool // digests of documents that say nothing of it
	runs map[string]*scheduledRun
}

// scheduledRun is a complete run whose document says how often its outputs are attested.
type scheduledRun struct {
	landscape.CompleteRun
	every landscape.Micros
	until landscape.Micros // when it is not due any more
	local bool             // an output is a local file
	due   landscape.Micros // not before that; 0 as long as nobody looked
}

// DueAttestations says which runs are to be attested.
type DueAttestations struct {
	Scheduled int              // runs that are attested now and then, or were for the last time
	Due       []DueRun         // those of them that are to be now, the longest due first; nil if none is
	Next      landscape.Micros // when the first of the others is to be; 0 if none is
}

// DueRun is a run whose outputs are to be attested.
type DueRun struct {
	Run   string
	Host  string // whose files the run read and wrote
	Local bool   // an output is among these files
	Since landscape.Micros
	every landscape.Micros
}

// attestGrace is how long a run may be due, if it is attested less often than that, before it counts as overdue.
const attestGrace = landscape.Micros(10 * time.Minute / time.Microsecond)

// NewAttestSchedule returns an AttestSchedule that has not looked yet.
func NewAttestSchedule(log *landscape.Reader) *AttestSchedule {
	return &AttestSchedule{log: log, none: map[string]bool{}, runs: map[string]*scheduledRun{}}
}

// Overdue returns how many runs have been due for longer than they should be at a moment: ten minutes, or the time after which they are due again if that is shorter.
func (d DueAttestations) Overdue(now landscape.Micros) (overdue int) {
	for _, run := range d.Due {
		if now-run.Since > min(attestGrace, run.every) {
			overdue++
		}
	}
	return overdue
}

// Look says which runs are to be attested at a moment.
func (s *AttestSchedule) Look(ctx context.Context, now landscape.Micros) (found DueAttestations, err error) {
	if err := s.add(ctx); err != nil {
		return found, err
	}
	for _, run := range s.runs {
		if now >= run.until {
			continue
		}
		if run.due <= now { // as far as is known: others may have attested it
			if err := s.ask(ctx, run); err != nil {
				return found, err
			}
		}
		found.Scheduled++
		switch {
		case run.due >= run.until: // it has had its last turn
		case run.due <= now:
			found.Due = append(found.Due, DueRun{run.ID, run.Host, run.local, run.due, run.every})
		case found.Next == 0 || run.due < found.Next:
			found.Next = run.due
		}
	}
	slices.SortFunc(found.Due, func(a, b DueRun) int { return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Run, b.Run)) })
	return found, nil
}

// Due reports whether a run that Look found is still to be attested.
func (s *AttestSchedule) Due(ctx context.Context, run string, now landscape.Micros) (bool, error) {
	scheduled := s.runs[run]
	err := s.ask(ctx, scheduled)
	return scheduled.due <= now && now < scheduled.until, err
}

// Altered returns the newest attestations of those outputs that were found changed or missing, of the runs that are attested now and then, by run and sink; nil
// if there is none. Archived runs are attested no more, and left out. Look must have been called.
func (s *AttestSchedule) Altered(ctx context.Context, now landscape.Micros) (altered []landscape.Attestation, err error) {
	for id, run := range s.runs {
		if now >= run.until {
			continue
		}
		archive, err := s.log.ArchiveOf(ctx, id)
		if err != nil {
			return nil, err
		}
		if archive != nil {
			continue // nobody looks again: what was found would never change
		}
		newest, _, err := s.newest(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, a := range newest {
			if a.Altered() {
				altered = append(altered, a)
			}
		}
	}
	slices.SortFunc(altered, func(a, b landscape.Attestation) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Sink, b.Sink))
	})
	return altered, nil
}

// add adds the runs that are complete by now.
func (s *AttestSchedule) add(ctx context.Context) error {
	var others []landscape.CompleteRun
	err := s.log.CompleteRuns(ctx, func(run landscape.CompleteRun) {
		if !s.none[run.DocumentSHA256] && s.runs[run.ID] == nil {
			others = append(others, run)
		}
	})
	if err != nil {
		return err
	}
	for _, run := range others {
		if s.none[run.DocumentSHA256] {
			continue
		}
		added, err := s.scheduled(ctx, run)
		if err != nil {
			return err
		}
		if added == nil {
			s.none[run.DocumentSHA256] = true
		} else {
			s.runs[run.ID] = added
		}
	}
	return nil
}

// scheduled returns what the plan of a run says; nil if its document says nothing of it.
func (s *AttestSchedule) scheduled(ctx context.Context, run landscape.CompleteRun) (*scheduledRun, error) {
	record, err := s.log.Run(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	var planned struct{ Attest *plan.AttestDescription }
	if err := json.Unmarshal([]byte(record.Plan), &planned); err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	if planned.Attest == nil {
		return nil, nil //nolint:nilnil // most say nothing
	}
	every, err := time.ParseDuration(planned.Attest.Every)
	if err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	lasting, err := time.ParseDuration(planned.Attest.For)
	if err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	return &scheduledRun{CompleteRun: run, every: landscape.Micros(every.Microseconds()), until: run.Finished + landscape.Micros(lasting.Microseconds())}, nil
}

// ask finds out when a run is due: some time after the oldest of the newest attestations of its outputs, or never if it has none, or is archived.
func (s *AttestSchedule) ask(ctx context.Context, run *scheduledRun) error {
	newest, outputs, err := s.newest(ctx, run.ID)
	if err != nil {
		return err
	}
	archive, err := s.log.ArchiveOf(ctx, run.ID)
	if err != nil {
		return err
	}
	run.local = slices.ContainsFunc(outputs, func(a landscape.ArtifactRecord) bool { return isFile(a.Path) })
	if outputs == nil || archive != nil {
		run.due = run.until
		return nil
	}
	last := run.Finished
	if len(newest) == len(outputs) {
		last = slices.MinFunc(newest, func(a, b landscape.Attestation) int { return cmp.Compare(a.At, b.At) }).At
	}
	run.due = last + run.every
	return nil
}

// newest returns the outputs of a run, nil if there is none, and the newest attestation of each that has one.
func (s *AttestSchedule) newest(ctx context.Context, run string) (newest []landscape.Attestation, outputs []landscape.ArtifactRecord, err error) {
	outputs, err = s.log.Artifacts(ctx, run)
	if err != nil || outputs == nil {
		return nil, nil, err
	}
	newest, err = s.log.NewestAttestations(ctx, run, len(outputs))
	return newest, outputs, err
}
