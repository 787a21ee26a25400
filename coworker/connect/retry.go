package connect

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// attempts sends a request until it succeeds or may not be repeated.
func (x *execution) attempts(ctx context.Context, p *prepared, d *draft) (*reply, error) {
	x.tried, x.began = 0, x.now()
	refused := ""
	for {
		x.tried++
		r, token, wait, err := x.once(ctx, p, d, refused)
		if err == nil {
			return r, nil
		}
		if wait < 0 || x.tried >= triesMax || x.now().Add(wait).Sub(x.began) > triesTime {
			return nil, err
		}
		refused = token
		if waitErr := x.sleep(ctx, wait); waitErr != nil {
			return nil, err
		}
		// The credential may have been changed, or renewed, meanwhile: perhaps to
		// one of another account, which does not know a change by its key.
		version := p.Version
		if same, lookErr := x.refresh(ctx, p, d); lookErr != nil {
			return nil, lookErr
		} else if !same || p.Version != version && x.class != catalog.Read && mayBeDone(err) {
			return nil, err
		}
		x.trace.Retries++
	}
}

// mayBeDone tells whether a try that failed may have done what it was for.
func mayBeDone(err error) bool {
	f, ok := coworker.AsFault(err)
	if !ok {
		return true
	}
	told, answered := f.Details.(UpstreamDetails)
	return !answered || undecided(told.Status)
}

// refresh reads the connection again. When it was changed meanwhile the request
// is composed anew too: its address may hold a credential, or be another. It
// tells false when the call would now be made with another connection.
func (x *execution) refresh(ctx context.Context, p *prepared, d *draft) (same bool, err error) {
	fresh, err := x.book.Connection(ctx, x.who, p.Service, x.call.Connection)
	if err != nil || fresh.ID != p.ID {
		return false, err
	}
	if fresh.Version == p.Version {
		return true, nil
	}
	next, err := prepare(p.service, fresh)
	if err != nil {
		return false, err
	}
	again, err := x.draft(next)
	if err != nil {
		return false, err
	}
	*p, *d = *next, *again
	return true, nil
}

const never = time.Duration(-1)

// again tells how long to wait before a call may be repeated: only one that
// reads, or that the service knows again by its key.
func (x *execution) again(status int, rule *catalog.ErrorRule, told, usual time.Duration) time.Duration {
	if x.class != catalog.Read && x.call.IdempotencyKey == "" {
		return never
	}
	retry := status == 0 || status == http.StatusTooManyRequests || status == http.StatusBadGateway ||
		status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
	if rule != nil {
		retry = rule.Retry
	}
	switch {
	case !retry:
		return never
	case told > 0:
		return told
	case rule != nil && rule.After > 0:
		return time.Duration(rule.After)
	}
	return usual << (x.tried - 1)
}

// unanswered is the outcome of a try that the network ended. What may not be
// called now may not be called in a second either.
func (x *execution) unanswered(err error) (*reply, string, time.Duration, error) {
	unsent := neverSent(err)
	err = unreachable(err)
	f, ok := coworker.AsFault(err)
	if !ok || !f.Retry {
		return nil, "", never, err
	}
	if x.class != catalog.Read && x.call.IdempotencyKey == "" && !unsent {
		f.Retry = false
		f.Hint += lookFirst
	}
	return nil, "", x.again(0, nil, 0, time.Second), err
}

func retryAfter(r *reply, rule *catalog.ErrorRule, now time.Time) time.Duration {
	if rule != nil {
		unit := time.Second
		if rule.AfterUnit == "ms" {
			unit = time.Millisecond
		}
		if value, ok := find(r.body, rule.AfterJSON); ok {
			if wait, ok := waitOf(plain(value), unit, now); ok {
				return wait
			}
		}
		if wait, ok := waitOf(r.header.Get(rule.AfterHeader), unit, now); ok {
			return wait
		}
	}
	for _, name := range []string{"Retry-After", "X-Ratelimit-Retry"} {
		if wait, ok := waitOf(r.header.Get(name), time.Second, now); ok {
			return wait
		}
	}
	return 0
}

// waitOf reads a wait that is told as a number of units or as a date.
func waitOf(text string, unit time.Duration, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e6 {
		return time.Duration(n * float64(unit)), true
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now), true
	}
	return 0, false
}
