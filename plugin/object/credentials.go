package object

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
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
