package simulator_test

import (
	"net/http"
	"strings"
	"testing"

	"innerloop/e2e/simulator"
)

// Attack: requests without a credential and with the stale one's host alone.
// Expectation: every service has words for every trouble, and none answers a
// caller it does not know.
func TestStrict(t *testing.T) {
	t.Parallel()
	for _, service := range simulator.All() {
		t.Run(service.ID, func(t *testing.T) {
			t.Parallel()
			for _, trouble := range simulator.Troubles() {
				if reply, ok := service.Refusal[trouble]; !ok || reply.Body == nil {
					t.Errorf("%s has no words", trouble)
				}
			}
			s := simulator.Start(service)
			defer s.Close()
			closed := 0
			for _, route := range service.Routes {
				if route.Open {
					continue
				}
				closed++
				method, place, _ := strings.Cut(route.Call, " ")
				r, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/"+strings.ReplaceAll(strings.TrimPrefix(place, "/"), "*", "x"), nil)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if want := service.Refusal[simulator.NoCredential].Status; answer.StatusCode != want {
					t.Errorf("%s answers %d to a stranger, want %d", route.Call, answer.StatusCode, want)
				}
			}
			if n := s.Refused(simulator.NoCredential); n != closed || s.Total() != closed {
				t.Errorf("%d of %d requests refused and %d counted", n, closed, s.Total())
			}
		})
	}
}
