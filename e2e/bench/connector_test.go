package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// An answer that comes fast and says no is not measured as a call; what the
// service really answers is.
func TestARefusalIsNotMeasured(t *testing.T) {
	t.Parallel()
	origin, stop, err := items()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	wanted, err := http.NewRequest(http.MethodGet, origin, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := answered(wanted); err != nil {
		t.Errorf("the service itself: %v", err)
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"isError": true,"content":[]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"data":{"items":[{"name":"Item 1"}]},"truncated":true}}}`,
		"",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		defer server.Close()
		r, err := http.NewRequest(http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := answered(r); err == nil {
			t.Errorf("%q is a call", body)
		}
	}
}
