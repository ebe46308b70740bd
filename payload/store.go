package payload

import (
	"context"
	"errors"
	"fmt"
)

// DefaultMaxBytes is the longest payload a Store takes unless Options say otherwise.
const DefaultMaxBytes = 256 << 20

// Options of a Store. The zero value is ready for use.
type Options struct {
	// MaxBytes is the longest payload that Put takes and Get returns; zero means DefaultMaxBytes.
	MaxBytes int64

	// OnHeal, if not nil, is called after a poisoned object was replaced by good bytes. Concurrent Puts that find the
	// same poison may each report it. It is called from the goroutine of Put.
	OnHeal func(Heal)

	// Missing, if not nil, is asked why nothing is stored under a digest that Get or GetRecord was asked for. What it tells, such as
	// "purged 2027-02-01 by ann", makes the error a *PurgedError; nothing leaves it as it is.
	Missing func(ctx context.Context, d Digest) (told string)
}

// A Heal is the event of a poisoned object replaced by good bytes.
type Heal struct {
	Digest Digest
	// Reason says what was wrong, as in CorruptError.
	Reason string
	// Place is where the poisoned object is kept, in the words of the backend.
	Place string
}

// A Store keeps payloads under the SHA-256 of their bytes. It owns hashing, verification and limits; the Backend moves
// bytes. It is safe for concurrent use.
type Store struct {
	backend  Backend
	maxBytes int64
	onHeal   func(Heal)
	missing  func(context.Context, Digest) string
	seen     verified
}

// New returns a Store over backend.
func New(backend Backend, opts Options) *Store {
	s := &Store{backend: backend, maxBytes: opts.MaxBytes, onHeal: opts.OnHeal, missing: opts.Missing}
	if s.maxBytes == 0 {
		s.maxBytes = DefaultMaxBytes
	}
	if s.onHeal == nil {
		s.onHeal = func(Heal) {}
	}
	return s
}

// Put stores data and returns its Digest. A nil error means that the object is durable and correct.
//
// If the object is there already, its length is compared every time and its content once per process and version of the
// object. A poisoned object is set aside, replaced, read back, and then reported to Options.OnHeal.
//
// The error wraps ErrTooLarge if data is over the limit. After any other error the object may or may not be stored;
// calling Put again is always safe. Put does not keep data.
func (s *Store) Put(ctx context.Context, data []byte) (Digest, error) {
	if int64(len(data)) > s.maxBytes {
		return "", fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, len(data), s.maxBytes)
	}
	d := Of(data)
	reason, err := s.inspect(ctx, d, int64(len(data)))
	switch {
	case errors.Is(err, ErrNotFound):
		err = s.backend.Write(ctx, string(d), data)
	case err == nil && reason != "":
		err = s.heal(ctx, d, data, reason)
	}
	if err != nil {
		return "", fmt.Errorf("put payload %s: %w", d, err)
	}
	return d, nil
}

// inspect says why the object under d is poisoned, or "" if it is good and durable. size is the length it must have.
func (s *Store) inspect(ctx context.Context, d Digest, size int64) (reason string, err error) {
	info, err := s.backend.Stat(ctx, string(d))
	if err != nil {
		return poison(err)
	}
	if info.Bytes != size {
		return fmt.Sprintf("it is %d bytes long instead of %d", info.Bytes, size), nil
	}
	if s.seen.has(d, info.Version) {
		return "", nil
	}
	if _, err := s.read(ctx, d, size); err != nil {
		return poison(err)
	}
	s.seen.add(d, info.Version)
	return "", nil
}

// poison takes the reason out of an error that says that the object itself is wrong. Other errors pass.
func poison(err error) (reason string, _ error) {
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		return corrupt.Reason, nil
	}
	if errors.Is(err, ErrTooLarge) {
		return "it changed while it was read", nil
	}
	return "", err
}

