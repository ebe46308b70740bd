package s3store

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"waymark/payload"
)

// Codes of S3 on which the course of things depends.
const (
	codeNoBucket     = "NoSuchBucket"
	codePrecondition = "PreconditionFailed"
	codeConflict     = "ConditionalRequestConflict"
	codeAborted      = "OperationAborted"
	codeNoUpload     = "NoSuchUpload"
	codeNoKey        = "NoSuchKey"
	codeNotFound     = "NotFound"
)

// cures say what a code means and what to check, by the code that the server gives.
var cures = map[string]string{
	codeNoBucket:                         "there is no such bucket: create it, or correct the URL",
	"AccessDenied":                       denied,
	"AllAccessDisabled":                  denied,
	"AccountProblem":                     denied,
	"InvalidAccessKeyId":                 unknownKey,
	"XAdminUserNotFound":                 unknownKey, // of versitygw
	"SignatureDoesNotMatch":              "the secret key does not belong to the access key, or something on the way changes requests: check AWS_SECRET_ACCESS_KEY",
	"ExpiredToken":                       expired,
	"InvalidToken":                       expired,
	"TokenRefreshRequired":               expired,
	"RequestTimeTooSkewed":               "the clocks of this machine and of the server differ too much: set them",
	"PermanentRedirect":                  elsewhere,
	"TemporaryRedirect":                  elsewhere,
	"AuthorizationHeaderMalformed":       elsewhere,
	"IllegalLocationConstraintException": elsewhere,
	"InvalidBucketName":                  "the server does not take the name of the bucket: correct the URL, or add path_style=true",
	"InvalidObjectState":                 "the object lies in an archive: restore it first, and keep rules of the bucket from moving payloads there",
	"SlowDown":                           overloaded,
	"ServiceUnavailable":                 overloaded,
	"Throttling":                         overloaded,
	"NotImplemented":                     "the server does not support what safe writing needs: conditional writes (If-None-Match, If-Match) and SHA-256 checksums",
	"BadDigest":                          altered,
	"XAmzContentSHA256Mismatch":          altered,
	"InternalError":                      "the server failed: look into its log",
}

const (
	denied     = "access is denied: the credentials need the rights that docs/payloads.md lists"
	unknownKey = "the server does not know the access key: check AWS_ACCESS_KEY_ID, or the profile or role in its place"
	expired    = "the session token has expired or is wrong: renew the credentials, and check AWS_SESSION_TOKEN"
	elsewhere  = "the bucket is in another region, or at another endpoint: correct region or endpoint in the URL"
	overloaded = "the server asks to be left alone for a while: it is overloaded, or requests are limited"
	altered    = "what arrived is not what was sent: something on the way changes requests"
	full       = "no space left: make space on the server, or raise the quota"
)

// fullCodes are those with which servers say that there is no space left, besides the status 507.
var fullCodes = map[string]bool{
	"InsufficientStorage": true, "QuotaExceeded": true, "XMinioStorageFull": true, "NoSpaceLeftOnDevice": true,
}

// failed says which place failed at what, why, and what to check. A nil error stays nil. The error wraps what payload's
// contract asks for, and syscall.ENOSPC if the server has no space left.
func (s *Store) failed(what, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case key != "" && isMissing(err):
		return fmt.Errorf("%w: %s", payload.ErrNotFound, key)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %s: %w", s.place, strings.TrimSpace(what+" "+key), err)
	}
	f := &failure{what: strings.TrimSpace(what + " " + key), place: s.place.String(), cause: err}
	f.cure, f.kind = explain(err)
	return f
}

// failure is an error of the server, or of the way to it, in words for people.
type failure struct {
	what, place string
	cure        string
	kind        error // what errors.Is finds besides the cause, or nil
	cause       error
}

func (f *failure) Error() string {
	parts := []string{f.place, f.what}
	if f.cure != "" {
		parts = append(parts, f.cure)
	}
	return strings.Join(append(parts, brief(f.cause)), ": ")
}

