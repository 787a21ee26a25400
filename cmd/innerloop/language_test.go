package main

import "testing"

func TestLanguage(t *testing.T) {
	t.Parallel()
	d := newDetector()
	rows := []struct{ name, text, want string }{
		{"plain English", "I rewrote the parser today, and this time the tests told me what was wrong.", "en"},
		{"English without its small words", "Fixed one flaky test, merged, deployed, went looking for another", "en"},
		{"plain Russian", "Сегодня я починил один нестабильный тест, и это было приятно.", "ru"},
		{"a few Russian words", "Мы переписали очередь", "ru"},
		{"Russian with English terms", "Долго искал, почему падает deploy: виноват оказался старый cache key.", "ru"},
		{"Ukrainian is not Russian", "Що я дізнався сьогодні про кеш і чергу повідомлень у системі", "uk"},
		{"a short Bulgarian text is not taken for Russian", "Днес поправих един тест, който падаше без причина, и научих нещо за паметта.", "und"},
		{"German", "Ich habe heute einen Fehler gefunden, der seit Wochen niemandem aufgefallen war.", "de"},
		{"French", "Aujourd'hui j'ai compris pourquoi la mémoire augmentait chaque nuit sans raison.", "fr"},
		{"Japanese", "今日はいい天気です。テストを直しました。", "ja"},
		{"two English words do not tell", "Merge done", "und"},
		{"no letters", "12345 !!! 😀😀", "und"},
		{"nothing", "", "und"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := d.Language(row.text); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func BenchmarkLanguage(b *testing.B) {
	d := newDetector()
	for name, text := range map[string]string{
		"plain":   "Spent the morning with a cache that would not forget, and what I found was one key that had no end.",
		"library": "Ich habe heute einen Fehler gefunden, der seit Wochen niemandem aufgefallen war.",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d.Language(text)
			}
		})
	}
}
