package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"waymark/client/remote"
)

// macBytes is how much of an HMAC a cursor has.
const macBytes = 16

// cursor is the place after an item of this list, which nobody can make or read but a process that has the key: it may
// be after an item that the caller does not see. It is good for the list with the same filter.
func (c *call) cursor(place string) string {
	if place == "" {
		return ""
	}
	mac := c.mac(place)
	return base64.RawURLEncoding.EncodeToString(append(mac, c.masked(mac, []byte(place))...))
}

// masked hides a place, or shows it again: it is encrypted with AES-CTR, and its mac is the nonce.
func (c *call) masked(mac, place []byte) []byte {
	key := sha256.Sum256(append([]byte("the places of cursors "), c.server.cursorKey...))
	block, _ := aes.NewCipher(key[:]) // a key of 32 bytes is one
	masked := make([]byte, len(place))
	cipher.NewCTR(block, mac).XORKeyStream(masked, place)
	return masked
}

// place returns the place after which the page begins; empty for the beginning.
func (c *call) place() (string, error) {
	word := c.query.Get("after")
	if word == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(word)
	if err != nil || len(raw) <= macBytes {
		raw = make([]byte, macBytes) // the mac of nothing
	}
	place := string(c.masked(raw[:macBytes], raw[macBytes:]))
	if !hmac.Equal(raw[:macBytes], c.mac(place)) {
		return "", problem(http.StatusBadRequest, badCursor, "after is no place in this list: take next of the page before, with the same filter")
	}
	return place, nil
}

// mac binds a place to the route, its path and its filter.
func (c *call) mac(place string) []byte {
	hash := hmac.New(sha256.New, c.server.cursorKey)
	filter := []string{c.route.path, c.URL.Path}
	for name, values := range c.query {
		if name != "after" && name != "limit" {
			filter = append(filter, name+"="+strings.Join(values, ","))
		}
	}
	slices.Sort(filter)
	for _, word := range append(filter, place) {
		hash.Write([]byte(strconv.Itoa(len(word)) + ":" + word))
	}
	return hash.Sum(nil)[:macBytes]
}

// The length of a page.
const (
	pageItems = 50
	mostItems = 500
)

// limit returns how many items the request wants at most.
func (c *call) limit() (int, error) {
	word := c.query.Get("limit")
	if word == "" {
		return pageItems, nil
	}
	limit, err := strconv.Atoi(word)
	if err != nil || limit < 1 || limit > mostItems {
		return 0, problem(http.StatusBadRequest, badQuery, "limit is a number from 1 to "+strconv.Itoa(mostItems))
	}
	return limit, nil
}

// asked returns which page is asked for: of how many items, and the place after which it begins; empty for the
// beginning.
func (c *call) asked() (limit int, after string, err error) {
	if limit, err = c.limit(); err == nil {
		after, err = c.place()
	}
	return limit, after, err
}

// paged cuts off the item that shows that there are more, and says where the next page begins.
func paged[T any](c *call, items []T, limit int, place func(T) string) remote.Page[T] {
	page := remote.Page[T]{Items: items}
	if len(items) > limit {
		page.Items = items[:limit]
		page.Next = c.cursor(place(items[limit-1]))
	}
	if page.Items == nil {
		page.Items = []T{}
	}
	return page
}
