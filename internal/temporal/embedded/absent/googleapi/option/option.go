// Package option has the names of the options of Google's clients that Temporal's server compiles against. The only client
// that would take one is that of the module gcs next to this one, which cannot be made.
package option

import "golang.org/x/oauth2"

// ClientOption is an option that no client takes.
type ClientOption interface{ absent() }

type tokenSource struct{}

func (tokenSource) absent() {}

// WithTokenSource returns an option without its source of tokens.
func WithTokenSource(oauth2.TokenSource) ClientOption { return tokenSource{} }
