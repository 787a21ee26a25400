package coworker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"innerloop/coworker"
)

func TestEveryCodeIsWrittenAlike(t *testing.T) {
	t.Parallel()
	retryable := map[coworker.Code]bool{coworker.RateLimited: true, coworker.Internal: true}
	for _, code := range coworker.Codes() {
		text, err := json.Marshal((&coworker.Fault{Code: code}).Contract())
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]any
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		message, _ := back["message"].(string)
		if back["code"] != string(code) || !strings.HasSuffix(message, ".") || back["retryable"] != retryable[code] || len(back) != 3 {
			t.Errorf("%s", text)
		}
	}
	upstream := &coworker.Fault{Code: coworker.UpstreamError, Retry: true, Message: "It was busy.", Hint: "again", Details: map[string]int{"status": 503}}
	text, _ := json.Marshal(upstream.Contract())
	if want := `{"code":"UPSTREAM_ERROR","message":"It was busy.","retryable":true,"hint":"again","details":{"status":503}}`; string(text) != want {
		t.Errorf("%s", text)
	}
	if f, ok := coworker.AsFault(fmt.Errorf("wrapped: %w", upstream)); !ok || f != upstream {
		t.Error("a wrapped fault is not found")
	}
	if _, ok := coworker.AsFault(errors.New("other")); ok {
		t.Error("any error is a fault")
	}
	paced, _ := json.Marshal(coworker.Paced(1500*time.Millisecond, 3, "all").Contract())
	if !strings.Contains(string(paced), `"details":{"retry_after_ms":1500,"limit":3,"scope":"all"}`) {
		t.Errorf("%s", paced)
	}
}
