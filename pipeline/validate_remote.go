package pipeline

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// bucketName is what a bucket may be called. Source: Amazon S3, bucket naming rules.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// checkFiles reports paths that lead nowhere, and options that do not belong to the path.
func (l *loader) checkFiles(at string, files Files) {
	l.checkOptions(at, files.Path, files.S3, files.HTTP)
	if fault := unclearScheme(files.Path); fault != "" {
		l.report(Key(at, "path"), "%s", fault)
		return
	}
	switch Scheme(files.Path) {
	case "":
	case SchemeS3:
		if fault := keyFault(files.Path); fault != "" {
			l.report(Key(at, "path"), "%s", fault)
		} else if _, err := path.Match(files.Path, ""); err != nil {
			l.report(Key(at, "path"), "%s is not a valid pattern", quote(files.Path))
		}
	case SchemeHTTP, SchemeHTTPS:
		if fault := addressFault(files.Path); fault != "" {
			l.report(Key(at, "path"), "%s", fault)
		}
	default:
		l.report(Key(at, "path"), "%s cannot be read: a path is that of a file, s3://BUCKET/KEY, an http:// or https:// address, or - for standard input", quote(files.Path))
	}
}

// checkOptions reports s3 and http where the path needs none, and what is wrong in them.
func (l *loader) checkOptions(at, path string, s3 *S3, http *HTTP) {
	scheme := Scheme(path)
	if s3 != nil && path != "" && scheme != SchemeS3 {
		l.report(Key(at, "s3"), "belongs to a path that begins with s3://")
	}
	if s3 != nil && s3.Endpoint != "" {
		if fault := endpointFault(s3.Endpoint); fault != "" {
			l.report(Key(Key(at, "s3"), "endpoint"), "%s", fault)
		}
	}
	if http == nil {
		return
	}
	if path != "" && scheme != SchemeHTTP && scheme != SchemeHTTPS {
		l.report(Key(at, "http"), "belongs to a path that begins with http:// or https://")
	}
	for _, header := range http.Headers {
		l.checkHeader(Key(Key(Key(at, "http"), "headers"), header.Name), header)
	}
}

// headerName is the name of a request header. Source: RFC 9110, 5.6.2.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")

// ownHeaders are set by who asks: another value would make the reply another one than is expected.
var ownHeaders = []string{
	"host", "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "accept-encoding", "content-length",
	"transfer-encoding", "connection", "te", "trailer", "upgrade", "expect", "proxy-authorization", "proxy-connection", "keep-alive",
}

// secretHeaders say who asks.
var secretHeaders = []string{"authorization", "cookie", "x-api-key", "api-key", "x-auth-token", "private-token"}

// isLiteral reports whether nothing in the text at the path comes from a secret or an environment variable.
func (l *loader) isLiteral(path string) bool {
	n := l.doc.find(path)
	if n == nil {
		return false
	}
	spans, err := splitSpans(n.text) // an error is reported already
	return err == nil && !slices.ContainsFunc(spans, func(s span) bool { return s.kind == SecretReference || s.kind == EnvReference })
}

// checkHeader says nothing of the value: it is a secret.
func (l *loader) checkHeader(at string, header Named[string]) {
	switch {
	case !headerName.MatchString(header.Name):
		l.report(at, "%s is not the name of a header", quote(header.Name))
	case slices.Contains(ownHeaders, strings.ToLower(header.Name)):
		l.report(at, "the header %s is set by Waymark: delete it", quote(header.Name))
	case strings.ContainsFunc(header.Value, func(r rune) bool { return r != '\t' && (r < ' ' || r == 0x7f) }):
		l.report(at, "the value has a line end or another control character, which a header cannot have")
	case slices.Contains(secretHeaders, strings.ToLower(header.Name)) && l.isLiteral(at):
		l.report(at, "what the header %s says is a secret, and the document is recorded: write ${secret:NAME} in its place", quote(header.Name))
	}
}

// unclearScheme says what is wrong with a path that was perhaps meant to have a scheme.
func unclearScheme(path string) string {
	scheme := Scheme(path)
	if scheme == "file" {
		return quote(path) + ": write the path of a file without file://"
	}
	if scheme == "" && strings.Contains(path, "://") {
		return quote(path) + ": what stands before :// is no scheme"
	}
	if word := strings.ToLower(scheme); word != scheme && slices.Contains([]string{SchemeS3, SchemeHTTP, SchemeHTTPS}, word) {
		return fmt.Sprintf("%s: write %s:// in lower case", quote(path), word)
	}
	for _, word := range []string{SchemeS3, SchemeHTTP, SchemeHTTPS} {
		if scheme == "" && strings.HasPrefix(strings.ToLower(path), word+":") {
			return fmt.Sprintf("%s: write %s:// with two slashes, or ./ before the name of a file", quote(path), word)
		}
	}
	return ""
}

