package object

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"
)

// TestWhatIsRetried tells errors of the setup, which end a run at once, from those that a later try may not have.
func TestWhatIsRetried(t *testing.T) {
	answer := func(status int) error {
		return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
			Err:      errors.New("from the service that gives credentials"),
		}}
	}
	var provider watched
	found := aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}
	for _, c := range []struct {
		name  string
		err   error // of the provider; nil: it finds some
		retry bool
	}{
		{"the service fails", answer(http.StatusServiceUnavailable), true},
		{"too many requests", answer(http.StatusTooManyRequests), true},
		{"the search is interrupted", context.Canceled, true},
		{"there are none", errors.New("no EC2 IMDS role found"), false},
		{"the role is refused", answer(http.StatusForbidden), false},
		{"there are some", nil, true},
		{"they cannot be renewed", errors.New("no EC2 IMDS role found"), true},
	} {
		provider.CredentialsProvider = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials,
			error) {
			return found, c.err
		})
		_, err := provider.Retrieve(t.Context())
		require.ErrorIs(t, err, c.err, c.name)
		require.Equal(t, c.retry, refusalOf(err, "Amazon S3") == nil, c.name)
	}
	untrusted := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	require.Equal(t, codeRequestRefused, refusalOf(untrusted, "https://files").code)
	require.Equal(t, codeRequestRefused, refusalOf(http.ErrSchemeMismatch, "https://files").code)
	require.Nil(t, refusalOf(errors.New("connection refused"), "https://files"))
}
