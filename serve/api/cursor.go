package api

import (
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

// cursor is the place after an item of this list, which nobody can make but a process that has the key. It is good for the list with the same filter.
func (c *call) cursor(place string) string {
	if place == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(c.mac(place), place...))
}

// place returns the place after which the page begins; empty for the beginning.
func (c *call) place() (string, error) {
	word := c.query.Get("after")
	if word == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(word)
	if err != nil || len(raw) <= macBytes || !hmac.Equal(raw[:macBytes], c.mac(string(raw[macBytes:]))) {
		return "", problem(http.StatusBadRequest, badCursor, "after is no place in this list: take next of the page before, with the same filter")
	}
	return string(raw[macBytes:]), nil
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
