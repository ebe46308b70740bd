package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/landscape"
)

// Codes of Postgres' errors: https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	uniqueViolation      = "23505"
	checkViolation       = "23514"
	divisionByZero       = "22012"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	lockNotAvailable     = "55P03"
	diskFull             = "53100"
	tooManyConnections   = "53300"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02"
	cannotConnectNow     = "57P03"
	readOnly             = "25006"
	badPassword          = "28P01"
	badAuthorization     = "28000"
	noDatabase           = "3D000"
	noPrivilege          = "42501"
	noTable              = "42P01"
	duplicateTable       = "42P07"
	duplicateObject      = "42710"
	duplicateFunction    = "42723"
	protocolViolation    = "08P01"
	connectionException  = "08"
)

// refusal is a reason to have nothing to do with a server. No retry cures it.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

// told is an error in words of ours, whose cause stays known to programs.
type told struct {
	text  string
	cause error
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.cause }

// explain names the place, and what cures an error where that is known. Its text has no password: neither place nor what
// pgx says have one.
func explain(place string, err error) error {
	if err == nil {
		return nil
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return fmt.Errorf("landscape %s: %w", place, r)
	}
	if d, ok := errors.AsType[*denial](err); ok {
		return fmt.Errorf("landscape %s: %w", place, d)
	}
	if u, ok := errors.AsType[*landscape.UnfitError](err); ok {
		return fmt.Errorf("landscape %s: %w", place, u)
	}
	if strings.Contains(err.Error(), "startup parameter") && codeOf(err) == protocolViolation {
		return fmt.Errorf("landscape %s: %w", place, &refusal{pooled})
	}
	cure, sentinel := remedy(err)
	text := "landscape " + place + ": "
	if cure != "" {
		text += cure + ": "
	}
	cause := err
	if sentinel != nil {
		cause = errors.Join(sentinel, err)
		text += sentinel.Error() + ": "
	}
	return &told{text: text + oneLine(strings.TrimPrefix(err.Error(), "landscape: ")), cause: cause}
}

// oneLine joins the lines of pgx's errors about connections, one per address that it tried.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// remedy says what a person can do about an error, and which of the landscape's errors it is.
func remedy(err error) (cure string, sentinel error) {
	if _, is := errors.AsType[*pgconn.ConnectError](err); is && codeOf(err) == noPrivilege {
		return "the role may not connect to this database: `grant connect on database`, of the database's owner, allows it", nil
	}
	switch code := codeOf(err); code {
	case diskFull:
		return "make space on the server's disk", landscape.ErrFull
	case readOnly:
		return "the server or the database only reads: name the one that writes", landscape.ErrReadOnly
	case badPassword, badAuthorization:
		return "the server refuses the user or the password: look at the URL, PGUSER, PGPASSWORD and the pass file", nil
	case noDatabase:
		return "there is no such database: look at the name at the end of the URL's path", nil
	case noPrivilege:
		return "the role has no right to do this: `waymark landscape grant` gives it", nil
	case noTable:
		return "the role may not use the schema, or the record was removed: `waymark landscape grant`, of the schema's owner, gives the right", nil
	case tooManyConnections:
		return "the server has no connection left: raise its max_connections, or lower pool_max_conns in the URL", landscape.ErrAway
	case adminShutdown, crashShutdown, cannotConnectNow:
		return "the server stops or starts: try again when it is up", landscape.ErrAway
	case checkViolation:
		return "", guarded(err)
	case "":
		return connecting(err)
	default:
		return "", nil
	}
}

// guarded returns the error of a guard that callers ask for; nil for others.
func guarded(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "payload purged:"):
		return landscape.ErrPurged
	case strings.Contains(text, "payload in use:"):
		return landscape.ErrInUse
	}
	return nil
}

// connecting is remedy for an error of a connection; it says nothing of another error.
func connecting(err error) (cure string, sentinel error) {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "nobody knows this host: look at the URL", landscape.ErrAway
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: is Postgres running, and does it listen at this address?", landscape.ErrAway
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time: is the address right, and does a firewall let it through?", landscape.ErrAway
	case lost(err):
		return "the connection broke: is Postgres still running?", landscape.ErrAway
	default:
		return "", nil
	}
}

// codeOf returns the code of an error that the server sent; empty for others.
func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// passing reports whether the same may work a moment later. Only for what is done before a commit, and is undone by its error.
func passing(err error) bool {
	code := codeOf(err)
	return slices.Contains([]string{
		serializationFailure, deadlockDetected, lockNotAvailable, tooManyConnections, adminShutdown, crashShutdown,
		cannotConnectNow,
	}, code) || strings.HasPrefix(code, connectionException) || code == "" && lost(err)
}

// lost reports whether a connection broke, or could not be made.
func lost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, pgx.ErrNoRows) {
		return false
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}