// keyFault says why there is no such object, or returns "".
func keyFault(path string) string {
	bucket, key := CutBucket(path)
	switch {
	case !bucketName.MatchString(bucket):
		return fmt.Sprintf("%s: %s is not the name of a bucket: write s3://BUCKET/KEY, and credentials nowhere", quote(path), quote(bucket))
	case key == "":
		return quote(path) + ": a key follows the bucket: write s3://BUCKET/KEY"
	case len(key) > 1024:
		return "the key has more than 1,024 bytes"
	case strings.ContainsFunc(key, unicode.IsControl):
		return quote(path) + ": the key has a control character"
	}
	return ""
}

// addressFault says why nothing is fetched from the address, or returns "". It repeats nothing that may be secret.
func addressFault(address string) string {
	at, err := url.Parse(address)
	switch {
	case err != nil, strings.ContainsFunc(address, func(r rune) bool { return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "is not an address: it has a backslash, a space or another character that must be written as %XX"
	case at.User != nil || strings.Contains(at.Host, "@"):
		return "an address is recorded, and a user or password must not be: put them into http: {headers: {Authorization: …}}"
	case at.Hostname() == "" || at.Opaque != "":
		return quote(address) + " names no host"
	case at.Fragment != "" || strings.HasSuffix(address, "#"):
		return quote(address) + ": delete the # and what follows; it is never sent to a server"
	case strings.ContainsAny(at.Path, "*["):
		return quote(address) + ": a web server has no list of its files, so that there are no patterns: write one address, or a source for each"
	}
	if port := at.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return quote(address) + ": there is no port " + port
		}
	}
	for name, values := range at.Query() {
		if slices.ContainsFunc(values, func(value string) bool { return givesAccess(name, value) }) {
			return fmt.Sprintf("an address is recorded, and a secret must not be: put what %s says into http: {headers: …}", quote(name))
		}
	}
	return ""
}

// endpointFault says why a service is not at the address, or returns "".
func endpointFault(address string) string {
	if scheme := Scheme(address); scheme != SchemeHTTP && scheme != SchemeHTTPS {
		return quote(address) + " is not an address: write https://HOST or https://HOST:PORT"
	}
	if at, err := url.Parse(address); err == nil && at.User != nil {
		return "an address is recorded, and a user or password must not be: the AWS credentials are those of the worker"
	}
	if fault := addressFault(address); fault != "" {
		return fault
	}
	if at, err := url.Parse(address); err != nil || at.RawQuery != "" || strings.Trim(at.Path, "/") != "" {
		return quote(address) + " has more than a host and a port"
	}
	return ""
}

// checkLocal reports a path that is not that of a file on this host: what reads it needs all of it before the run begins.
func (l *loader) checkLocal(at string, files Files) {
	if Scheme(files.Path) != "" || files.Path == Stdio {
		l.report(Key(at, "path"), "%s: a table is a file on this host; fetch it before the run", quote(files.Path))
	}
}

// checkTarget reports a place that no file sink writes to. Only formats that know parts ask whether they are wanted.
func (l *loader) checkTarget(at string, target FileTarget) {
	l.checkOptions(at, target.Path, target.S3, nil)
	l.checkLatest(at, target)
	switch fault := unclearScheme(target.Path); {
	case fault != "":
		l.report(Key(at, "path"), "%s", fault)
	case target.Path == Stdio && (target.Parts || target.Overwrite):
		l.report(Key(at, "path"), "standard output is one stream: delete parts and overwrite")
	case Scheme(target.Path) == SchemeS3:
		l.checkBucketTarget(at, target)
	case Scheme(target.Path) != "":
		l.report(Key(at, "path"), "%s cannot be written: a sink writes to a file, to s3://BUCKET/PREFIX, or to - for standard output", quote(target.Path))
	}
}

// checkLatest reports a name for the latest output that cannot lead to it.
func (l *loader) checkLatest(at string, target FileTarget) {
	switch at := Key(at, "latest"); {
	case target.Latest == "":
	case target.Path == Stdio:
		l.report(at, "standard output has no name that anything could lead to: delete latest")
	case Scheme(target.Latest) != Scheme(target.Path):
		l.report(at, "%s: the name is where the output is: for a path in a bucket s3://BUCKET/KEY, for a file or a folder a path", quote(target.Latest))
	case samePlace(target.Latest) == samePlace(target.Path):
		l.report(at, "the name of the latest output is that of every output: write a path that differs from run to run, such as out/${param:day}.csv")
	case Scheme(target.Latest) == SchemeS3:
		if fault := keyFault(target.Latest); fault != "" {
			l.report(at, "%s", fault)
		}
	}
}

func (l *loader) checkBucketTarget(at string, target FileTarget) {
	if fault := keyFault(target.Path); fault != "" {
		l.report(Key(at, "path"), "%s", fault)
		return
	}
	_, prefix := CutBucket(target.Path)
	for element := range strings.SplitSeq(strings.TrimSuffix(prefix, "/"), "/") {
		if element == "" || element == "." || element == ".." {
			l.report(Key(at, "path"), "%s: %s is no part of a key that other tools could read", quote(target.Path), quote(element))
		}
	}
	if !target.Parts {
		l.report(Key(at, "path"), "an object in a bucket is written in parts: write parts: true, and the path is the folder of the parts")
	}
}