// heal replaces a poisoned object, and reports that once the good bytes were read back: a store that says it wrote may have
// kept what it had.
func (s *Store) heal(ctx context.Context, d Digest, data []byte, reason string) error {
	place, err := s.backend.Quarantine(ctx, string(d))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("set the poisoned object aside: %w", err)
	}
	if err := s.backend.Write(ctx, string(d), data); err != nil {
		return err
	}
	if err := s.readBack(ctx, d, int64(len(data))); err != nil {
		return err
	}
	s.onHeal(Heal{Digest: d, Reason: reason, Place: place})
	return nil
}

// readBack reads an object that was just replaced. That it is wrong again is a fault of the store, which may pass: the error
// does not wrap ErrCorrupt.
func (s *Store) readBack(ctx context.Context, d Digest, size int64) error {
	_, err := s.read(ctx, d, size)
	still, err := poison(err)
	if err != nil {
		return fmt.Errorf("read back what replaced a poisoned object: %w", err)
	}
	if still != "" {
		return fmt.Errorf("the object is still wrong after good bytes were written in its place: %s; check the disk of the payload store", still)
	}
	return nil
}

// Get returns the bytes stored under d after checking that they hash to d. The caller owns the slice, which is not nil.
//
// The error wraps ErrBadKey, ErrNotFound, ErrTooLarge (over the limit of this Store) or ErrCorrupt; anything else is a
// failure of the backend, and wraps ErrUnavailable. Corrupt bytes are never returned, and stay where they are until Put or Delete.
func (s *Store) Get(ctx context.Context, d Digest) ([]byte, error) {
	data, err := s.read(ctx, d, s.maxBytes)
	return data, known(s.told(ctx, d, err))
}

// told returns a *PurgedError in the place of one that says that nothing is stored, if the object was purged; others as they are.
func (s *Store) told(ctx context.Context, d Digest, err error) error {
	if s.missing == nil || !errors.Is(err, ErrNotFound) {
		return err
	}
	if told := s.missing(ctx, d); told != "" {
		return &PurgedError{Digest: d, Told: told}
	}
	return err
}

// known returns the error of Get: what says nothing about the object itself wraps ErrUnavailable.
func known(err error) error {
	for _, told := range []error{nil, ErrBadKey, ErrNotFound, ErrTooLarge, ErrCorrupt} {
		if errors.Is(err, told) {
			return wrapped(err)
		}
	}
	return wrapped(unavailable{err})
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("get payload: %w", err)
}

// unavailable is an error that wraps ErrUnavailable, and says the same as without.
type unavailable struct{ error }

func (u unavailable) Unwrap() error      { return u.error }
func (unavailable) Is(target error) bool { return target == ErrUnavailable }

// read is Get with a limit in bytes.
func (s *Store) read(ctx context.Context, d Digest, limit int64) ([]byte, error) {
	data, err := s.backend.Read(ctx, string(d), limit)
	if err != nil {
		return nil, err
	}
	if got := Of(data); got != d {
		return nil, &CorruptError{Digest: d, Reason: fmt.Sprintf("its %d bytes hash to %s", len(data), got)}
	}
	return data, nil
}

// Has reports whether an object is stored durably under d. It does not read the object: only Get and Scrub find a wrong
// content. The error wraps ErrBadKey, or ErrCorrupt if what is there cannot be an object.
func (s *Store) Has(ctx context.Context, d Digest) (bool, error) {
	_, err := s.backend.Stat(ctx, string(d))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for payload: %w", err)
	}
	return true, nil
}

// Size returns the length of the object under d, without reading it. The error wraps ErrBadKey, ErrNotFound, or ErrCorrupt if what is there
// cannot be an object.
func (s *Store) Size(ctx context.Context, d Digest) (int64, error) {
	info, err := s.backend.Stat(ctx, string(d))
	if err != nil {
		return 0, fmt.Errorf("look for payload: %w", err)
	}
	return info.Bytes, nil
}

// Delete removes the object under d and every poisoned copy set aside under the same name. Deleting what is not there
// is not an error. The caller records the purge first, and makes sure that no run refers to d or is about to put it.
func (s *Store) Delete(ctx context.Context, d Digest) error {
	if err := s.backend.Delete(ctx, string(d)); err != nil {
		return fmt.Errorf("delete payload: %w", err)
	}
	return nil
}
