// Package storage opens what URLs name: the landscape and the payload store. It is the one place that knows which scheme means
// which driver; only that of SQLite is handed in, so that programs without it stay small.
package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"waymark/audit/archive"
	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/landscape/inhand"
	"waymark/landscape/pgstore"
	"waymark/payload"
	"waymark/payload/cache"
	"waymark/payload/fsstore"
	"waymark/payload/s3store"
)

var (
	// ErrNoLandscape says that there is no landscape where one is expected. Nothing was made.
	ErrNoLandscape = errors.New("no record there")
	// ErrNoPayloads says that there is no payload store where one is expected. Nothing was made.
	ErrNoPayloads = errors.New("no payloads there")
)

// DefaultCacheBytes is a good size of the cache before a payload store that is not of this machine.
const DefaultCacheBytes = 256 << 20

// Options say what to open.
type Options struct {
	Landscape  string       // URL
	Payloads   string       // URL
	Create     bool         // make files and folders that are missing; no other schema, bucket or database is ever made
	CacheBytes int64        // of memory for payloads of a store that is not of this machine; 0: DefaultCacheBytes
	Logger     *slog.Logger // nil: what there is to say is dropped

	Clock func() time.Time // of the landscape; nil: time.Now

	// SQLite opens a landscape in a file; its error wraps landscape.ErrNotFound if there is none and it is not to be made.
	// Nil in programs without SQLite.
	SQLite func(ctx context.Context, path string, create bool) (landscape.Driver, error)
}

// Storage is a landscape with its payload store. It is safe for concurrent use.
type Storage struct {
	Place    string // of the landscape, for people: without secrets
	Log      *landscape.Log
	Payloads *payload.Store

	close []func() error
	roles roles // nil of a landscape in a file, which has none
}

// Delivered returns the payload that holds what was delivered to a trigger.
func (s *Storage) Delivered(ctx context.Context, digest string) ([]byte, error) {
	if s.Payloads == nil {
		return nil, errors.New("the payload store is not open")
	}
	return s.Payloads.Get(ctx, payload.Digest(digest))
}

// roles are what the driver of a database with roles knows of the one with which it is connected, and of the database.
type roles interface {
	// MayWrite returns what the role lacks of what working for runs needs; nil if it lacks nothing.
	MayWrite(ctx context.Context) error
	// MayPurge returns what the role lacks of what deleting payloads that are due needs besides; nil if it lacks
	// nothing.
	MayPurge(ctx context.Context) error
	// Owner returns the role if it owns the landscape, or else nothing.
	Owner(ctx context.Context) (string, error)
	// Size returns how many bytes the landscape takes in the database.
	Size(ctx context.Context) (int64, error)
}

// ServiceError says that a service that a URL names cannot be used. It may pass: a server that is not there yet may come.
type ServiceError struct {
	Place string // of the service, for people: without secrets
	Err   error
}

// Error returns what the driver said, which names the service, its address and what to check.
func (e *ServiceError) Error() string { return e.Err.Error() }

// Unwrap returns what the driver said.
func (e *ServiceError) Unwrap() error { return e.Err }

// Check says what is wrong with the URLs, without looking for the services that they name. The error is a *URLError.
func (o Options) Check() error {
	record, err := split(ofLandscape, o.Landscape, landscapeForms)
	if err == nil && record.scheme == schemePostgres {
		if _, fault := pgstore.Place(record.url); fault != nil {
			err = &URLError{ofLandscape, ": " + fault.Error()}
		}
	}
	payloads, wrong := split(ofPayloads, o.Payloads, payloadsForms)
	if wrong == nil && payloads.scheme == schemeS3 {
		if _, fault := s3store.Place(payloads.url); fault != nil {
			wrong = &URLError{ofPayloads, ": " + fault.Error()}
		}
	}
	return errors.Join(err, wrong)
}

