package remote

import (
	"context"
	"iter"
	"net/url"
	"strconv"
)

// mostItems is how many items a page can have.
const mostItems = 500

// list returns the items of a list, page by page, at most limit of them; 0 for all. What comes after an error does not come.
func list[T any](ctx context.Context, c *Client, path string, query url.Values, limit int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		asked := url.Values{}
		for name, values := range query {
			asked[name] = values
		}
		for left := limit; ; {
			size := mostItems
			if limit > 0 {
				size = min(left, mostItems)
			}
			asked.Set("limit", strconv.Itoa(size))
			page, err := ask[Page[T]](ctx, c, get(path, asked))
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			left -= len(page.Items)
			if page.Next == "" || limit > 0 && left <= 0 {
				return
			}
			asked.Set("after", page.Next)
		}
	}
}

// all returns the items of a list; it is empty, not nil, if there is none.
func all[T any](items iter.Seq2[T, error]) ([]T, error) {
	found := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		found = append(found, item)
	}
	return found, nil
}

// whole returns the items of a list that has one page; not nil.
func whole[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	page, err := ask[Page[T]](ctx, c, get(path, query))
	if err == nil && page.Items == nil {
		page.Items = []T{}
	}
	return page.Items, err
}

// words is a query of pairs of a name and a value; those without a value are left out.
func words(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

// number is a number in a query; empty for 0.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
