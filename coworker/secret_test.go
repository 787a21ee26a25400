package coworker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"innerloop/coworker"
)

func secret(t testing.TB) coworker.Secret {
	t.Helper()
	s, err := coworker.NewSecret(rand.NewChaCha8([32]byte{7}))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKeysHaveOneFormAndCatchTypos(t *testing.T) {
	t.Parallel()
	s := secret(t)
	text := s.Reveal()
	if !regexp.MustCompile("^"+coworker.SecretPattern+"$").MatchString(text) || len(text) != 65 {
		t.Fatalf("form of a key: %d characters", len(text))
	}
	back, ok := coworker.ParseSecret(text)
	if !ok || back.Reveal() != text || back.Prefix() != text[:15] || back.Sum() != s.Sum() {
		t.Fatal("a key does not read back")
	}
	for i := range text {
		for _, other := range []byte("0Zz_-é ") {
			if wrong := text[:i] + string(rune(other)) + text[i+1:]; wrong != text {
				if _, ok := coworker.ParseSecret(wrong); ok {
					t.Errorf("a wrong character at %d is not noticed", i)
				}
			}
		}
	}
	for name, wrong := range map[string]string{
		"empty": "", "cut": text[:64], "longer": text + "0", "upper case": strings.ToUpper(text), "two swapped": text[:20] + text[21:22] + text[20:21] + text[22:],
		"another word": "sk-ant-" + text[7:], "space": " " + text, "prefix alone": s.Prefix(),
	} {
		if _, ok := coworker.ParseSecret(wrong); ok {
			t.Errorf("%s is taken for a key", name)
		}
	}
}

// Whatever prints a key shows its public prefix at most.
func TestKeysAreNotPrinted(t *testing.T) {
	t.Parallel()
	s := secret(t)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "secret", s, "in", struct{ S coworker.Secret }{s})
	type holder struct{ hidden coworker.Secret }
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&log, verb+" "+verb+" "+verb, s, &s, holder{s})
	}
	//lint:ignore SA9005 that nothing of it is written is what is tested
	if text, err := json.Marshal(any(s)); err == nil {
		log.Write(text)
	}
	if private := s.Reveal()[16:]; strings.Contains(log.String(), private[:8]) || strings.Contains(log.String(), fmt.Sprintf("%x", private[:8])) {
		t.Errorf("a key was printed: %s", log.String())
	}
}

// No text makes the parser fall over, and what it takes is what it gives back.
func FuzzParseSecret(f *testing.F) {
	text := secret(f).Reveal()
	f.Add(text)
	f.Add(text[:64])
	f.Add("sk-org-")
	f.Add(strings.Repeat("é", 65))
	f.Fuzz(func(t *testing.T, given string) {
		s, ok := coworker.ParseSecret(given)
		if !ok {
			if s.Reveal() != "" || s.Prefix() != "" {
				t.Error("a refused key has a text")
			}
			return
		}
		if s.Reveal() != given || !strings.HasPrefix(given, s.Prefix()+"_") || !regexp.MustCompile("^"+coworker.SecretPattern+"$").MatchString(given) {
			t.Errorf("taken: %d bytes", len(given))
		}
		changed := []byte(given)
		changed[20]++
		if _, ok := coworker.ParseSecret(string(changed)); ok {
			t.Error("a changed key keeps its checksum")
		}
	})
}
