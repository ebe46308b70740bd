package storage

import (
	"fmt"
	"net/url"
	"strings"
)

// Schemes of the URLs. People write them into settings; never rename.
const (
	schemeSQLite   = "sqlite"
	schemeFile     = "file"
	schemeS3       = "s3"
	schemePostgres = "postgres"
)

// What the URLs are of, and what can be written there. People set them by these names; never rename.
const (
	ofLandscape    = "landscape"
	landscapeForms = "sqlite:PATH, postgres://USER@HOST/DATABASE"
	ofPayloads     = "payloads"
	payloadsForms  = "file:FOLDER, s3://BUCKET/PREFIX"
)

// URLError says that a URL names no storage. It does not repeat more of the URL than its scheme: the rest may hold a password.
type URLError struct {
	Of      string // landscape or payloads: the name of the option that has the URL
	Problem string
}

// Error returns the name of the option and the problem.
func (e *URLError) Error() string { return e.Of + e.Problem }

// reference is a URL in two parts.
type reference struct {
	scheme string
	path   string // what follows the scheme
	url    string // the whole
}

// split takes a URL apart. forms are all that can be written for it.
func split(of, text, forms string) (reference, error) {
	scheme, path, found := strings.Cut(text, ":")
	if scheme == "postgresql" { // the other name that Postgres' own programs take
		scheme = schemePostgres
	}
	switch {
	case !found:
		return reference{}, &URLError{of, " has no scheme; supported: " + forms}
	case !strings.HasPrefix(forms, scheme+":") && !strings.Contains(forms, " "+scheme+":"):
		return reference{}, &URLError{of, fmt.Sprintf(": unknown scheme %q; supported: %s", scheme, forms)}
	case strings.Trim(path, "/") == "" && path != "/":
		return reference{}, &URLError{of, " names nothing; supported: " + forms}
	}
	return reference{scheme, path, text}, nil
}

// LandscapePath returns the file that the URL of a landscape names. The error is a *URLError if the URL is none, or names
// no file.
func LandscapePath(landscape string) (string, error) {
	return pathOf(ofLandscape, landscape, landscapeForms, schemeSQLite)
}

// PayloadsPath returns the folder that the URL of a payload store names. The error is as that of LandscapePath.
func PayloadsPath(payloads string) (string, error) {
	return pathOf(ofPayloads, payloads, payloadsForms, schemeFile)
}

func pathOf(of, text, forms, scheme string) (string, error) {
	ref, err := split(of, text, forms)
	if err == nil && ref.scheme != scheme {
		err = &URLError{of, fmt.Sprintf(" names no file of this machine, but %s", ref.place())}
	}
	if err != nil {
		return "", err
	}
	return ref.path, nil
}

// PublicPlace returns the place that a URL names, for people: a path, or the URL without user, password and options.
func PublicPlace(text string) string {
	scheme, path, _ := strings.Cut(text, ":")
	return reference{scheme, path, text}.place()
}

// place returns the URL for people: without user, password and options.
func (r reference) place() string {
	if r.scheme == schemeSQLite || r.scheme == schemeFile {
		return r.path
	}
	parsed, err := url.Parse(r.url)
	if err != nil {
		return r.scheme + "://…" // the error repeats the URL
	}
	return (&url.URL{Scheme: r.scheme, Host: parsed.Host, Path: parsed.Path}).String()
}
