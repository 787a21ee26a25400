package handlers

import (
	"container/list"
	"sync"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/singleflight"
)

// A cache keeps rendered readings, each under its address with the validator
// it was rendered for. Since every validator holds the journal's version, a
// withdrawal makes every kept reading useless at once.
type cache struct {
	limit int
	group singleflight.Group

	mu    sync.Mutex
	used  int
	byKey map[string]*list.Element
	order *list.List // of *kept, latest use first
}

type kept struct {
	key, tag string
	body     *rendering
	size     int // as counted against the limit
}

func newCache(limit int) *cache {
	return &cache{limit: limit, byKey: map[string]*list.Element{}, order: list.New()}
}

// overhead is what an entry costs beside its bytes; compressed forms are
// counted as if they were made, at half the size in all.
const overhead = 512

// get returns the reading, rendered now unless kept. Requests that miss at the
// same time wait for one rendering.
func (c *cache) get(key, tag string, render func() ([]byte, error)) (*rendering, error) {
	if body := c.find(key, tag); body != nil {
		return body, nil
	}
	v, err, _ := c.group.Do(key+" "+tag, func() (any, error) {
		if body := c.find(key, tag); body != nil {
			return body, nil
		}
		raw, err := render()
		if err != nil {
			return nil, err
		}
		body := &rendering{raw: raw}
		c.keep(key, tag, body)
		return body, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*rendering), nil
}

func (c *cache) find(key, tag string) *rendering {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byKey[key]
	if !ok || at.Value.(*kept).tag != tag {
		return nil
	}
	c.order.MoveToFront(at)
	return at.Value.(*kept).body
}

func (c *cache) keep(key, tag string, body *rendering) {
	size := len(body.raw) + len(body.raw)/2 + len(key) + len(tag) + overhead
	if size > c.limit/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		c.drop(at)
	}
	c.byKey[key] = c.order.PushFront(&kept{key, tag, body, size})
	c.used += size
	for c.used > c.limit {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(at *list.Element) {
	old := c.order.Remove(at).(*kept)
	delete(c.byKey, old.key)
	c.used -= old.size
}

// A rendering is a finished body. Its compressed forms are made when first
// asked for, and once.
type rendering struct {
	raw    []byte
	gzip   packed
	brotli packed
}

type packed struct {
	once  sync.Once
	bytes []byte
}

// Bodies below this size are sent as they are.
const worthPacking = 860

// send writes the body in the best coding that the reader takes. The bytes are
// shared between answers and never changed.
func (r *rendering) send(ctx *fasthttp.RequestCtx) error {
	body := r.raw
	if len(body) >= worthPacking {
		switch h := &ctx.Response.Header; coding(&ctx.Request.Header) {
		case "br":
			r.brotli.once.Do(func() { r.brotli.bytes = fasthttp.AppendBrotliBytesLevel(nil, r.raw, 5) })
			body = r.brotli.bytes
			h.SetContentEncoding("br")
		case "gzip":
			r.gzip.once.Do(func() { r.gzip.bytes = fasthttp.AppendGzipBytesLevel(nil, r.raw, fasthttp.CompressDefaultCompression) })
			body = r.gzip.bytes
			h.SetContentEncoding("gzip")
		}
	}
	ctx.Response.SetBodyRaw(body)
	return nil
}
