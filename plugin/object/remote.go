// Package object reads files and writes outputs that are not on this host: objects in S3 buckets, and what web servers hold.
package object

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"waymark/pipeline"
	"waymark/plugin/egress"
	"waymark/plugin/file"
)

// Remote makes what paths with a scheme lead to. It is safe for concurrent use, and nothing has to be closed: connections end when
// nobody uses them.
type Remote struct {
	guard    egress.Guard
	dial     func(*egress.Guard) *http.Client
	web      *http.Client // for addresses that documents name
	operator *http.Client // for addresses that the operator's environment names
	wait     patience

	held        error
	reserved    []Reserved
	credentials Credentials

	mu      sync.Mutex
	clients map[pipeline.S3]*bucketClient
}

// bucketClient is an S3 client with the name of its service.
type bucketClient struct {
	*s3.Client
	service string // for people: host of the endpoint, or Amazon S3 and region
}

// Options say where documents may lead, and with what.
type Options struct {
	Allow       []netip.Prefix // networks, besides the public web with the ports 80 and 443, with any port
	Reserved    []Reserved
	Credentials Credentials
	// Held is why nothing that a document names gets secrets yet, the signatures of these credentials among them; nil
	// if it does.
	Held error
}

// New returns a Remote.
func New(o Options) *Remote {
	r := newRemote(egress.Web(o.Allow), nil)
	r.reserved, r.credentials, r.held = o.Reserved, o.Credentials, o.Held
	return r
}

func newRemote(g egress.Guard, names *net.Resolver) *Remote {
	return &Remote{
		guard:    g,
		dial:     func(g *egress.Guard) *http.Client { return newClient(g, names) },
		web:      newClient(&g, names),
		operator: newClient(nil, names),
		wait:     usual,
		clients:  map[pipeline.S3]*bucketClient{},
	}
}

// Store returns where the files of a source are. The document's path was checked when it was loaded.
func (r *Remote) Store(files pipeline.Files) (file.Store, error) {
	if pipeline.Scheme(files.Path) == pipeline.SchemeS3 {
		bucket, key := pipeline.CutBucket(files.Path)
		if err := r.checkReserved(options(files.S3), bucket, literal(key)); err != nil {
			return nil, fmt.Errorf("path: %w", err)
		}
		return &bucketStore{remote: r, options: options(files.S3), bucket: bucket}, nil
	}
	at, err := url.Parse(files.Path)
	if err != nil {
		return nil, err
	}
	store := &webStore{remote: r, web: r.web, origin: at.Scheme + "://" + at.Host, headers: http.Header{}}
	if files.HTTP != nil {
		for _, header := range files.HTTP.Headers {
			store.headers.Set(header.Name, header.Value)
		}
	}
	return store, nil
}

// Carrying returns a Remote whose requests to web servers carry secrets.
func (r *Remote) Carrying(cargo egress.Cargo) file.Remote { return carrier{r, cargo} }

// carrier is a Remote for a source whose headers hold secrets.
type carrier struct {
	*Remote
	cargo egress.Cargo
}

// Store does what Remote's does.
func (c carrier) Store(files pipeline.Files) (file.Store, error) {
	store, err := c.Remote.Store(files)
	if web, is := store.(*webStore); is {
		web.web = c.carrying(files.Path, c.cargo)
	}
	return store, err
}

// carrying returns a client of requests to an address that carry secrets.
func (r *Remote) carrying(address string, cargo egress.Cargo) *http.Client {
	cure := ""
	if pipeline.Scheme(address) != pipeline.SchemeHTTPS {
		cure = "write https://"
	}
	guard := r.guard.Carrying(cargo, cure)
	return r.dial(&guard)
}

func options(s *pipeline.S3) pipeline.S3 {
	if s == nil {
		return pipeline.S3{}
	}
	return *s
}

// client returns the client for buckets that are reached in this way. The error is a *refusal. An address that the
// document names is dialled only if the guard permits it; where the operator's credentials come from is the
// operator's affair.
func (r *Remote) client(ctx context.Context, how pipeline.S3) (*bucketClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.clients[how]; known != nil {
		return known, nil
	}
	base, err := config.LoadDefaultConfig(context.WithoutCancel(ctx), r.credentials.load()...)
	if err != nil {
		return nil, &refusal{codeNoPermission, "the AWS configuration of the worker cannot be read: " + innermost(err)}
	}
	if base.Credentials != nil {
		base.Credentials = &watched{CredentialsProvider: base.Credentials}
	}
	region := cmp.Or(how.Region, base.Region, "us-east-1")
	service, through := "Amazon S3 in "+region, r.operator
	if how.Endpoint != "" {
		cargo := egress.Cargo{Secrets: []string{"of the bucket"}, Held: r.held}
		service, through = how.Endpoint, r.carrying(how.Endpoint, cargo)
	} else if base.BaseEndpoint != nil {
		service = *base.BaseEndpoint
	}
	client := s3.NewFromConfig(base, func(o *s3.Options) {
		o.Region, o.UsePathStyle, o.HTTPClient = region, how.PathStyle, through
		o.Logger, o.DisableLogOutputChecksumValidationSkipped = logging.Nop{}, true
		o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) { s.MaxAttempts, s.MaxBackoff = 3, 10*r.wait.before })
		if how.Endpoint != "" {
			o.BaseEndpoint = aws.String(strings.TrimSuffix(how.Endpoint, "/"))
		}
	})
	made := &bucketClient{client, service}
	r.clients[how] = made
	return made, nil
}
