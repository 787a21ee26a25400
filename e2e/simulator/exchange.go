package simulator

import (
	"fmt"
	"strings"
	"sync"
)

// An exchange hands out access tokens (RFC 6749).
type exchange struct {
	id, secret string
	uses       int    // requests that a token is good for; 0 for ever
	refresh    string // the one that is good now, of a grant that rotates
	redirect   string // that a refresh must repeat
	patient    bool   // takes a refresh only once the last token has run out

	mu     sync.Mutex
	made   int
	tokens map[string]int // and how often each was used
}

// good wants a token of this exchange.
func (e *exchange) good(r *Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	e.mu.Lock()
	defer e.mu.Unlock()
	used, made := e.tokens[token]
	if !ok || !made || e.uses > 0 && used >= e.uses {
		return false
	}
	e.tokens[token]++
	return true
}

// credentials answers grant_type client_credentials (RFC 6749 section 4.4).
func (e *exchange) credentials(r *Request) Reply {
	if r.text("grant_type") != "client_credentials" {
		return r.Refuse(BadValue)
	}
	if r.text("client_id") != e.id || r.text("client_secret") != e.secret {
		return r.Refuse(NoCredential)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return says(200, map[string]any{"access_token": e.token(), "token_type": "Bearer", "expires_in": 86400})
}

// refreshes answers grant_type refresh_token (RFC 6749 section 6): each refresh
// token is good once.
func (e *exchange) refreshes(r *Request) Reply {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.text("grant_type") != "refresh_token" || r.text("redirect_uri") != e.redirect {
		return r.Refuse(BadValue)
	}
	if r.text("client_id") != e.id || r.text("client_secret") != e.secret || r.text("refresh_token") != e.refresh {
		return r.Refuse(NoCredential)
	}
	if last := fmt.Sprintf("access-%d-simulated", e.made); e.patient && e.made > 0 && e.tokens[last] < e.uses {
		return r.Refuse(BadValue)
	}
	token := e.token()
	e.refresh = fmt.Sprintf("refresh-%d-simulated", e.made)
	return says(200, map[string]any{"access_token": token, "refresh_token": e.refresh, "token_type": "Bearer", "expires_in": 86400})
}

func (e *exchange) token() string {
	e.made++
	token := fmt.Sprintf("access-%d-simulated", e.made)
	if e.tokens == nil {
		e.tokens = map[string]int{}
	}
	e.tokens[token] = 0
	return token
}
