// Package secrets decides who gets which secret, and where it may go. Everything that looks secrets up asks it:
// sources and sinks of documents, triggers to which others post, deliveries of events.
//
// A server's secret belongs to a pipeline: it is the file PIPELINE/NAME of the folder. One that is shared, NAME, or
// is in a variable, counts for those that a Rule names, and goes where that says. One that is an address of its own
// goes there and nowhere else. In the caller's own process the caller's own secrets count.
package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"waymark/engine/plan"
	"waymark/plugin/postgres"
)

// Keeper has the secrets of a process. It is safe for concurrent use as long as nobody changes it.
type Keeper struct {
	Folder string // "" for none
	Rules  Rules
	Server bool // it executes what others hand to it: else all secrets are the caller's own
}

// Owner is what a secret belongs to: a pipeline, or an endpoint to which events are delivered. One of the two is set.
type Owner struct{ Pipeline, Endpoint string }

// String names the owner for people.
func (o Owner) String() string {
	if o.Endpoint != "" {
		return "endpoint " + o.Endpoint
	}
	return "pipeline " + o.Pipeline
}

// named reports whether a rule names the owner.
func (o Owner) named(r Rule) bool {
	return o.Pipeline != "" && slices.Contains(r.Pipelines, o.Pipeline) || o.Endpoint != "" &&
		slices.Contains(r.Endpoints, o.Endpoint)
}

// rule is the one that gives a secret to the owner and lets it go to places.
func (o Owner) rule(places []string) Rule {
	rule := Rule{}
	if o.Pipeline != "" {
		rule.Pipelines = []string{o.Pipeline}
	} else {
		rule.Endpoints = []string{o.Endpoint}
	}
	for _, place := range places {
		if host := hostOf(place); host != "" && !slices.Contains(rule.Hosts, host) {
			rule.Hosts = append(rule.Hosts, host)
		}
	}
	return rule
}

// hostOf returns a place as the hosts of a rule name it, with its port; "" if they cannot: it is the folder of a
// socket.
func hostOf(place string) string {
	host, port, err := net.SplitHostPort(strings.ToLower(place))
	if err != nil || host == "" {
		return ""
	}
	place = net.JoinHostPort(strings.TrimSuffix(host, "."), port)
	if checkHost(place) != nil {
		return ""
	}
	return place
}

// RefusedError says that a server has no secret of a name for its owner. It does not say whether others have one.
type RefusedError struct {
	Owner  Owner
	Secret string
	Places []string // to which it was to go, as far as that is known
}

// Error names the secret, its owner, the place and the cure.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("secret %s: %s has none of this name", e.Secret, e.Owner)
	if len(e.Places) > 0 {
		text += " for " + strings.Join(e.Places, ", ")
	}
	if e.Owner.Pipeline != "" {
		text += fmt.Sprintf(": put it into the file %s/%s of the server's --secrets-dir, or share one in the "+
			"server's settings, under secrets: ", e.Owner.Pipeline, e.Secret)
	} else {
		text += ": share one in the server's settings, under secrets: "
	}
	return text + fmt.Sprintf("%s: %s", e.Secret, e.Owner.rule(e.Places))
}

// Value returns the secret with a name that counts for the owner. Its error names the cure and never holds a value.
func (k Keeper) Value(owner Owner, name string) (string, error) {
	if !secretName.MatchString(name) {
		return "", fmt.Errorf("secret %q: a name is made of letters, digits, _ and -", name)
	}
	if ownerName.MatchString(owner.Pipeline) {
		if value, err := k.read(owner.Pipeline, name); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return value, err
		}
	}
	if k.Server && !owner.named(k.Rules[name]) {
		return "", &RefusedError{Owner: owner, Secret: name}
	}
	value, err := k.read(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return value, err
	}
	if value := os.Getenv("WAYMARK_SECRET_" + strings.ToUpper(name)); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("secret %s is neither a file of the secrets folder nor the environment variable "+
		"WAYMARK_SECRET_%s", name, strings.ToUpper(name))
}

// Deliver returns the secret with which deliveries of an endpoint are signed, if it may go to the place, HOST:PORT.
// Errors are as those of Value.
func (k Keeper) Deliver(endpoint, name, place string) (string, error) {
	owner := Owner{Endpoint: endpoint}
	value, err := k.Value(owner, name)
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		refused.Places = []string{place}
	}
	if err == nil {
		err = k.Leave(owner, name, value, Way{Places: []string{place}})
	}
	return value, err
}