// Open opens both. The error is a *URLError if a URL names no storage, a *ServiceError if a service cannot be used, and
// wraps a *landscape.UnfitError if there is no landscape that this program can use, and ErrNoLandscape or ErrNoPayloads
// if there is nothing and o.Create is not set. No error repeats a password. After an error nothing stays open.
func Open(ctx context.Context, o Options) (*Storage, error) {
	if _, err := split(ofPayloads, o.Payloads, payloadsForms); err != nil { // before anything is made
		return nil, err
	}
	opened, err := OpenLandscape(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := opened.OpenPayloads(ctx, o); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// OpenPayloads opens the payload store of a Storage that OpenLandscape returned; its errors are those of Open. After an error the
// landscape stays open, and it may be tried again.
func (s *Storage) OpenPayloads(ctx context.Context, o Options) error {
	backend, err := s.openPayloads(ctx, o)
	if err != nil {
		return err
	}
	s.Payloads = payload.New(backend, payload.Options{OnHeal: s.onHeal(o.logger()), Missing: s.purged})
	return nil
}

// OpenLandscape is Open without the payload store, which need not be there: Payloads is nil until OpenPayloads.
func OpenLandscape(ctx context.Context, o Options) (*Storage, error) {
	ref, err := split(ofLandscape, o.Landscape, landscapeForms)
	if err != nil {
		return nil, err
	}
	open := openFile
	if ref.scheme == schemePostgres {
		open = openPostgres
	}
	driver, place, err := open(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = failpoint.Clock()
	}
	archived := archive.NewLibrary()
	opened := &Storage{Place: place, Log: landscape.New(inhand.New(driver), o.Clock).Opening(archived.Open), close: []func() error{driver.Close, archived.Close}}
	opened.roles, _ = driver.(roles)
	return opened, nil
}

// MayWrite says whether the role with which the landscape is open may do what working for runs needs. The error is a *ServiceError that
// says what it lacks, and who gives it that.
func (s *Storage) MayWrite(ctx context.Context) error {
	if s.roles == nil {
		return nil
	}
	if err := s.roles.MayWrite(ctx); err != nil {
		return &ServiceError{s.Place, err}
	}
	return nil
}

// MayPurge says whether the role may delete payloads that are due. The error is a *ServiceError that says what it
// lacks, and who gives it that.
func (s *Storage) MayPurge(ctx context.Context) error {
	if s.roles == nil {
		return nil
	}
	if err := s.roles.MayPurge(ctx); err != nil {
		return &ServiceError{s.Place, err}
	}
	return nil
}

// Size returns how many bytes the landscape takes in the database; 0 of one in a file, whose size the file tells. The error is a *ServiceError.
func (s *Storage) Size(ctx context.Context) (int64, error) {
	if s.roles == nil {
		return 0, nil
	}
	bytes, err := s.roles.Size(ctx)
	if err != nil {
		return 0, &ServiceError{s.Place, err}
	}
	return bytes, nil
}

// OwnerWarning returns the warning for a process that works for runs as the owner of the landscape; nothing if the role owns none.
func (s *Storage) OwnerWarning(ctx context.Context) (string, error) {
	if s.roles == nil {
		return "", nil
	}
	role, err := s.roles.Owner(ctx)
	if err != nil || role == "" {
		return "", err
	}
	return fmt.Sprintf("the role %s owns the record, and so could change what is there: work as a role that has the rights of a writer only; "+
		"`waymark landscape grant` gives them", role), nil
}

func openFile(ctx context.Context, ref reference, o Options) (landscape.Driver, string, error) {
	if o.SQLite == nil {
		return nil, "", &URLError{ofLandscape, ": this program has no SQLite; supported: postgres://USER@HOST/DATABASE, or run `waymark worker`"}
	}
	if o.Create {
		if err := os.MkdirAll(filepath.Dir(ref.path), 0o700); err != nil {
			return nil, "", err
		}
	}
	driver, err := o.SQLite(ctx, ref.path, o.Create)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil, "", fmt.Errorf("%s: %w", ref.path, ErrNoLandscape)
	}
	return driver, ref.path, err
}

func openPostgres(ctx context.Context, ref reference, _ Options) (landscape.Driver, string, error) {
	place, err := pgstore.Place(ref.url)
	if err != nil {
		return nil, "", &URLError{ofLandscape, ": " + err.Error()}
	}
	store, err := pgstore.Open(ctx, ref.url)
	if _, unfit := errors.AsType[*landscape.UnfitError](err); unfit {
		return nil, "", err
	}
	if err != nil {
		return nil, "", &ServiceError{place, err}
	}
	return store, store.Location(), nil
}

func (s *Storage) openPayloads(ctx context.Context, o Options) (payload.Backend, error) {
	ref, err := split(ofPayloads, o.Payloads, payloadsForms)
	if err != nil {
		return nil, err
	}
	if ref.scheme == schemeS3 {
		return s.openBucket(ctx, ref, o)
	}
	objects, err := openFolder(ctx, ref.path, o.Create)
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, objects.Close)
	return objects, nil
}

// openBucket opens a payload store in a bucket, behind a cache.
func (s *Storage) openBucket(ctx context.Context, ref reference, o Options) (payload.Backend, error) {
	place, err := s3store.Place(ref.url)
	if err != nil {
		return nil, &URLError{ofPayloads, ": " + err.Error()}
	}
	bucket, err := s3store.Open(ctx, ref.url)
	if err != nil {
		return nil, &ServiceError{place, err}
	}
	s.close = append(s.close, bucket.Close)
	if o.Create {
		if _, err := bucket.Sweep(ctx, s3store.DefaultGrace); err != nil { // it may not be ours to do: a bucket can have a rule for that
			o.logger().Warn("uploads that nobody finished are not cleared away", "payloads", place, "error", err)
		}
	}
	return cache.New(bucket, cmp.Or(o.CacheBytes, DefaultCacheBytes)), nil
}

// openFolder opens a payload store in a folder. With create it makes the store if it is missing, and clears away what
// killed writers left there.
func openFolder(ctx context.Context, path string, create bool) (*fsstore.Store, error) {
	if !create {
		if _, err := os.Stat(filepath.Join(path, "objects")); err != nil {
			return nil, fmt.Errorf("%s: %w", path, ErrNoPayloads)
		}
		return fsstore.Open(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	objects, err := fsstore.Create(path)
	if err != nil {
		return nil, err
	}
	if _, err := objects.Sweep(ctx, fsstore.DefaultGrace); err != nil {
		return nil, errors.Join(err, objects.Close())
	}
	return objects, nil
}

// onHeal puts on record that a poisoned payload was replaced. The good bytes are in place then: a report that is lost is no
// reason to fail a run.
func (s *Storage) onHeal(logger *slog.Logger) func(payload.Heal) {
	return func(heal payload.Heal) {
		if err := s.Log.RecordHeal(context.Background(), string(heal.Digest), heal.Reason, heal.Place); err != nil {
			logger.Error("a healed payload is not recorded", "digest", heal.Digest, "error", err)
		}
	}
}

// purged says what is recorded of the purge of a payload that is not there; nothing if it was not purged.
func (s *Storage) purged(ctx context.Context, digest payload.Digest) string {
	purged, err := s.Log.Purged(ctx, string(digest))
	if err != nil || purged == nil {
		return ""
	}
	return purged.String()
}

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// Close releases everything, the payload store before the landscape. Call it once.
func (s *Storage) Close() error {
	var failed error
	for i := len(s.close) - 1; i >= 0; i-- {
		failed = errors.Join(failed, s.close[i]())
	}
	return failed
}
