package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	readers  = 16  // connections of these loads
	asked    = 240 // addresses of a kind, each asked for once while nothing is cached
	smallest = 1000
)

// kinds are what is read. The cost of promised ones must not grow with the
// journal; of the others it is told, since their pages hold more in a large
// one, up to a bound.
var kinds = []struct {
	name     string
	promised bool
}{
	{"feed_page", true},
	{"entry_page", true},
	{"atom", true},
	{"search", true},
	{"deep_page", true}, // of the large journal alone, so after what is compared
	{"search_nowhere", false},
	{"search_apart", false},
	{"tag_page", false},
	{"agent_page", false},
	{"agent_atom", false},
}

// scale compares reading a small journal with reading a large one. What a page
// costs must not grow with the journal. The large one is made once, by the
// bulk seed, and kept in a folder outside of the repository.
func (b *bench) scale(ctx context.Context, key, scratch, folder string, large, rounds int) error {
	sizes := []*size{
		{name: "1k", entries: smallest, dir: scratch},
		{name: "large", entries: large, dir: folder},
	}
	for _, s := range sizes {
		s.file = filepath.Join(s.dir, fmt.Sprintf("scale-%d.db", s.entries))
		s.env = []string{key, "INNERLOOP_DATA_DIR=" + s.dir, "INNERLOOP_DATABASE_URL=sqlite:" + s.file, "INNERLOOP_LISTEN=127.0.0.1:0", "INNERLOOP_LIMITS=off"}
		if err := seedOnce(ctx, s.env, b.binary, s.file, s.entries); err != nil {
			return err
		}
	}
	for round := range rounds {
		costs := map[string]map[string]float64{}
		err := b.beside(ctx, sizes, round == 0, costs)
		for _, s := range sizes {
			if s.server != nil {
				err = errors.Join(err, s.server.stop())
				s.server = nil
			}
		}
		if err != nil {
			return err
		}
		b.compare(costs["1k"], costs["large"], large)
	}
	return nil
}

// compare records what size and depth cost in one round, in which both journals
// had the same neighbours.
func (b *bench) compare(small, grown map[string]float64, large int) {
	for _, kind := range kinds {
		if less, more := small[kind.name], grown[kind.name]; less > 0 && more > 0 {
			b.record.add(kind.name+"_size_cost_ratio", fmt.Sprintf("CPU of one %s that is not cached, %d entries over %d", spoken(kind.name), large, smallest), more/less)
		}
	}
	if deep := grown["deep_page"]; deep > 0 {
		b.record.add("feed_depth_cost_ratio", "CPU of an uncached feed page far down the large journal over one near the top", deep/grown["feed_page"])
	}
}

// A size is one of the two journals, with the server that reads it.
type size struct {
	name      string
	entries   int
	dir, file string
	env       []string
	server    *process
	addresses map[string][]string
}

// beside serves both journals and reads them in turn, so that what a neighbour
// takes from the machine meets both.
func (b *bench) beside(ctx context.Context, sizes []*size, idle bool, costs map[string]map[string]float64) (err error) {
	for _, s := range sizes {
		began := time.Now()
		if s.server, err = start(ctx, s.env, b.binary, "serve"); err != nil {
			return err
		}
		if idle {
			b.record.add("first_page_ms_"+s.name, fmt.Sprintf("from the start of the program to its first feed page, %d entries", s.entries), firstPage(s.server, began))
			if rss, err := s.server.rss(); err == nil {
				b.record.add("rss_idle_mb_"+s.name, fmt.Sprintf("resident memory of the idle server, MiB, %d entries", s.entries), rss)
			}
		}
		s.addresses, err = collect(s.server.origin, s.entries)
		if err == nil && s.entries > smallest {
			s.addresses["deep_page"], err = deep(s.server.origin, s.file+".deep")
		}
		if err != nil {
			return err
		}
		if costs[s.name] == nil {
			costs[s.name] = map[string]float64{}
		}
	}
	for _, k := range kinds {
		if err := b.uncached(ctx, sizes, k.name, costs); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		for _, s := range sizes {
			if list := s.addresses[k.name]; k.promised && len(list) > 0 {
				if err := b.cached(ctx, s, k.name, list); err != nil {
					return fmt.Errorf("%d entries: %s: %w", s.entries, k.name, err)
				}
			}
		}
	}
	for _, s := range sizes {
		if rss, err := s.server.rss(); err == nil {
			b.record.add("rss_read_mb_"+s.name, fmt.Sprintf("the same after all these readings, %d entries", s.entries), rss)
		}
	}
	return nil
}

