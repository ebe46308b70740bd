package s3store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
)

const (
	// requestAttempts and maxPause make a request last about 15 seconds against a server that is away. What is away for
	// longer is for the caller's retries.
	requestAttempts = 12
	firstPause      = 50 * time.Millisecond
	maxPause        = 3 * time.Second

	// regionOfOthers is what servers that are not Amazon's are asked with if nobody named a region.
	regionOfOthers = "us-east-1"
)

// connect returns a client and the transport under it, and completes p with what the SDK's settings say.
func connect(ctx context.Context, p *location, way way) (*s3.Client, *transport, error) {
	buildable := awshttp.NewBuildableClient() // the only kind that the SDK gives a CA bundle to (AWS_CA_BUNDLE)
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(buildable), config.WithRetryer(newRetryer),
		config.WithLogger(logging.Nop{})) // what matters comes back as an error
	if err != nil {
		return nil, nil, fmt.Errorf("settings of the AWS SDK: %w", err)
	}
	if given, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		buildable = given
	}
	t := newTransport(buildable.GetTransport(), way)
	cfg.HTTPClient = t
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { err = p.settle(o) })
	if err != nil {
		return nil, nil, err
	}
	if _, err := client.Options().Credentials.Retrieve(ctx); err != nil {
		return nil, nil, fmt.Errorf("no credentials for %s: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a profile or a role that the AWS SDK finds: %w", p, err)
	}
	return client, t, nil
}

// settle makes o what p says, and p what o says where p says nothing.
func (p *location) settle(o *s3.Options) (err error) {
	if p.endpoint == "" && o.BaseEndpoint != nil {
		if p.endpoint, err = parseEndpoint(*o.BaseEndpoint); err != nil {
			return fmt.Errorf("settings of the AWS SDK (AWS_ENDPOINT_URL, or a profile): %w", err)
		}
	}
	if p.endpoint != "" {
		o.BaseEndpoint = &p.endpoint
		o.Region = cmp.Or(o.Region, regionOfOthers)
	}
	p.region = cmp.Or(p.region, o.Region)
	if p.region == "" {
		return fmt.Errorf("bucket %s: no region: add ?region=… to the URL, or set AWS_REGION", p.bucket)
	}
	o.Region, o.UsePathStyle = p.region, p.pathStyle
	// Writes give their SHA-256, and payload.Store verifies what is read: no other checksum is of use.
	o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	o.DisableLogOutputChecksumValidationSkipped = true
	return nil
}

// newRetryer repeats what may succeed when it is repeated. All requests are of a kind that may be: see the package.
func newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = requestAttempts
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return pause(attempt), nil })
		o.RateLimiter = ratelimit.None
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(brokenReply))
	})
}

// brokenReply finds replies that ended too early.
func brokenReply(err error) aws.Ternary {
	_, garbled := errors.AsType[*smithy.DeserializationError](err)
	if garbled || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
}

// pause is how long to wait after the given failed attempt, counted from 1: doubled each time, and a random part of
// that, so that many workers do not come back at once.
func pause(attempt int) time.Duration {
	most := min(maxPause, firstPause<<min(attempt-1, 10))
	return most/2 + rand.N(most/2)
}
