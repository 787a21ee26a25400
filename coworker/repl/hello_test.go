package repl

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"
)

// hello is the first message of a TLS client that asks for a name.
func hello(t *testing.T, name string) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	go func() {
		_ = tls.Client(theirs, &tls.Config{ServerName: name, InsecureSkipVerify: name == ""}).HandshakeContext(t.Context()) //nolint:gosec // nobody answers
	}()
	if err := ours.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, helloMax)
	n, err := ours.Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	return raw[:n]
}

// Attack: a tunnel to an open host whose TLS asks for another, none, a hidden
// one, or that is no TLS at all.
func TestTLSMustAskForTheHostThatIsOpen(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		host, says string
		ok         bool
	}{
		{"api.example", "api.example", true},
		{"api.example", "API.EXAMPLE", true},
		{"api.example", "other.example", false},
		{"api.example", "api.example.evil.example", false},
		{"api.example", "", false},
		{"127.0.0.1", "", true},
		{"127.0.0.1", "api.example", false},
	} {
		raw := hello(t, row.says)
		got, err := readHello(t.Context(), strings.NewReader(string(raw)+"rest"), row.host)
		if (err == nil) != row.ok || row.ok && !strings.HasPrefix(string(raw)+"rest", string(got)) {
			t.Errorf("%s asks for %q: %v", row.host, row.says, err)
		}
	}
	for name, text := range map[string]string{
		"HTTP":     "GET / HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"nothing":  "",
		"a part":   string(hello(t, "api.example")[:40]),
		"too long": "\x16\x03\x01\x40\x00" + strings.Repeat("\x01", 1<<20),
	} {
		if _, err := readHello(t.Context(), strings.NewReader(text), "api.example"); err == nil {
			t.Errorf("%s passes for TLS", name)
		}
	}
	// The same message with an encrypted name beside the right one.
	raw := hello(t, "api.example")
	hidden := append([]byte{}, raw...)
	hidden = append(hidden, 0xfe, 0x0d, 0, 0)
	grow := func(at, size int, by int) {
		n := 0
		for i := range size {
			n = n<<8 | int(hidden[at+i])
		}
		n += by
		for i := size - 1; i >= 0; i-- {
			hidden[at+i] = byte(n)
			n >>= 8
		}
	}
	grow(3, 2, 4) // the record
	grow(6, 3, 4) // the message
	at := 5 + 4 + 2 + 32
	at += 1 + int(hidden[at])
	at += 2 + int(hidden[at])<<8 + int(hidden[at+1])
	at += 1 + int(hidden[at])
	grow(at, 2, 4) // the extensions
	if _, err := readHello(t.Context(), strings.NewReader(string(hidden)), "api.example"); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("a hidden name: %v", err)
	}
}
