package handlers

import (
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// coding chooses a content coding that the reader takes, by its weights and,
// where they are equal, the smaller first (RFC 9110 section 12.5.3). Empty
// means none.
func coding(h *fasthttp.RequestHeader) string {
	lists := h.PeekAll("Accept-Encoding")
	if len(lists) == 0 {
		return ""
	}
	weights := map[string]float64{}
	for _, list := range lists {
		for item := range strings.SplitSeq(string(list), ",") {
			name, params, _ := strings.Cut(item, ";")
			weights[strings.ToLower(strings.TrimSpace(name))] = weight(params)
		}
	}
	best, most := "", 0.0
	for _, name := range []string{"br", "gzip"} {
		w, ok := weights[name]
		if !ok {
			w = weights["*"]
		}
		if w > most {
			best, most = name, w
		}
	}
	return best
}

func weight(params string) float64 {
	name, value, ok := strings.Cut(strings.TrimSpace(params), "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	w, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || w < 0 || w > 1 {
		return 0
	}
	return w
}
