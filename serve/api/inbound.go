package api

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"waymark/client"
	"waymark/client/signature"
)

// deliveries begins the paths to which other services post.
const deliveries = "/in/"

// takeDelivery takes what another service posts to a trigger. A signature says who posts, not an access token.
func takeDelivery(c *call) (any, error) {
	trigger := c.PathValue("environment") + "/" + c.PathValue("pipeline") + "/" + c.PathValue("trigger")
	receipt, err := c.server.Home.Receive(c.Context(), client.Post{
		Trigger: trigger, Local: c.fromHere(), Header: c.Header,
		Body: func() ([]byte, error) {
			body, err := io.ReadAll(c.Body)
			return body, unread(err)
		},
	})
	if reason, refused := errors.AsType[*signature.RefusedError](err); refused {
		return nil, c.refuseDelivery(trigger, reason)
	}
	if unready, is := errors.AsType[*client.Error](err); is && unready.Code == client.SecretMissing {
		c.server.Logger.Warn("deliveries cannot be verified", "trigger", trigger, "error", unready.Err)
	}
	if err != nil {
		return nil, err
	}
	if receipt.Unused != nil {
		c.server.Logger.Warn("the secret of before can verify nothing", "trigger", trigger, "error", receipt.Unused)
	}
	if receipt.Other {
		c.server.Logger.Warn("a delivery came again with another body, which is not recorded", "trigger", trigger, "receipt", receipt.Receipt)
	}
	c.count(trigger, map[bool]string{true: "new", false: "again"}[receipt.New])
	c.server.Logger.Debug("delivery", "trigger", trigger, "receipt", receipt.Receipt, "new", receipt.New)
	return receipt, nil
}

// unread is the problem with a body that did not come to its end; nil for none.
func unread(err error) error {
	if _, known := problemOf(err); err == nil || known {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return problem(http.StatusRequestTimeout, tooSlow, "the body did not come in time: send it again")
	}
	return problem(http.StatusBadRequest, malformed, "the body did not come to its end: send it again")
}

// refuseDelivery logs the reason, and sends the same answer whatever it is, so that a sender without the secret learns nothing. It limits how many refused deliveries an address
// may send in a minute; valid ones are not limited.
func (c *call) refuseDelivery(trigger string, reason *signature.RefusedError) error {
	c.count("", "refused")
	if c.server.mayFail(c.RemoteAddr) {
		c.server.Logger.Warn("a delivery was refused", "trigger", trigger, "address", c.RemoteAddr, "reason", reason.Why)
		return problem(http.StatusUnauthorized, badSignature, "the delivery does not count here: its address, its signature or its time is wrong. The log of the server says what")
	}
	c.server.Logger.Log(c.Context(), slog.LevelDebug, "a delivery was refused", "trigger", trigger, "address", c.RemoteAddr, "reason", reason.Why)
	return tooFast(failedWait, "too many deliveries from this address did not count")
}

// count counts a delivery.
func (c *call) count(trigger, outcome string) {
	if c.server.Received != nil {
		c.server.Received(trigger, outcome)
	}
}

// fromHere reports whether the request is certain to come from a process on this machine: the server listens for no other, and no proxy sent it.
func (c *call) fromHere() bool {
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if c.Header.Get(header) != "" {
			return false
		}
	}
	host, _, err := net.SplitHostPort(c.RemoteAddr)
	return c.server.Private && loopback(c.Host) && err == nil && loopback(host)
}

// isDelivery reports whether a path is one to which other services post.
func isDelivery(path string) bool { return strings.HasPrefix(path, deliveries) }
