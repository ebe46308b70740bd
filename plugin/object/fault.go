package object

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"waymark/plugin"
	"waymark/plugin/egress"
)

// Codes of the SourceErrors of this package. Stored; never rename. Those of package file have the same words for the same things.
const (
	codeNotFound       = "NOT_FOUND"       // no such object, bucket or address
	codePathRefused    = "PATH_REFUSED"    // the place is one of the record
	codeNoPermission   = "NO_PERMISSION"   // the service rejects these credentials
	codeEgressDenied   = "EGRESS_DENIED"   // the address is inside of a network, and the operator does not allow it
	codeSecretHeld     = "SECRET_HELD"     // a secret that may not leave the process yet
	codeRedirected     = "REDIRECTED"      // the server sends elsewhere
	codeRequestRefused = "REQUEST_REFUSED" // the server rejects the request, or answers in a way that cannot be relied on
)

// Codes of the TargetErrors. Stored; never rename.
const (
	codeTargetExists  = "TARGET_EXISTS"
	codeTargetChanged = "TARGET_CHANGED"
	codeTargetRefused = "TARGET_REFUSED"
)

// refusal is what a server said, or what is wrong with how it is reached, if no retry cures it.
type refusal struct {
	code    string // of a SourceError
	message string
}

func (r *refusal) Error() string { return r.message }

// refusalOf returns what no retry cures in an error of a request to the service at the address, for people; nil if a later try may
// work.
func refusalOf(err error, service string) *refusal {
	if known, ok := errors.AsType[*refusal](err); ok {
		return known
	}
	if denied, ok := errors.AsType[*egress.DeniedError](err); ok && denied.Held {
		return &refusal{codeSecretHeld, denied.Error()}
	} else if ok {
		return &refusal{codeEgressDenied, denied.Error()}
	}
	if missing, ok := errors.AsType[*credentialsError](err); ok {
		return missing.refusal()
	}
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &refusal{codeRequestRefused, fmt.Sprintf("%s shows a certificate that is not trusted: %s: correct "+
			"the address, or have the worker's host trust its authority",
			service, innermost(untrusted))}
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return &refusal{codeRequestRefused, service + " speaks no TLS: write http:// in the address"}
	}
	var response *awshttp.ResponseError
	if !errors.As(err, &response) {
		return nil
	}
	word := http.StatusText(response.HTTPStatusCode())
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != "" {
		word = api.ErrorCode()
	}
	if isFull(response.HTTPStatusCode(), word) {
		return nil
	}
	switch word {
	case "NoSuchBucket":
		return &refusal{codeNotFound, "no such bucket at " + service}
	case "RequestTimeout", "ExpiredToken", "RequestTimeTooSkewed", "OperationAborted", "ConditionalRequestConflict":
		return nil
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return &refusal{codeRequestRefused, fmt.Sprintf("%s says %s: the bucket is in another region; name it with s3: {region: …}", service, word)}
	}
	return refusalOfStatus(response.HTTPStatusCode(), fmt.Sprintf("%s answers %d %s", service, response.HTTPStatusCode(), word),
		"check the worker's AWS credentials, and what they may do in the bucket")
}

// isFull reports whether a reply says that there is no space left, with its status or the code of its error.
func isFull(status int, code string) bool {
	switch code {
	case "InsufficientStorage", "QuotaExceeded", "XMinioStorageFull", "NoSpaceLeftOnDevice":
		return true
	}
	return status == http.StatusInsufficientStorage
}

// fullError says that a service has no space left. For errors.Is it is syscall.ENOSPC, as a full disk is: who writes
// waits until there is space.
type fullError struct{ message string }

func (e *fullError) Error() string      { return e.message }
func (*fullError) Is(target error) bool { return target == syscall.ENOSPC }

// refusalOfStatus judges by the status of a reply: nil for what a later try may cure. said begins the message, access is the cure
// for credentials.
func refusalOfStatus(status int, said, access string) *refusal {
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		return &refusal{codeNotFound, said + ": check the address"}
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired:
		return &refusal{codeNoPermission, said + ": " + access}
	case status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooEarly || status == http.StatusTooManyRequests:
		return nil
	case 400 <= status && status < 500:
		return &refusal{codeRequestRefused, said}
	}
	return nil
}

// statusOf returns the HTTP status of a reply that an error of the S3 client is about, or 0.
func statusOf(err error) int {
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return response.HTTPStatusCode()
	}
	return 0
}

// sourceFault makes a SourceError of an error of the S3 client if no retry cures it, and names the service otherwise.
func sourceFault(path string, err error, service string) error {
	if r := refusalOf(err, service); r != nil {
		return &plugin.SourceError{Code: r.code, File: path, Message: r.message}
	}
	return unreached(err, service)
}

// unreached says which service the error is about, in few words: the client repeats itself. It wraps nothing, for what people are
// shown of an error is what it wraps.
func unreached(err error, service string) error {
	if err == nil {
		return nil
	}
	api, said := errors.AsType[smithy.APIError](err)
	switch status := statusOf(err); {
	case said && isFull(status, api.ErrorCode()):
		return &fullError{fmt.Sprintf("%s answers %d %s: no space left: make space there, or raise the quota", service, status, api.ErrorCode())}
	case said:
		return fmt.Errorf("%s answers %d %s; a later try may work", service, statusOf(err), api.ErrorCode())
	}
	if missing, ok := errors.AsType[*credentialsError](err); ok {
		return fmt.Errorf("the AWS credentials cannot be renewed: %s", innermost(missing))
	}
	return fmt.Errorf("%s cannot be reached: %s; check the address, and that the service is up", service, innermost(err))
}

// innermost returns what the last error of a chain says.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil || next.Error() == "" {
			return err.Error()
		}
		err = next
	}
}

// unquoted returns an ETag without its quotes.
func unquoted(etag *string) string { return strings.Trim(aws.ToString(etag), `"`) }
