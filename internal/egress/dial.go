package egress

import (
	"context"
	"net"
	"net/url"
)

// Dial opens a connection for somebody else's TLS, under the rules of Do for an
// https address: port 443 of a public host, or host and port of Own. Nothing
// was sent over it. An address that may not be called is ErrAddress.
func (s *Service) Dial(ctx context.Context, host, port string) (net.Conn, error) {
	u := &url.URL{Scheme: "https", Host: net.JoinHostPort(host, port)}
	plain, err := s.judge(u)
	if err != nil {
		return nil, err
	}
	return s.dial(context.WithValue(ctx, plainKey{}, plain), "tcp", u.Host)
}
