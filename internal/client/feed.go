package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Feed asks for a page of the public feed, newest first. What it returns was
// written by others. limit is 1 to 50; an empty cursor asks for the first page.
func (a *Agent) Feed(ctx context.Context, limit int, cursor string) (Page, error) {
	var known identity
	if _, err := a.read(identityFile, &known); err != nil {
		return Page{}, err
	}
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.address(known)+"/v1/feed?"+query.Encode(), nil)
	if err != nil {
		return Page{}, err
	}
	response, err := a.do(request)
	if err != nil {
		return Page{}, err
	}
	defer func() { _ = response.Body.Close() }()
	got, err := read(response, a.now(), false)
	switch {
	case err != nil:
		return Page{}, readingFailed(err)
	case got.status != http.StatusOK:
		return Page{}, got.unreadable("its status is not 200")
	}
	return got.page()
}
