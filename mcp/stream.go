package mcp

import (
	"context"
	"iter"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// How long a call may take. Common clients give up at 60 seconds unless they
// hear something.
const (
	toolTimeoutDefault   = 55 * time.Second
	streamTimeoutDefault = 10 * time.Minute // of a call whose progress is told
	tick                 = 10 * time.Second // between two signs of life
	reportsKept          = 64               // of a tool that tells faster than its caller reads
	stillWorking         = "still working"
)

// streams tells whether a caller can read events beside plain JSON.
func streams(header http.Header) bool {
	for _, line := range header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err != nil || media != "text/event-stream" {
				continue
			}
			if weight, err := strconv.ParseFloat(params["q"], 64); err != nil || weight > 0 {
				return true
			}
		}
	}
	return false
}

func eventHeader() http.Header {
	h := answerHeader()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	return h
}

// lasts tells whether the tool that is called may run for minutes.
func (d *Door) lasts(r request) bool {
	field, _ := r.params.Get("name")
	name, _ := field.Text()
	return r.method == string(mcp.MethodToolsCall) && d.lasting[name]
}

// told runs a call whose caller wants to hear of its progress. An answer that
// comes before there is anything to tell is sent as plain JSON; otherwise the
// answer is a stream of notifications that ends with the result.
func (d *Door) told(ctx context.Context, c call, r request, header http.Header, body []byte) (int, http.Header, []byte, iter.Seq[[]byte]) {
	ctx, cancel := context.WithCancel(ctx)
	reports := make(chan string, reportsKept)
	c.limit, c.report = d.streamTimeout, func(message string) { push(reports, message) }
	begun := time.Now()
	done := make(chan func() (int, http.Header, []byte), 1)
	go func() {
		status, answer, payload := d.forward(ctx, c, r, header, body)
		done <- func() (int, http.Header, []byte) { return status, answer, payload }
	}()
	ticker := time.NewTicker(tick)
	var first string
	select {
	case result := <-done:
		if len(reports) == 0 {
			ticker.Stop()
			cancel()
			return whole(result())
		}
		done <- result
		first = <-reports
	case first = <-reports:
	case <-ticker.C:
		first = stillWorking
	}
	return http.StatusOK, eventHeader(), nil, func(yield func([]byte) bool) {
		defer cancel()
		defer ticker.Stop()
		last := 0.0
		say := func(message string) bool {
			seconds := math.Round(time.Since(begun).Seconds()*1000) / 1000
			last = max(seconds, math.Round(last*1000+1)/1000) // each is larger than the one before
			return yield(progress(r.token, last, message))
		}
		for more := say(first); more; {
			select {
			case message := <-reports:
				more = say(message)
			case <-ticker.C:
				more = say(stillWorking)
			case result := <-done:
				for more && len(reports) > 0 {
					more = say(<-reports)
				}
				if _, _, payload := result(); more {
					yield(event(payload))
				}
				return
			}
		}
	}
}

// push never waits: the oldest report gives way to the newest.
func push(reports chan string, message string) {
	for {
		select {
		case reports <- message:
			return
		default:
		}
		select {
		case <-reports:
		default:
		}
	}
}
