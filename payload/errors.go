package payload

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound says that nothing is stored under a digest. Whether it was purged or is missing is for the landscape
	// to say: the store asks it, see Options.Missing.
	ErrNotFound = errors.New("payload not found")

	// ErrCorrupt says that what is stored is not what its name promises. Every such error is a *CorruptError. No retry
	// cures it; putting the good bytes again does.
	ErrCorrupt = errors.New("payload corrupt")

	// ErrBadKey says that a key is not a digest. Nothing was read or written.
	ErrBadKey = errors.New("bad payload key")

	// ErrTooLarge says that a payload is longer than the limit of the store.
	ErrTooLarge = errors.New("payload too large")

	// ErrUnavailable says that the backend failed: it tells nothing about what is stored. Only Get and GetRecord say so.
	ErrUnavailable = errors.New("payload store failed")
)

// ErrPurged says that nothing is stored under a digest because it was purged. Every such error is a *PurgedError, and wraps ErrNotFound too.
var ErrPurged = errors.New("payload purged")

// A PurgedError says when a payload was purged, by whom, and why.
type PurgedError struct {
	Digest Digest
	Told   string // by Options.Missing
}

// Error names the payload and says what became of it.
func (e *PurgedError) Error() string { return fmt.Sprintf("payload %s was %s", e.Digest, e.Told) }

// Is makes errors.Is hold for ErrPurged and ErrNotFound.
func (e *PurgedError) Is(target error) bool { return target == ErrPurged || target == ErrNotFound }

// A CorruptError says what is wrong with a stored object. errors.Is(err, ErrCorrupt) holds for it.
type CorruptError struct {
	// Digest names the object. It is empty where bytes were decoded that were not read by name, as by DecodePack.
	Digest Digest
	// Reason is one phrase for people. It holds no byte of the payload.
	Reason string
}

// Error names the object and the reason.
func (e *CorruptError) Error() string {
	if e.Digest == "" {
		return fmt.Sprintf("%v: %s", ErrCorrupt, e.Reason)
	}
	return fmt.Sprintf("%v: %s: %s", ErrCorrupt, e.Digest, e.Reason)
}

// Is makes errors.Is(err, ErrCorrupt) hold.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }
