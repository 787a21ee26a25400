package egress_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"innerloop/internal/egress"
)

func TestAddressesThatMayBeCalled(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct{ anywhere, here bool }{
		"https://hub.example/":               {true, true},
		"https://hub.example:8443/x?y=z":     {true, true},
		"https://8.8.8.8/":                   {true, true},
		"https://[2606:4700::1111]/":         {true, true},
		"http://hub.example/":                {false, false},
		"http://127.0.0.1:8080/":             {false, true},
		"https://localhost/":                 {false, true},
		"http://[::1]:80/":                   {false, true},
		"https://user@hub.example/":          {false, false},
		"https://hub.example/#x":             {false, false},
		"https://10.0.0.1/":                  {false, false},
		"https://169.254.169.254/":           {false, false},
		"https://192.168.1.1/":               {false, false},
		"https://100.64.0.1/":                {false, false},
		"https://0.0.0.0/":                   {false, false},
		"https://[fd00::1]/":                 {false, false},
		"https://[fe80::1%25eth0]/":          {false, false},
		"https://[::ffff:127.0.0.1]/":        {false, true},
		"https://[::ffff:10.0.0.1]/":         {false, false},
		"https://[64:ff9b::a00:1]/":          {false, false},
		"https://224.0.0.1/":                 {false, false},
		"ftp://hub.example/":                 {false, false},
		"https:///x":                         {false, false},
		"https:hub.example":                  {false, false},
		"":                                   {false, false},
		"gopher://127.0.0.1/":                {false, false},
		"https://hub.example:notaport/":      {false, false},
		"https://hub.example/ with spaces\n": {false, false},
	} {
		if got := egress.Lawful(address, false); got != want.anywhere {
			t.Errorf("%q: %v", address, got)
		}
		if got := egress.Lawful(address, true); got != want.here {
			t.Errorf("%q on this machine: %v", address, got)
		}
	}
}

func TestFormsArrive(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.Store(r.Method + " " + r.Header.Get("Content-Type") + " " + string(body))
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) // more than is read
	}))
	defer server.Close()
	if err := egress.New(egress.Options{Loopback: true}).PostForm(t.Context(), server.URL, url.Values{"a": {"1 2"}}); err != nil {
		t.Fatal(err)
	}
	if got.Load() != "POST application/x-www-form-urlencoded a=1+2" {
		t.Errorf("arrived as %v", got.Load())
	}
}

// A name is judged by where it leads: a certificate of this machine for a name
// that resolves to it opens nothing.
func TestNamesThatLeadInwardsAreRefused(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c := egress.New(egress.Options{Roots: &tls.Config{RootCAs: roots}})
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "https://"), ":")
	for _, name := range []string{"localhost.", "ip6-localhost"} {
		if err := c.PostForm(t.Context(), "https://"+name+":"+port+"/", nil); err == nil {
			t.Errorf("%s was called", name)
		}
	}
	if err := c.PostForm(t.Context(), server.URL, nil); !errors.Is(err, egress.ErrAddress) || reached.Load() {
		t.Errorf("this machine was called: %v", err)
	}
}

func TestWhatGoesWrongIsToldWithoutTheAddress(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Store(true) }))
	defer other.Close()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/hang":
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	defer close(hang)
	c := egress.New(egress.Options{Loopback: true, Timeout: 300 * time.Millisecond})
	for path, want := range map[string]string{"/secret-path": "status 418", "/redirect": "status 307", "/hang": "egress: post: "} {
		err := c.PostForm(t.Context(), server.URL+path, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if elsewhere.Load() {
		t.Error("a redirect was followed")
	}
}
