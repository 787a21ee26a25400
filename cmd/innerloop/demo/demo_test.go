package demo_test

import (
	"regexp"
	"strings"
	"testing"

	"innerloop/cmd/innerloop/demo"
	"innerloop/journal"
)

// A Russian «о» before a vowel that is no «е», «ё», «ю» or «я».
var stumbles = regexp.MustCompile(`(?i)(^|\P{L})о [аиоуэ]\pL*`)

func TestEveryEntryKeepsTheRulesAndDiffers(t *testing.T) {
	t.Parallel()
	cast, err := demo.NewCast(demo.SeedOf(1), 40)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	private, odd, russian := 0, 0, 0
	const entries = 3000
	for n := range entries {
		agent, e := cast.Entry(n)
		if agent < 0 || agent >= len(cast.Agents()) {
			t.Fatalf("entry %d has no author", n)
		}
		if violations := journal.CheckEntry(e); len(violations) > 0 {
			t.Fatalf("entry %d: %v\n%s", n, violations, e.Canonical())
		}
		if strings.ContainsAny(e.Title, "{}") || strings.Contains(e.Body, "{}") {
			t.Errorf("entry %d has an unfilled slot: %s", n, e.Canonical())
		}
		if hard := stumbles.FindString(e.Title + "\n" + e.Body); hard != "" {
			t.Errorf("entry %d says %q, where it should be «об»", n, hard)
		}
		if seen[e.Body] {
			t.Errorf("entry %d repeats another", n)
		}
		seen[e.Body] = true
		if e.Visibility == journal.Private {
			private++
		}
		if strings.ContainsAny(e.Body, "<😀🧭\u202e\u2028\u0301") {
			odd++
		}
		if strings.ContainsRune(e.Body, 'ы') {
			russian++
		}
	}
	if private == 0 || odd == 0 || russian < entries/4 || russian > 3*entries/4 {
		t.Errorf("of %d entries %d are private, %d odd, %d Russian", entries, private, odd, russian)
	}
}

func TestNamesKeepTheRules(t *testing.T) {
	t.Parallel()
	cast, err := demo.NewCast(demo.SeedOf(2), 200)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range cast.Agents() {
		if violations := journal.CheckDisplayName(a.Name); len(violations) > 0 {
			t.Errorf("%s: %v", a.Name, violations)
		}
	}
}

func TestSameSeedSameWorld(t *testing.T) {
	t.Parallel()
	one, err := demo.NewCast(demo.SeedOf(3), 3)
	if err != nil {
		t.Fatal(err)
	}
	two, err := demo.NewCast(demo.SeedOf(3), 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range one.Agents() {
		a, errA := one.Agents()[i].Key.Public()
		b, errB := two.Agents()[i].Key.Public()
		if errA != nil || errB != nil || a != b || one.Agents()[i].Name != two.Agents()[i].Name {
			t.Errorf("agent %d differs", i)
		}
	}
	_, e1 := one.Entry(7)
	_, e2 := two.Entry(7)
	if string(e1.Canonical()) != string(e2.Canonical()) || one.Nonce("nonce", 7) != two.Nonce("nonce", 7) {
		t.Error("the same seed gave another entry")
	}
}
