// Package storage has the names of Google's storage client that Temporal's server compiles against, and no client: this program
// archives nothing in Google Cloud Storage. NewClient always fails, so no other method can be reached with a client.
package storage

import (
	"context"
	"errors"

	"google.golang.org/api/option"
)

// ScopeFullControl is the OAuth scope that a client would ask for.
const ScopeFullControl = "https://www.googleapis.com/auth/devstorage.full_control"

// Errors that the server tests for. Nothing here returns them.
var (
	ErrBucketNotExist = errors.New("storage: bucket doesn't exist")
	ErrObjectNotExist = errors.New("storage: object doesn't exist")
)

// errAbsent is the error of every call.
var errAbsent = errors.New("archival in Google Cloud Storage is not part of this program")

// Client cannot be made.
type Client struct{}

// NewClient always fails.
func NewClient(context.Context, ...option.ClientOption) (*Client, error) { return nil, errAbsent }

// Bucket returns a handle whose calls fail.
func (*Client) Bucket(string) *BucketHandle { return new(BucketHandle) }

// BucketAttrs describes a bucket.
type BucketAttrs struct{}

// BucketHandle answers every call with an error.
type BucketHandle struct{}

// Attrs always fails.
func (*BucketHandle) Attrs(context.Context) (*BucketAttrs, error) { return nil, errAbsent }

// Object returns a handle whose calls fail.
func (*BucketHandle) Object(string) *ObjectHandle { return new(ObjectHandle) }

// Objects returns an iterator that fails.
func (*BucketHandle) Objects(context.Context, *Query) *ObjectIterator { return new(ObjectIterator) }

// Query selects objects by the beginning of their names.
type Query struct{ Prefix string }

// ObjectAttrs describes an object.
type ObjectAttrs struct{ Name string }

// ObjectHandle answers every call with an error.
type ObjectHandle struct{}

// Attrs always fails.
func (*ObjectHandle) Attrs(context.Context) (*ObjectAttrs, error) { return nil, errAbsent }

// NewReader always fails.
func (*ObjectHandle) NewReader(context.Context) (*Reader, error) { return nil, errAbsent }

// NewWriter returns a writer that fails.
func (*ObjectHandle) NewWriter(context.Context) *Writer { return new(Writer) }

// ObjectIterator has no objects.
type ObjectIterator struct{}

// Next always fails.
func (*ObjectIterator) Next() (*ObjectAttrs, error) { return nil, errAbsent }

// Reader has no bytes.
type Reader struct{}

// Read always fails.
func (*Reader) Read([]byte) (int, error) { return 0, errAbsent }

// Close does nothing.
func (*Reader) Close() error { return nil }

// Writer takes no bytes.
type Writer struct{}

// Write always fails.
func (*Writer) Write([]byte) (int, error) { return 0, errAbsent }

// Close always fails, for nothing was written.
func (*Writer) Close() error { return errAbsent }

// CloseWithError does nothing.
func (*Writer) CloseWithError(error) error { return nil }
