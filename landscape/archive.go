package landscape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Archive says that what was recorded of a run is in a bundle elsewhere, and not in the landscape any more.
type Archive struct {
	Run      string `db:"run_id,key"`
	Location string `db:"location"` // of the bundle: a file, or an object of a bucket, as s3://BUCKET/KEY
	Bytes    int64  `db:"bytes"`
	SHA256   string `db:"sha256"`          // of the bundle
	Manifest string `db:"manifest_sha256"` // of its manifest, which its signature covers
	Root     []byte `db:"root"`            // of the run's last seal, 32 bytes
	Actor    string `db:"actor"`
	Why      string `db:"why"`
	At       Micros `db:"at_us,first"` // set by Log
}

// ArchivedPayload is a payload to which the record of an archived run refers.
type ArchivedPayload struct {
	Run     string `db:"run_id,key"`
	Payload string `db:"payload,key"`
	Class   Class  `db:"class,key"`
}

// Table returns archives.
func (Archive) Table() string { return "archives" }

// Table returns archived_payloads.
func (ArchivedPayload) Table() string { return "archived_payloads" }

// KeptClass is of payloads that are never purged: lookup tables. Stored; never rename.
const KeptClass Class = "kept"

// kept are the tables with a run_id whose records stay when their run is archived: what says that it was there and what binds it, what came after it, and
// what other runs need, such as which outputs it replaced.
var kept = []string{
	Node{}.Table(), ArtifactRecord{}.Table(),
	Run{}.Table(), RunSeal{}.Table(), Salts{}.Table(), SignOff{}.Table(), Attestation{}.Table(), Start{}.Table(), RetriedRow{}.Table(), Archive{}.Table(), ArchivedPayload{}.Table(),
	Forgotten{}.Table(), ForgottenLeaf{}.Table(), ApprovalRequest{}.Table(), Approval{}.Table(),
	ApprovedExecution{}.Table(),
}

// Archivable returns the tables whose records of a run are removed when it is archived, parents before children: those that its seals bind, by leaves of their own
// or by the roots of its chunks.
func Archivable() []*Table { return archivableTables() }

var archivableTables = sync.OnceValue(func() (tables []*Table) {
	for _, t := range Tables() {
		if t.Columns[0].Name == "run_id" && !slices.Contains(kept, t.Name) {
			tables = append(tables, t)
		}
	}
	return tables
})

// ArchiveOf returns where an archived run is; nil if it is not archived.
func (r *Reader) ArchiveOf(ctx context.Context, run string) (*Archive, error) {
	return lastOf[Archive](ctx, r.from, run)
}

// Archives returns all archived runs, by id; nil if there are none.
func (r *Reader) Archives(ctx context.Context) ([]Archive, error) {
	return Select[Archive](ctx, r.from)
}

// EachArchivedRef calls yield with every payload to which an archived run refers, until it returns false.
func (r *Reader) EachArchivedRef(ctx context.Context, yield func(ArchivedPayload) bool) error {
	return each(ctx, r.from, nil, yield)
}

// ErrNotEnded says that a run is running or can be resumed.
var ErrNotEnded = errors.New("only a run that has ended and cannot be resumed can be archived")

// MayArchive says why a run cannot be archived now: the error wraps ErrNotEnded, or is an *ArchivedError. A hold is another matter.
func (r *Reader) MayArchive(ctx context.Context, run RunHead) error {
	archive, err := r.ArchiveOf(ctx, run.ID)
	if err != nil {
		return err
	}
	if archive != nil {
		return &ArchivedError{*archive}
	}
	if _, ok := run.ended(); !ok {
		return fmt.Errorf("run %s is %s: %w", run.ID, run.Status, ErrNotEnded)
	}
	return nil
}

// Concluded returns when a run ended that cannot be resumed; ok is false of any other.
func (h RunHead) Concluded() (at Micros, ok bool) { return h.ended() }

// ArchivedError says that a run is archived, so that something cannot be done with it.
type ArchivedError struct{ Archive }

// Place says where the bundle is, for people: of an object without what it takes to reach its bucket.
func (a Archive) Place() string {
	if place, _, is := strings.Cut(a.Location, "?"); is && strings.HasPrefix(place, "s3://") {
		return place
	}
	return a.Location
}

// Error names the run and where it is.
func (e *ArchivedError) Error() string {
	return fmt.Sprintf("run %s was archived %s by %s (%s): its record is in %s", e.Run, e.At.Time().UTC().Format("2006-01-02 15:04:05 MST"), e.Actor, e.Why, e.Place())
}

// Archive records that a run is archived, with an entry of the log, and removes what the bundle has of it, in one transaction; it returns the archive as it is recorded.
// The caller has read the bundle back and verified it. The error is an *ArchivedError if the run was archived before, wraps ErrInUse if a hold protects it, wraps ErrKeyless
// if the log would not know it, and is a *NeedsOrderError if one person may not; nothing is changed then.
func (l *Log) Archive(ctx context.Context, archive Archive) (Archive, error) {
	if err := cmp.Or(l.keyless(ctx), l.MayOrder(ctx, OrderArchive)); err != nil {
		return archive, err
	}
	before, err := l.ArchiveOf(ctx, archive.Run)
	if err != nil {
		return archive, err
	}
	if before != nil {
		return *before, &ArchivedError{*before}
	}
	archive.At = l.now()
	payloads, err := l.archivedPayloads(ctx, archive.Run)
	if err != nil {
		return archive, err
	}
	tx := Tx{Insert: append([]Record{archive}, payloads...), Remove: archive.Run}
	if err := l.executed(ctx, &tx, nil); err != nil {
		return archive, err
	}
	if l.sealer != nil {
		entry, err := l.sealer.Archived(archive)
		if err != nil {
			return archive, err
		}
		tx.Append = append(tx.Append, entry)
	}
	if err := l.driver.Commit(ctx, tx); err != nil {
		return archive, fmt.Errorf("archive run %s: %w", archive.Run, err)
	}
	return archive, nil
}

// archivedPayloads returns a record for each payload to which the record of a run refers.
func (l *Log) archivedPayloads(ctx context.Context, run string) (refs []Record, err error) {
	seen := map[ArchivedPayload]bool{}
	add := func(payload string, class Class) bool {
		ref := ArchivedPayload{Run: run, Payload: payload, Class: class}
		if !seen[ref] {
			seen[ref], refs = true, append(refs, ref)
		}
		return true
	}
	for _, class := range Classes {
		if err := l.refsOf(ctx, run, class, func(payload string) bool { return add(payload, class) }); err != nil {
			return nil, err
		}
	}
	err = each(ctx, l, []any{run}, func(t LookupTable) bool { return add(t.SHA256, KeptClass) })
	return refs, err
}
