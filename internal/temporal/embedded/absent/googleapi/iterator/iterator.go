// Package iterator has the error by which Temporal's server knows the end of a list of Google's.
package iterator

import "errors"

// Done is the error after the last item. Nothing returns it: lists fail.
var Done = errors.New("no more items in iterator")