func (f *failure) Unwrap() []error {
	if f.kind == nil {
		return []error{f.cause}
	}
	return []error{f.kind, f.cause}
}

// explain finds the cure for an error, and the kind of error that the rest of the program knows.
func explain(err error) (cure string, kind error) {
	code, status := codeOf(err), statusOf(err)
	switch {
	case fullCodes[code] || status == http.StatusInsufficientStorage:
		return full, syscall.ENOSPC
	case cures[code] == elsewhere:
		return elsewhere + region(err), nil
	case cures[code] != "":
		return cures[code], nil
	case status == http.StatusForbidden:
		return denied, nil
	case status == http.StatusMovedPermanently || status == http.StatusTemporaryRedirect:
		return elsewhere + region(err), nil
	case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
		return overloaded, nil
	}
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		return "this does not look like an S3 server: correct the endpoint", nil
	}
	return explainNetwork(err), nil
}

// region tells the region that the server names, if it does.
func region(err error) string {
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.Response != nil {
		if name := response.Response.Header.Get("X-Amz-Bucket-Region"); name != "" {
			return fmt.Sprintf(" (the server says region=%s)", clean(name))
		}
	}
	return ""
}

func explainNetwork(err error) string {
	dns, unknownHost := errors.AsType[*net.DNSError](err)
	_, untrusted := errors.AsType[x509.UnknownAuthorityError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	timeout, slow := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: start the server, or correct the endpoint"
	case unknownHost:
		return fmt.Sprintf("the name %s cannot be found: correct the endpoint, or try path_style=true", dns.Name)
	case untrusted:
		return "the server's certificate is not trusted: set AWS_CA_BUNDLE to a file with its authority"
	case otherName:
		return "the server's certificate is for another name: correct the endpoint, or try path_style=true"
	case errors.Is(err, errSilent), slow && timeout.Timeout():
		return "the server does not answer: check that it is well, and that nothing on the way drops packets"
	case strings.Contains(err.Error(), "does not look like a TLS handshake"), errors.Is(err, http.ErrSchemeMismatch):
		return "the server speaks no TLS: write http:// in the endpoint"
	}
	return ""
}

// brief is the innermost text of an error of the SDK: what the server said, or what happened to the connection. The SDK's
// own text repeats bucket, key and address around it.
func brief(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return clean(fmt.Sprintf("%s (%s)", cmp.Or(api.ErrorMessage(), http.StatusText(statusOf(err))), api.ErrorCode()))
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return clean(network.Error())
	}
	if sent, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return clean(sent.Err.Error())
	}
	return clean(err.Error())
}

// maxBrief bounds what a server can put into our errors, in bytes.
const maxBrief = 300

// clean makes text of a server fit for one line.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > maxBrief {
		return strings.ToValidUTF8(text[:maxBrief], "") + "…"
	}
	return text
}

func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// statusOf returns the HTTP status of a refusal, or 0.
func statusOf(err error) int {
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return response.HTTPStatusCode()
	}
	return 0
}

// isMissing: what was named is not there. Replies to HEAD say no more than NotFound, also if the bucket is away.
func isMissing(err error) bool {
	switch codeOf(err) {
	case codeNoKey, codeNotFound, codeNoUpload:
		return true
	}
	return false
}

// isOvertaken: what is there is not what the condition asks for, or somebody is at it in this moment.
func isOvertaken(err error) bool {
	switch codeOf(err) {
	case codePrecondition, codeConflict, codeAborted, codeNoUpload, codeNoKey:
		return true
	}
	return statusOf(err) == http.StatusPreconditionFailed
}

// isUnexplained: a refusal that may have come without its reason. Replies to HEAD have no body that could tell it.
func isUnexplained(err error) bool {
	status := statusOf(err)
	return status >= http.StatusMultipleChoices && status != http.StatusNotFound
}