// Bound returns a secret of the pipeline's own, by which somebody who posts to its triggers is known: on a server
// it is in the pipeline's folder, or a rule gives it to this pipeline alone. Errors are as those of Value.
func (k Keeper) Bound(pipeline, name string) (string, error) {
	owner := Owner{Pipeline: pipeline}
	rule := k.Rules[name]
	value, err := k.Value(owner, name)
	if err != nil || !k.Server || len(rule.Pipelines)+len(rule.Endpoints) == 1 {
		return value, err
	}
	if own, err := k.read(pipeline, name); err == nil {
		return own, nil
	}
	return "", fmt.Errorf("secret %s: others have it as well, and so could post in the place of who may: put "+
		"another one into the file %s/%[1]s of the server's --secrets-dir",
		name, pipeline)
}

// read returns what a file of the folder has, without the line end. The error wraps fs.ErrNotExist if there is none.
func (k Keeper) read(path ...string) (string, error) {
	if k.Folder == "" {
		return "", fs.ErrNotExist
	}
	content, err := os.ReadFile(filepath.Join(k.Folder, filepath.Join(path...)))
	var syscallError syscall.Errno
	switch {
	case err == nil:
		return strings.TrimRight(string(content), "\r\n"), nil
	case errors.Is(err, fs.ErrNotExist), errors.As(err, &syscallError) && (syscallError == syscall.ENOTDIR ||
		syscallError == syscall.EISDIR):
		return "", fs.ErrNotExist // a secret may be called as a pipeline is
	default:
		return "", fmt.Errorf("secret %s: %w", path[len(path)-1], err)
	}
}

// Way is how a secret is to leave the process.
type Way struct {
	Places []string // HOST:PORT, or the folder of a socket
	Chosen bool     // who starts a run decides where that is, with a parameter
}

// Leave returns why a secret with this value, as Value gave it, may not go that way; nil if it may.
func (k Keeper) Leave(owner Owner, name, value string, way Way) error {
	if !k.Server {
		return nil
	}
	if own, is := addressOf(value); is {
		for _, place := range way.Places {
			if !slices.Contains(own, place) {
				return fmt.Errorf("secret %s of %s is an address, and goes there and nowhere else, not to %s: "+
					"write ${secret:%[1]s} alone in the place of the address",
					name, owner, place)
			}
		}
		return nil
	}
	rule, ruled := k.Rules[name]
	if ruled = ruled && owner.named(rule); !ruled && !way.Chosen && owner.Pipeline != "" {
		return nil // its own, for its document to use
	}
	for _, place := range way.Places {
		if rule.allows(place) {
			continue
		}
		host := hostOf(place)
		switch {
		case host == "":
			return fmt.Errorf("secret %s of %s is for hosts that the server's settings name, and %s is none", name,
				owner, place)
		case ruled:
			return fmt.Errorf("secret %s of %s may not go to %s: add it to the hosts of %[1]s under secrets in "+
				"the server's settings: hosts: %[4]s",
				name, owner, place, listed([]string{host}))
		}
		return fmt.Errorf("secret %s of %s would go to %s, which a parameter decides: write the host into the "+
			"document, or name it in the server's settings, under secrets: %[1]s: %[4]s",
			name, owner, place, owner.rule(way.Places))
	}
	return nil
}

// Standing returns why a document may have no secrets of a server at all; nil if it may. How far they go is for Held.
func (k Keeper) Standing(pipeline, secret string, standing plan.Standing) error {
	if !k.Server || standing != plan.Stranger {
		return nil
	}
	return fmt.Errorf("secret %s: a server gives secrets to pipelines that are deployed, and this document is "+
		"not: deploy it with waymark deploy, or put it into the served folder as %s.yaml",
		secret, pipeline)
}

// Held returns why secrets of a document stay in the process; nil if they may leave it.
func (k Keeper) Held(standing plan.Standing) error {
	if !k.Server || standing == plan.Recorded {
		return nil
	}
	return errHeld
}

var errHeld = errors.New("secrets leave the server once the deployment is recorded, and not before")

var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// addressOf returns the places to which a secret leads that is an address itself: a URL, or the words of a Postgres
// DSN. They are empty if it cannot be read.
func addressOf(value string) (places []string, is bool) {
	value = strings.TrimSpace(value)
	places, err := postgres.Places(value)
	if err == nil && len(places) > 0 {
		return places, true
	}
	if !scheme.MatchString(value) {
		return nil, false
	}
	if at, err := url.Parse(value); err == nil && at.Hostname() != "" {
		places = []string{PlaceOf(at)}
	}
	return places, true
}

// PlaceOf returns HOST:PORT of a URL.
func PlaceOf(at *url.URL) string {
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(at.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(at.Hostname()), port)
}
