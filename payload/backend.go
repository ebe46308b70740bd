package payload

import "context"

// A Backend keeps opaque objects by key. It does not hash, compress or verify: Store does that once, for every backend.
//
// A key is a digest as ParseDigest accepts it. For any other string every method returns an error that wraps ErrBadKey
// and touches nothing; for a context that has ended, its error. Methods may be called from many goroutines, and from
// many processes on the same place, at once. Implementations must pass payloadtest.Run.
type Backend interface {
	// Write makes data durable under key before it returns nil; from then on Read returns exactly data, whatever bytes
	// were there before. Nobody ever sees a part of data under key. Write does not keep data. Writing the same bytes
	// again is not an error. What cannot be an object is in the way until Quarantine was called for it. After an error
	// the object may or may not be there, and calling Write again is safe.
	Write(ctx context.Context, key string, data []byte) error

	// Read returns all bytes under key; the caller owns the slice, which is not nil. The error wraps ErrNotFound if
	// nothing is there, ErrTooLarge if the object is longer than limit bytes (it is then not read), and ErrCorrupt if
	// what is there cannot be an object, for example a folder. Read never waits for a writer and changes nothing.
	Read(ctx context.Context, key string, limit int64) ([]byte, error)

	// ReadRange returns length bytes of the object under key from offset on, or fewer where it ends before, and the length
	// of the whole object. A negative offset counts from the end; then bytes before the object's beginning are left out.
	// length is at least 1. The rest of the object is not read. The caller owns the slice, which is not nil. The error is
	// as for Read, but for ErrTooLarge.
	ReadRange(ctx context.Context, key string, offset, length int64) (data []byte, size int64, err error)

	// Stat describes the object under key without reading it. A nil error also promises that the object would survive
	// a power cut, even if its writer was cut off between making it visible and making it durable. The error wraps
	// ErrNotFound or ErrCorrupt as for Read.
	Stat(ctx context.Context, key string) (Info, error)

	// Delete removes the object under key, whatever it is, and everything set aside under the same key. It is durable
	// when Delete returns nil. Deleting what is not there is not an error. The caller makes sure that nobody relies on
	// the object or is about to.
	Delete(ctx context.Context, key string) error

	// Walk calls fn with the key of every object, each once, in ascending order. What cannot be an object but stands
	// under a key is included; unfinished writes and what was set aside are not. Objects written or deleted during the
	// walk may or may not be seen. Walk stops at the first error of fn and returns it.
	Walk(ctx context.Context, fn func(key string) error) error

	// Quarantine keeps what stands under key aside, for a person to look at, and returns the name of the place. It
	// never overwrites what was set aside before. The object may stay under key until the next Write replaces it: an
	// object that another writer has just put right is not lost. The error wraps ErrNotFound if nothing is there.
	Quarantine(ctx context.Context, key string) (place string, err error)
}

// Range returns the part of an object of size bytes that ReadRange means: [from, to), which lies within the object.
func Range(size, offset, length int64) (from, to int64) {
	if offset < 0 {
		offset, length = max(offset+size, 0), length+min(offset+size, 0)
	}
	from = min(offset, size)
	return from, from + min(max(length, 0), size-from)
}

// Info describes a stored object.
type Info struct {
	// Bytes is the length of the object.
	Bytes int64
	// Version is an opaque word that changes when the object is replaced or modified. It only means something when
	// compared with another Version of the same key from the same backend.
	Version string
}
