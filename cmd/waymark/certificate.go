package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is the certificate of the API, as its files have it: one that is renewed there counts for later connections.
type certificate struct {
	cert, key string // files
	logger    *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	written [2]time.Time // when the files were, of which it is
}

// logs lets the log say when the files are read again.
func (c *certificate) logs(logger *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logger = logger
}

// load reads the files, and reports whether it did: not if they are those that it has.
func (c *certificate) load() (renewed bool, err error) {
	written, err := c.modified()
	if err != nil || written == c.written {
		return false, err
	}
	read, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return false, err
	}
	c.current, c.written = &read, written
	return true, nil
}

// mostCertificate is how long the files may be: enough for a long chain.
const mostCertificate = 1 << 20

// modified is when the files were written.
func (c *certificate) modified() (written [2]time.Time, err error) {
	for i, name := range []string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return written, err
		}
		if !info.Mode().IsRegular() || info.Size() > mostCertificate {
			return written, fmt.Errorf("%s: it must be a file of at most %d bytes", name, mostCertificate)
		}
		written[i] = info.ModTime()
	}
	return written, nil
}

// get returns what a connection is to be made with. Files that cannot be read, or of which one is not written yet, change nothing.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	renewed, err := c.load()
	switch {
	case c.logger == nil:
	case err != nil:
		c.logger.Warn("the certificate of the API cannot be read again; the one of before counts", "error", err)
	case renewed:
		c.logger.Info("the certificate of the API was read again", "file", c.cert, "until", c.current.Leaf.NotAfter)
	}
	return c.current, nil
}