func spoken(kind string) string { return strings.ReplaceAll(kind, "_", " ") }

// seedOnce makes a journal unless it is there whole: its name is given last.
func seedOnce(ctx context.Context, env []string, binary, file string, entries int) error {
	if _, err := os.Stat(file); err == nil {
		// It may be of an earlier version, and a server says nothing meanwhile.
		if out, err := run(ctx, env, binary, "migrate"); err != nil {
			return fmt.Errorf("migrate: %w: %s", err, out)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "seeding %d entries\n", entries)
	unfinished := file + ".unfinished"
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(unfinished + suffix)
	}
	out, err := run(ctx, append(env, "INNERLOOP_DATABASE_URL=sqlite:"+unfinished), binary, "seed",
		"--agents", fmt.Sprint(max(20, entries/500)), "--entries", fmt.Sprint(entries), "--seed", "7")
	if err != nil {
		return fmt.Errorf("seed: %w: %s", err, out)
	}
	fmt.Fprint(os.Stderr, out)
	return os.Rename(unfinished, file) // closed, so the journal is one file
}

func firstPage(server *process, began time.Time) float64 {
	_, _, _ = fasthttp.Get(nil, server.origin+"/")
	return float64(time.Since(began).Milliseconds())
}

// stretch is how many addresses of one journal are read before it is the
// other's turn.
const stretch = 40

// uncached asks for every address of a kind once, while nothing is cached, of
// one journal and of the other in turn.
func (b *bench) uncached(ctx context.Context, sizes []*size, kind string, costs map[string]map[string]float64) error {
	sums := make([]measure, len(sizes))
	for from := 0; from < asked; from += stretch {
		for i, s := range sizes {
			list := s.addresses[kind]
			list = list[min(from, len(list)):min(from+stretch, len(list))]
			if len(list) == 0 {
				continue
			}
			var at atomic.Int64
			m, err := load(ctx, s.server, readers, time.Minute, func(_ int, r *fasthttp.Request) bool {
				n := int(at.Add(1)) - 1
				if n >= len(list) {
					return false
				}
				r.SetRequestURI(list[n])
				r.SetHost("127.0.0.1")
				return true
			}, wantStatus(fasthttp.StatusOK))
			if err != nil {
				return fmt.Errorf("%d entries: %w", s.entries, err)
			}
			sums[i].cpu += m.cpu
			sums[i].times = append(sums[i].times, m.times...)
		}
	}
	for i, s := range sizes {
		times := sums[i].times
		if len(times) == 0 {
			continue
		}
		slices.Sort(times)
		cost := milliseconds(sums[i].cpu) / float64(len(times))
		costs[s.name][kind] = cost
		b.record.add(kind+"_uncached_ms_cpu_"+s.name, "CPU of one, each asked for once: "+s.about(kind), cost)
		b.record.add(kind+"_uncached_p99_ms_"+s.name, "answer time of the same: "+s.about(kind), milliseconds(times[len(times)*99/100]))
	}
	return nil
}

// cached asks for the same few addresses again and again.
func (b *bench) cached(ctx context.Context, s *size, kind string, list []string) error {
	var at atomic.Int64
	m, err := load(ctx, s.server, readers, b.span/2, func(worker int, r *fasthttp.Request) bool {
		r.SetRequestURI(list[(int(at.Add(1))+worker)%min(len(list), 40)])
		r.SetHost("127.0.0.1")
		return true
	}, wantStatus(fasthttp.StatusOK))
	if err != nil {
		return err
	}
	b.record.add(kind+"_per_second_"+s.name, "cached, by the clock: "+s.about(kind), m.perSecond)
	b.record.add(kind+"_p99_ms_"+s.name, "answer time of the same: "+s.about(kind), milliseconds(m.p99))
	return nil
}

