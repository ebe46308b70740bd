package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/internal/failpoint"
	"waymark/landscape"
)

// Archiver moves what is recorded of runs into bundles at a place. It is safe to run beside everything else that uses the landscape, and beside another Archiver. After
// any error, or a crash, the next one finishes what was begun: a run is removed in one transaction, and only then the landscape needs its bundle.
type Archiver struct {
	Log    *landscape.Log // with a sealer's key
	Key    keys.Key       // that key: it signs bundles
	Policy *trust.Policy  // of this landscape's log: by it each bundle must verify
	Place  string         // as CheckPlace takes it
}

// UnverifiedError says that a bundle does not prove what the landscape would lose. Nothing was removed.
type UnverifiedError struct{ Run, Problem string }

// Error names the run and what is wrong.
func (e *UnverifiedError) Error() string {
	return fmt.Sprintf("run %s stays: its bundle cannot be verified: %s", e.Run, e.Problem)
}

// Archive exports the bundle of a run, without payloads; writes it to the place under a name that follows from its bytes; reads it back, and verifies what is there as a
// recipient would. Then it records where the bundle is, and removes the records that it has, in one transaction. The error is an *UnverifiedError if the bundle does not
// verify, and otherwise those of bundle.Export and landscape.Log.Archive.
func (a *Archiver) Archive(ctx context.Context, run landscape.Run, actor, why string) (landscape.Archive, error) {
	last, err := a.Log.LastSeal(ctx, run.ID) // before the export: one that comes meanwhile is none of the bundle, and the landscape refuses this root
	if err != nil {
		return landscape.Archive{}, err
	}
	var manifest *bundle.Manifest
	made, err := newFile(func(to io.Writer) (err error) {
		manifest, err = bundle.Export(ctx, to, a.Log.Reader, nil, run, bundle.Options{Payloads: bundle.NoPayloads, Key: a.Key})
		return err
	})
	if err != nil {
		return landscape.Archive{}, err
	}
	defer made.Close()
	if err := cmp.Or(a.verify(run.ID, made), failpoint.Hit("archive.exported")); err != nil { // what cannot be removed from a locked bucket is not to come there in vain
		return landscape.Archive{}, err
	}
	at, err := put(ctx, a.Place, fmt.Sprintf("%s.%s.zip", run.ID, made.digest()[:16]), made)
	if err = cmp.Or(err, failpoint.Hit("archive.written")); err != nil {
		return landscape.Archive{}, fmt.Errorf("the bundle of run %s: %w", run.ID, err)
	}
	if err = cmp.Or(a.readBack(ctx, run.ID, at, made), failpoint.Hit("archive.verified")); err != nil {
		return landscape.Archive{}, err
	}
	digest, err := manifest.Digest()
	if err != nil {
		return landscape.Archive{}, err
	}
	done, err := a.Log.Archive(ctx, landscape.Archive{
		Run: run.ID, Location: at, Bytes: made.size, SHA256: made.digest(), Manifest: digest, Root: last.Root, Actor: actor, Why: why,
	})
	return done, cmp.Or(err, failpoint.Hit("archive.removed"))
}

// readBack verifies what is at a location, and requires that it is what was written.
func (a *Archiver) readBack(ctx context.Context, run, at string, made *file) error {
	there, err := fetch(ctx, at)
	if err != nil {
		return fmt.Errorf("read the bundle of run %s back: %w", run, err)
	}
	if there.sum != made.sum {
		err = &UnverifiedError{run, fmt.Sprintf("%s has the SHA-256 %s, and %s was written", at, there.digest(), made.digest())}
	} else {
		err = a.verify(run, there)
	}
	return errors.Join(err, there.Close())
}

// verify requires that a bundle proves the records of the run.
func (a *Archiver) verify(run string, b *file) error {
	report, err := bundle.Verify(b, b.size, a.Policy, nil)
	if err != nil {
		return err
	}
	missing := slices.IndexFunc(report.Gaps, func(g bundle.Gap) bool { return g.Proves() })
	switch {
	case missing >= 0: // which says why, and how it can be cured
		return &UnverifiedError{run, report.Gaps[missing].Why}
	case report.Problem != "":
		return &UnverifiedError{run, report.Problem}
	case report.Run != run:
		return &UnverifiedError{run, "it is about run " + report.Run}
	}
	return nil
}
