package s3store

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// location is where a Store keeps its objects.
type location struct {
	bucket    string
	prefix    string // empty, or with a slash at the end
	endpoint  string // empty: Amazon's, or what the SDK's settings say
	region    string // empty until connect
	pathStyle bool
}

// maxPrefixBytes leaves room for the names below it: a key of S3 has at most 1,024 bytes.
const maxPrefixBytes = 800

// bucketName is Amazon's rule for names of buckets, without its finer points.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// Place names the bucket of a URL for people, without asking for it. Its error, like all of this package, holds no secret.
func Place(rawURL string) (string, error) {
	p, err := parsePlace(rawURL)
	if err != nil {
		return "", err
	}
	return p.String(), nil
}

// Keys returns the bucket of a URL, and what the keys of all that a Store keeps there begin with, each with a slash at the end. The
// error is that of Place.
func Keys(rawURL string) (bucket string, prefixes []string, err error) {
	p, err := parsePlace(rawURL)
	if err != nil {
		return "", nil, err
	}
	if p.prefix != "" {
		return p.bucket, []string{p.prefix}, nil
	}
	return p.bucket, []string{objectsPrefix, quarantinePrefix}, nil
}

// parsePlace reads the URL that Open documents. Its errors quote nothing that might be a secret.
func parsePlace(rawURL string) (location, error) {
	u, err := parseURL(rawURL)
	if err != nil {
		return location{}, fmt.Errorf("the URL of the bucket cannot be read: %w", err)
	}
	switch {
	case u.Scheme != "s3":
		return location{}, errors.New("the URL of the bucket must begin with s3://")
	case u.User != nil:
		return location{}, errors.New("the URL of the bucket holds a user or password: take it out, and give credentials in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or as the AWS SDK finds them")
	case u.Host == "":
		return location{}, errors.New("the URL of the bucket names no bucket: write s3://BUCKET/PREFIX")
	case !bucketName.MatchString(u.Host):
		return location{}, fmt.Errorf("%q cannot be the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens; an address goes into ?endpoint=", u.Host)
	case u.Fragment != "":
		return location{}, errors.New("the URL of the bucket holds a #: write it as %23")
	}
	p := location{bucket: u.Host}
	if p.prefix, err = parsePrefix(u.Path); err != nil {
		return location{}, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return location{}, errors.New("the parameters in the URL of the bucket cannot be read: write NAME=VALUE&NAME=VALUE")
	}
	return p, p.set(query)
}

// parseURL is url.Parse without the URL in its error.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return nil, errors.New(strings.SplitN(wrapped.Err.Error(), `"`, 2)[0])
	}
	return u, err
}

// parsePrefix returns the path of a URL as the beginning of keys.
func parsePrefix(urlPath string) (string, error) {
	prefix := strings.Trim(urlPath, "/")
	switch {
	case prefix == "":
		return "", nil
	case path.Clean(prefix) != prefix || prefix == ".." || strings.HasPrefix(prefix, "../"):
		return "", fmt.Errorf("prefix %q in the bucket: take out . and .. and empty parts", prefix)
	case strings.ContainsFunc(prefix, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return "", fmt.Errorf("prefix %q in the bucket: control characters and backslashes are not allowed", prefix)
	case len(prefix) > maxPrefixBytes:
		return "", fmt.Errorf("the prefix in the bucket is %d bytes long, the limit is %d", len(prefix), maxPrefixBytes)
	}
	return prefix + "/", nil
}

// set takes the parameters of the URL.
func (p *location) set(query url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := query[name]
		if len(values) > 1 {
			return fmt.Errorf("parameter %s stands in the URL of the bucket %d times", name, len(values))
		}
		if err := p.setOne(name, values[0]); err != nil {
			return err
		}
	}
	return nil
}

func (p *location) setOne(name, value string) (err error) {
	switch name {
	case "endpoint":
		p.endpoint, err = parseEndpoint(value)
	case "region":
		p.region = value
	case "path_style":
		if value != "true" && value != "false" {
			return errors.New("parameter path_style in the URL of the bucket must be true or false")
		}
		p.pathStyle = value == "true"
	default:
		return fmt.Errorf("unknown parameter %q in the URL of the bucket: there are endpoint, region and path_style; credentials are taken from the environment, as the AWS SDK finds them", name)
	}
	return err
}

func parseEndpoint(value string) (string, error) {
	u, err := parseURL(value)
	switch {
	case err != nil:
		return "", fmt.Errorf("endpoint of the bucket: %w", err)
	case u.User != nil:
		return "", errors.New("endpoint of the bucket: it holds a user or password: take it out, and give credentials in the environment")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", errors.New("endpoint of the bucket: write http://HOST:PORT or https://HOST:PORT")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("endpoint of the bucket: it must end after host, port and path")
	}
	return strings.TrimSuffix(value, "/"), nil
}

// name is the key in the bucket of what is called relative below the prefix.
func (p location) name(relative string) string { return p.prefix + relative }

// server names the machine that is asked.
func (p location) server() string {
	return cmp.Or(p.endpoint, "Amazon S3 in "+p.region)
}

func (p location) String() string {
	return fmt.Sprintf("s3://%s at %s", strings.TrimSuffix(p.bucket+"/"+p.prefix, "/"), p.server())
}
