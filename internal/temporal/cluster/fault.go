package cluster

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// Fault is why a cluster cannot be used.
type Fault struct {
	Place string // of the cluster: address, namespace, how to get in
	Why   string
	Cure  string // what to check
	Err   error  // what the client said
	// Lasting says that no waiting cures it: a key, a certificate, or a word of the configuration is wrong.
	Lasting bool
}

// Error names the service, its place, the cause and what to check. It repeats no secret.
func (f *Fault) Error() string { return fmt.Sprintf("temporal at %s: %s; %s", f.Place, f.Why, f.Cure) }

// Unwrap returns what the client said.
func (f *Fault) Unwrap() error { return f.Err }

const (
	cureAddress = "start it, or say where it is with --temporal HOST:PORT or TEMPORAL_ADDRESS"
	cureNoTLS   = "check the port, or set TEMPORAL_TLS=false"
	cureTLS     = "check the port, or set TEMPORAL_TLS=true"
	cureAccess  = "check TEMPORAL_API_KEY, or TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, and what they may do in the namespace"
)

// explain finds out what err, with which a client could not be made, is about: what the cluster answered, or else the first of
// the layers below that does not work. The client itself tells these by texts only.
func explain(ctx context.Context, o client.Options, err error) *Fault {
	f := answered(o, err)
	if f == nil {
		f = connection(ctx, o)
	}
	if f == nil {
		f = &Fault{Why: err.Error(), Cure: "look at the logs of the cluster"}
	}
	f.Place, f.Err = Place(o), err
	return f
}

// answered explains what a cluster answered; nil if it did not.
func answered(o client.Options, err error) *Fault {
	namespace := o.Namespace
	_, missing := errors.AsType[*serviceerror.NamespaceNotFound](err)
	_, denied := errors.AsType[*serviceerror.PermissionDenied](err)
	switch {
	case missing || Missing(err):
		create := fmt.Sprintf("temporal operator namespace create --namespace %s --address %s", namespace, o.HostPort)
		return &Fault{Why: "there is no namespace " + namespace, Cure: create + " makes it; TEMPORAL_NAMESPACE names another"}
	case denied || strings.Contains(strings.ToLower(err.Error()), "unauthenticated"):
		return &Fault{Why: "access is refused: " + reply(err), Cure: cureAccess, Lasting: true}
	}
	return nil
}

// reply is what the cluster said, without the words of those who passed it on.
func reply(err error) string {
	if said, is := errors.AsType[serviceerror.ServiceError](err); is {
		return said.Error()
	}
	return err.Error()
}

// connection tries the layers between here and a cluster that did not answer, one after the other; nil if all of them work.
func connection(ctx context.Context, o client.Options) *Fault {
	host, _, err := net.SplitHostPort(o.HostPort)
	if err != nil {
		return &Fault{Why: "it is not at an address that can be looked at", Cure: "write TEMPORAL_ADDRESS as HOST:PORT", Lasting: true}
	}
	ctx, done := context.WithTimeout(ctx, dialTimeout)
	defer done()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", o.HostPort)
	if err != nil {
		return unreachable(host, err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return unreachable(host, err)
	}
	config := o.ConnectionOptions.TLS
	if config == nil {
		return plain(greet(conn))
	}
	config = config.Clone()
	config.ServerName = cmp.Or(config.ServerName, host)
	config.NextProtos = []string{"h2"}
	secure := tls.Client(conn, config)
	if err = secure.HandshakeContext(ctx); err == nil {
		err = greet(secure) // a client's certificate is refused only now
	}
	return secured(config.ServerName, err)
}

// greet begins an HTTP/2 connection, and fails if nobody says anything to that who speaks HTTP/2.
func greet(conn net.Conn) error {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	if _, err := io.WriteString(conn, preface); err != nil {
		return err
	}
	const settings, frameType = 4, 3
	head, err := bufio.NewReaderSize(conn, 16).Peek(frameType + 1)
	if err == nil && head[frameType] != settings {
		err = errForeign
	}
	return err
}

// errForeign is said of a peer that speaks something else.
var errForeign = errors.New("it is not a Temporal server that listens there")

// unreachable explains why there is no connection.
func unreachable(host string, err error) *Fault {
	_, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case unknown:
		return &Fault{Why: "no host is called " + host, Cure: "check the name, and that this machine's name server knows it"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Fault{Why: "nobody listens there", Cure: cureAddress}
	case silent(err):
		return &Fault{Why: "no answer in time", Cure: "check the address, and firewalls between here and there"}
	}
	return &Fault{Why: err.Error(), Cure: cureAddress}
}

// silent reports whether a peer said nothing in time.
func silent(err error) bool {
	timeout, is := errors.AsType[net.Error](err)
	return is && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// plain explains what came of a greeting without TLS; nil if that is not what is wrong.
func plain(err error) *Fault {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errForeign):
		return &Fault{Why: err.Error(), Cure: cureTLS, Lasting: true}
	case silent(err):
		return &Fault{Why: "it takes connections and says nothing", Cure: "look at its logs; is it still starting?"}
	}
	return &Fault{Why: "it closes connections that do not use TLS", Cure: cureTLS}
}

// secured explains what came of a greeting with TLS; nil if that is not what is wrong.
func secured(name string, err error) *Fault {
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, misnamed := errors.AsType[x509.HostnameError](err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	alert := alertOf(err)
	switch {
	case err == nil:
		return nil
	case noTLS:
		return &Fault{Why: "it does not speak TLS", Cure: cureNoTLS, Lasting: true}
	case unknown:
		return &Fault{
			Why: "its certificate is not signed by an authority that this machine trusts", Lasting: true,
			Cure: "name the authority's certificate with TEMPORAL_TLS_SERVER_CA_CERT_PATH",
		}
	case misnamed:
		return &Fault{
			Why: "its certificate is not one for " + name, Lasting: true,
			Cure: "check the address, or say with TEMPORAL_TLS_SERVER_NAME for which name it is",
		}
	case isInvalid && invalid.Reason == x509.Expired:
		return &Fault{Why: "its certificate is expired, or this machine's clock is wrong", Cure: "renew the certificate, or set the clock", Lasting: true}
	case strings.Contains(alert, "protocol"):
		return &Fault{Why: errForeign.Error(), Cure: "check the address and the port", Lasting: true}
	case alert != "":
		return &Fault{Why: "it refuses this client's certificate, or wants one: " + alert, Cure: cureAccess, Lasting: true}
	case errors.Is(err, errForeign):
		return &Fault{Why: err.Error(), Cure: "check the address and the port", Lasting: true}
	case silent(err):
		return &Fault{Why: "it takes connections and does not answer in TLS", Cure: cureNoTLS}
	}
	return &Fault{Why: "TLS fails: " + err.Error(), Cure: "check the TEMPORAL_TLS_* variables"}
}

// alertOf returns what a TLS peer said before it closed the connection; empty if the error is none of its.
func alertOf(err error) string {
	if op, is := errors.AsType[*net.OpError](err); is && op.Op == "remote error" {
		return op.Err.Error()
	}
	return ""
}
