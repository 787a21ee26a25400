package handlers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/netip"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/internal/limit"
	"innerloop/journal"
)

// caller is where a request came from. Fiber's own helper would believe any
// X-Forwarded-For.
func (s *Server) caller(c *fiber.Ctx) journal.Caller {
	return journal.Caller{Network: s.network(c.Context())}
}

func (s *Server) network(ctx *fasthttp.RequestCtx) limit.Network {
	return s.limits.Network(s.address(ctx))
}

// address is the client's own, found through the trusted proxies alone.
func (s *Server) address(ctx *fasthttp.RequestCtx) netip.Addr {
	var forwarded []string
	if len(s.proxies) > 0 {
		for _, line := range ctx.Request.Header.PeekAll(fiber.HeaderXForwardedFor) {
			forwarded = append(forwarded, string(line))
		}
	}
	return s.proxies.Client(remoteAddr(ctx.RemoteAddr()), forwarded)
}

// remoteAddr is the zero address when the other side has none.
func remoteAddr(of net.Addr) netip.Addr {
	at, ok := of.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	address, _ := netip.AddrFromSlice(at.IP)
	return address.Unmap()
}

// validated is a body that does not change while the program runs.
type validated struct {
	body *rendering
	tag  validator
}

func validate(body []byte) validated {
	digest := sha256.Sum256(body)
	return validated{&rendering{raw: body}, validator{tag: `W/"` + hex.EncodeToString(digest[:8]) + `"`}}
}

// still answers with a body that does not change.
func (s *Server) still(c *fiber.Ctx, v validated) error {
	if err := noQuery(c); err != nil {
		return err
	}
	if v.tag.asked(&c.Context().Request.Header) != stale {
		s.unchanged(c, jsonReading, v.tag)
		return nil
	}
	s.reading(c, jsonReading, v.tag)
	return v.body.send(c.Context())
}

// limitNumbers is GET /v1/limits (decisions D.4).
func (s *Server) limitNumbers(c *fiber.Ctx) error {
	if err := s.journal.AdmitRead(s.caller(c), false); err != nil {
		return err
	}
	return s.still(c, s.told)
}

const networkRule = "A caller counts as the network of its address: an IPv4 /24 or an IPv6 /56. Networks of a class have the numbers of the class where it names them; each still counts by itself."

func limitsJSON(l *limit.Settings) validated {
	type number struct {
		Name    string `json:"name"`
		Value   *int   `json:"value"` // null: no limit
		Window  string `json:"window,omitempty"`
		Exact   bool   `json:"exact"`
		Refusal string `json:"error"`
		Meaning string `json:"meaning"`
	}
	type class struct {
		Name     string         `json:"name"`
		Networks []netip.Prefix `json:"networks"`
		Numbers  map[string]int `json:"values"` // 0: no limit
	}
	told := struct {
		On       bool     `json:"limited"`
		IPv4Bits int      `json:"network_ipv4_bits"`
		IPv6Bits int      `json:"network_ipv6_bits"`
		Rule     string   `json:"network_rule"`
		Numbers  []number `json:"limits"`
		Classes  []class  `json:"network_classes"`
	}{l != nil, limit.IPv4Bits, limit.IPv6Bits, networkRule, []number{}, []class{}}
	rules := limit.Rules()
	for _, d := range rules {
		n := number{d.Name, nil, d.Window, d.Exact, d.Code, d.Help}
		if value := l.Number(d.Rule, limit.Network{}); value > 0 {
			n.Value = &value
		}
		told.Numbers = append(told.Numbers, n)
	}
	if l != nil {
		for _, c := range l.Classes {
			k := class{c.Name, c.Networks, map[string]int{}}
			for rule, value := range c.Numbers {
				k.Numbers[rules[rule].Name] = value
			}
			told.Classes = append(told.Classes, k)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(told); err != nil {
		panic(err) // numbers and texts of ours always encode
	}
	return validate(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
