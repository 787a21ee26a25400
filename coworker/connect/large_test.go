package connect_test

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

var largeBody = `{"result":{"text":"` + strings.Repeat("a", 600<<10) + `"}}`

// Attack: more large answers at once than there are places. Expectation: they
// wait for each other and all are told, and small ones do not wait at all.
func TestLargeAnswersTakeTurns(t *testing.T) {
	t.Parallel()
	b := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == aWrite.Path {
			say(200, `{}`)(w, r)
			return
		}
		say(200, largeBody)(w, r)
	})
	release := b.OccupyLarge()
	b.do(aWrite)
	var group sync.WaitGroup
	answers := make([]*connect.Answer, 20)
	for i := range answers {
		group.Go(func() { answers[i], _, _ = b.Execute(t.Context(), everything, aRead) })
	}
	release()
	group.Wait()
	for i, a := range answers {
		if a == nil || a.OriginalBytes != len(largeBody) {
			t.Errorf("call %d: %+v", i, a)
		}
	}
	b.OccupyLarge()() // every place was given back
}

// A drip is a body that tells when more of it is read than a small one has, and
// gives the rest once it may.
type drip struct {
	sent, size  int
	beyond, may chan struct{}
}

func (d *drip) Close() error { return nil }

func (d *drip) Read(p []byte) (int, error) {
	if d.sent == d.size {
		return 0, io.EOF
	}
	if d.sent == 512<<10 {
		d.beyond <- struct{}{}
		<-d.may
	}
	n := copy(p, largeBody[d.sent:min(d.sent+len(p), d.size)])
	if d.sent < 512<<10 {
		n = min(n, 512<<10-d.sent)
	}
	d.sent += n
	return n, nil
}

func dripping(t *testing.T) (b *bench, beyond, may chan struct{}) {
	beyond, may = make(chan struct{}), make(chan struct{})
	return openTo(t, func([]netip.Prefix, string) connect.Doer {
		return doer(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: &drip{size: len(largeBody), beyond: beyond, may: may}}, nil
		})
	}), beyond, may
}

// Attack: more large answers come at once than there are places, from services
// that never end them. Expectation: nothing but their first half megabyte is
// read before there is a place; one organisation leaves some to another.
func TestLargeAnswersAreReadInTheirTurn(t *testing.T) {
	t.Parallel()
	b, beyond, may := dripping(t)
	release := b.OccupyLarge()
	ends := make(chan *connect.Answer, 10)
	call := func(o coworker.OrganizationID) {
		who := everything
		who.Organization = o
		go func() {
			a, _, _ := b.Execute(t.Context(), who, aRead)
			ends <- a
		}()
	}
	const own, others = 10, 2
	for range own {
		call("org_one")
	}
	release()
	for range 6 {
		<-beyond
	}
	for range others { // the two places that org_one leaves
		call("org_two")
		<-beyond
	}
	select {
	case <-beyond:
		t.Error("more is read than there are places")
	default:
	}
	go func() {
		for range own - 6 {
			<-beyond
		}
	}()
	close(may)
	for range own + others {
		if a := <-ends; a == nil || a.OriginalBytes != len(largeBody) {
			t.Errorf("%+v", a)
		}
	}
	if n := b.LargeShares(); n != 0 {
		t.Errorf("%d shares stay", n)
	}
}

// Attack: every place stays taken until the call must end. Expectation: a read
// may be repeated, a change is told not to be, a caller who leaves ends the wait.
func TestALargeAnswerWithoutAPlace(t *testing.T) {
	t.Parallel()
	try := func(call connect.Call, status int, why error) error {
		ctx := &ending{t.Context(), make(chan struct{}), why}
		b := open(t, func(w http.ResponseWriter, r *http.Request) {
			say(status, largeBody)(w, r)
			close(ctx.done)
		})
		defer b.OccupyLarge()()
		_, _, err := b.Execute(ctx, everything, call)
		return err
	}
	if f, ok := coworker.AsFault(try(aRead, 200, context.DeadlineExceeded)); !ok || f.Code != coworker.RateLimited || f.RetryAfter == 0 || !strings.Contains(asJSON(t, f.Details), "large answers at once") {
		t.Errorf("a read: %+v", f)
	}
	for status, hint := range map[int]string{200: "do not repeat", 500: "may have been done"} {
		if f, ok := coworker.AsFault(try(aWrite, status, context.DeadlineExceeded)); !ok || f.Code != coworker.ResponseTooLarge || f.Contract().Retryable || !strings.Contains(f.Hint, hint) {
			t.Errorf("a change, %d: %+v", status, f)
		}
	}
	if f, ok := coworker.AsFault(try(aRead, 200, context.Canceled)); ok && f.Code == coworker.RateLimited {
		t.Errorf("a caller who left: %+v", f)
	}
}
