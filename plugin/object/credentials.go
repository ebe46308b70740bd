package object

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
)

// Credentials are those with which documents reach buckets. The zero value is those of the process, as the AWS SDK finds them.
type Credentials struct {
	Profile string // of the AWS SDK's shared files
	// Keys, in the place of a profile. Token is empty unless they belong to a session.
	AccessKeyID, SecretAccessKey, Token string
}

// load are the options by which the SDK takes these credentials, and no others.
func (c Credentials) load() []func(*config.LoadOptions) error {
	switch {
	case c.AccessKeyID != "":
		return []func(*config.LoadOptions) error{config.WithCredentialsProvider(aws.CredentialsProviderFunc(c.keys))}
	case c.Profile != "":
		return []func(*config.LoadOptions) error{config.WithSharedConfigProfile(c.Profile)} // it comes before what is in the environment
	default:
		return nil
	}
}

// keys is an aws.CredentialsProvider.
func (c Credentials) keys(context.Context) (aws.Credentials, error) {
	if c.SecretAccessKey == "" {
		return aws.Credentials{}, errors.New("the access key has no secret")
	}
	return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.Token, Source: "waymark"}, nil
}

// watched is a provider of credentials that remembers whether it had any.
type watched struct {
	aws.CredentialsProvider
	had atomic.Bool
}

// Retrieve implements aws.CredentialsProvider. Its errors are *credentialsErrors.
func (w *watched) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := w.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return found, &credentialsError{err, w.had.Load()}
	}
	w.had.Store(true)
	return found, nil
}

// credentialsError says that the AWS SDK finds no credentials.
type credentialsError struct {
	cause error
	had   bool // it found some before
}

func (e *credentialsError) Error() string { return e.cause.Error() }

func (e *credentialsError) Unwrap() error { return e.cause }

// refusal returns nil if a later try may find credentials: they were there before, the service that gives them fails,
// or the search was interrupted.
func (e *credentialsError) refusal() *refusal {
	response, answered := errors.AsType[*awshttp.ResponseError](e.cause)
	failing := answered && (response.HTTPStatusCode() >= http.StatusInternalServerError ||
		response.HTTPStatusCode() == http.StatusTooManyRequests)
	if e.had || failing || errors.Is(e.cause, context.Canceled) {
		return nil
	}
	return &refusal{codeNoPermission,
		"no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or another way that the AWS SDK " +
			"knows, where the worker runs"}
}