func (s *size) about(kind string) string {
	return fmt.Sprintf("%s, %d entries, %d connections", spoken(kind), s.entries, readers)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

var word = regexp.MustCompile(`[\p{L}]{5,}`)

// A page of the REST feed, as far as these loads need it.
type feedPage struct {
	Entries []struct {
		ID     string   `json:"entry_id"`
		Author string   `json:"author_id"`
		Title  string   `json:"title"`
		Body   string   `json:"body"`
		Tags   []string `json:"tags"`
	} `json:"entries"`
	Next *string `json:"next_cursor"`
}

func readFeed(origin, query string) (feedPage, error) {
	var page feedPage
	status, body, err := fasthttp.Get(nil, origin+"/v1/feed?"+query)
	if err != nil || status != fasthttp.StatusOK {
		return page, fmt.Errorf("feed: status %d: %w", status, err)
	}
	return page, json.Unmarshal(body, &page)
}

// deep walks to the end of the feed and returns addresses of pages near it. The
// walk is long and its outcome the same for one journal and key, so it is kept.
func deep(origin, file string) ([]string, error) {
	if raw, err := os.ReadFile(file); err == nil {
		return strings.Fields(string(raw)), nil
	}
	fmt.Fprintln(os.Stderr, "walking to the end of the feed")
	var last []string
	cursor := ""
	for {
		query := "limit=50"
		if cursor != "" {
			query += "&cursor=" + url.QueryEscape(cursor)
		}
		page, err := readFeed(origin, query)
		if err != nil {
			return nil, err
		}
		if page.Next == nil || *page.Next == "" {
			break
		}
		cursor = *page.Next
		if last = append(last, "/?before="+url.QueryEscape(cursor)); len(last) > asked {
			last = last[1:]
		}
	}
	return last, os.WriteFile(file, []byte(strings.Join(last, "\n")), 0o600)
}

// collect walks the top of the feed for addresses of every kind.
func collect(origin string, entries int) (map[string][]string, error) {
	out, known := map[string][]string{}, map[string]bool{}
	add := func(kind, address string) {
		if !known[address] && len(out[kind]) < asked {
			known[address] = true
			out[kind] = append(out[kind], address)
		}
	}
	var texts [][]string
	for cursor, more := "", true; more && len(texts) < entries && len(out["feed_page"]) < asked; {
		query := "limit=5"
		if cursor != "" {
			query += "&cursor=" + url.QueryEscape(cursor)
		}
		page, err := readFeed(origin, query)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Entries {
			add("entry_page", "/entries/"+e.ID)
			add("agent_page", "/agents/"+e.Author)
			add("agent_atom", "/agents/"+e.Author+"/feed.atom")
			for _, tag := range e.Tags {
				add("tag_page", "/tags/"+url.PathEscape(tag))
			}
			texts = append(texts, word.FindAllString(strings.ToLower(e.Title+" "+e.Body), -1))
		}
		if more = page.Next != nil && *page.Next != ""; more {
			cursor = *page.Next
			add("feed_page", "/?before="+url.QueryEscape(cursor))
			add("atom", "/feed.atom?before="+url.QueryEscape(cursor))
		}
	}
	for kind, questions := range searches(texts) {
		for _, words := range questions {
			add(kind, "/search?q="+url.QueryEscape(strings.Join(words, " ")))
		}
	}
	if len(out["search"]) < asked/2 {
		return nil, fmt.Errorf("the journal has words for %d searches, %d are wanted", len(out["search"]), asked/2)
	}
	return out, nil
}

// searches makes questions of the words of the newest entries. Those of the
// kind search, of one word and of two, fill a page in either journal: with
// fewer results in the small one, sizes of pages would be compared.
func searches(texts [][]string) map[string][][]string {
	const full = 21 // a page, and one more
	in := map[string][]int{}
	for i, words := range texts {
		for _, w := range words {
			if at := in[w]; len(at) == 0 || at[len(at)-1] != i {
				in[w] = append(at, i)
			}
		}
	}
	together := func(words ...string) (n int) {
		for _, i := range in[words[0]] {
			if slices.Contains(in[words[len(words)-1]], i) {
				n++
			}
		}
		return n
	}
	out, before := map[string][][]string{}, "evening"
	for i, words := range texts {
		n := len(words)
		if n < 4 {
			continue
		}
		for _, question := range [][]string{{words[i%n]}, {words[1], words[n/2]}} {
			if together(question...) >= full {
				out["search"] = append(out["search"], question)
			}
		}
		out["search_apart"] = append(out["search_apart"], []string{before, words[n-1]})
		out["search_nowhere"] = append(out["search_nowhere"], []string{fmt.Sprintf("absent%d", i), words[2]})
		before = words[n-2]
	}
	return out
}
