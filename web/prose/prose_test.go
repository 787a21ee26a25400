package prose_test

import (
	"strings"
	"testing"

	"innerloop/web/prose"
)

func lines(text string) string {
	var b strings.Builder
	for _, p := range prose.Parse(text) {
		b.WriteString("<p>")
		_ = prose.WriteLines(&b, p)
		b.WriteString("</p>")
	}
	return b.String()
}

func TestTextIsShownAsWritten(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"paragraphs and lines":         {"a\nb\n\nc", "<p>a<br>b</p><p>c</p>"},
		"several blank lines":          {"a\n\n\n \t\n\nb", "<p>a</p><p>b</p>"},
		"CR LF and CR":                 {"a\r\nb\rc\r\n\r\nd", "<p>a<br>b<br>c</p><p>d</p>"},
		"a script":                     {"<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"},
		"the end of a text field":      {"</textarea></p></body>", "<p>&lt;/textarea&gt;&lt;/p&gt;&lt;/body&gt;</p>"},
		"entities stay entities":       {"&lt;b&gt; &amp; &#x27;", "<p>&amp;lt;b&amp;gt; &amp;amp; &amp;#x27;</p>"},
		"quotes in text":               {`"x" 'y'`, "<p>&#34;x&#34; &#39;y&#39;</p>"},
		"Markdown has no meaning":      {"**b** [x](y) ![i](z)", "<p>**b** [x](y) ![i](z)</p>"},
		"a quoted line keeps its mark": {"> said\nnot", `<p><i class="quote">&gt; said</i><br>not</p>`},
		"an arrow is no quote":         {">said", "<p>&gt;said</p>"},
		"indented lines":               {"a\n    b  c", `<p>a<br><span class="indent">    b  c</span></p>`},
		"right-to-left override":       {"a\u202eb\u202c", `<p>a<span class="ctl">U+202E</span>b<span class="ctl">U+202C</span></p>`},
		"isolates and marks":           {"\u2066x\u2069\u200f", `<p><span class="ctl">U+2066</span>x<span class="ctl">U+2069</span><span class="ctl">U+200F</span></p>`},
		"C1 and DEL":                   {"a\u0085\u007f", `<p>a<span class="ctl">U+0085</span><span class="ctl">U+007F</span></p>`},
		"smuggled tag characters":      {"hi\U000E0041", `<p>hi<span class="ctl">U+E0041</span></p>`},
		"a flag made of tags":          {"🏴\U000E0067\U000E0062\U000E007F!", "<p>🏴\U000E0067\U000E0062\U000E007F!</p>"},
		"joined emoji":                 {"👩\u200d👧", "<p>👩\u200d👧</p>"},
		"Hebrew":                       {"שלום", "<p>שלום</p>"},
	} {
		if got := lines(row.text); got != row.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestOnlyHonestAddressesBecomeLinks(t *testing.T) {
	t.Parallel()
	const rel = ` rel="nofollow ugc noopener"`
	link := func(address string) string { return `<a href="` + address + `"` + rel + `>` + address + `</a>` }
	for name, row := range map[string]struct{ text, want string }{
		"a sentence around it":       {"See https://a.example/x, then.", "See " + link("https://a.example/x") + ", then."},
		"parentheses":                {"(https://a.example/b_(c))", "(" + link("https://a.example/b_(c)") + ")"},
		"query and fragment":         {"http://a.example/?x=1&y=2#z.", link("http://a.example/?x=1&amp;y=2#z") + "."},
		"guillemets":                 {"«https://a.example»", "«" + link("https://a.example") + "»"},
		"a quote cannot break out":   {`https://a.example/"onmouseover="x`, link("https://a.example/") + "&#34;onmouseover=&#34;x"},
		"javascript":                 {"javascript:alert(1)", "javascript:alert(1)"},
		"data":                       {"data:text/html,x", "data:text/html,x"},
		"glued to a word":            {"xhttps://a.example", "xhttps://a.example"},
		"a user name deceives":       {"https://bank.example@evil.example/", "https://bank.example@evil.example/"},
		"no host":                    {"https:///x and http:// y", "https:///x and http:// y"},
		"upper case is not linked":   {"HTTPS://A.EXAMPLE", "HTTPS://A.EXAMPLE"},
		"mixed scripts are unmasked": {"https://exаmple.com/p", `<a href="https://xn--exmple-4nf.com/p"` + rel + ` data-raw="https://exаmple.com/p">https://xn--exmple-4nf.com/p</a>`},
		"as browsers write them":     {"https://ExАmple.com/p", `<a href="https://xn--exmple-4nf.com/p"` + rel + ` data-raw="https://ExАmple.com/p">https://xn--exmple-4nf.com/p</a>`},
		"a host that none accepts":   {"https://exаmple_.com/p", "https://exаmple_.com/p"},
		"one script is left alone":   {"https://пример.рф/п", link("https://пример.рф/п")},
		"a control ends it":          {"https://a.example/\u202ex", link("https://a.example/") + `<span class="ctl">U+202E</span>x`},
		"a port":                     {"http://127.0.0.1:80/", link("http://127.0.0.1:80/")},
		"a bad port":                 {"http://a.example:x/", "http://a.example:x/"},
		"a backslash":                {`https://a.example\@b`, link("https://a.example") + `\@b`},
	} {
		got := strings.TrimSuffix(strings.TrimPrefix(lines(row.text), "<p>"), "</p>")
		if got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, row.want)
		}
	}
}

func TestAnEntryIsNoFarmOfLinks(t *testing.T) {
	t.Parallel()
	got := lines(strings.Repeat("https://a.example/ \n\n", 9))
	if n := strings.Count(got, "<a "); n != prose.MaxLinks {
		t.Errorf("%d links", n)
	}
	if n := strings.Count(got, "https://a.example/"); n != 9+prose.MaxLinks {
		t.Errorf("addresses appear %d times", n)
	}
}

func TestExcerpts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("слово ", 60)
	for name, row := range map[string]struct {
		text  string
		paras int
		more  bool
	}{
		"a short entry is whole, however many paragraphs": {"a\n\nb\n\nc\n\nd", 4, false},
		"two paragraphs of moderate length":               {long + "\n\nend", 2, false},
		"a third paragraph is left out":                   {long + "\n\nb\n\nc", 2, true},
		"one endless paragraph":                           {strings.Repeat(long, 9), 1, true},
		"one endless word":                                {strings.Repeat("w", 900), 1, true},
		"a ladder of line breaks":                         {strings.Repeat("a\n", 100) + "b", 1, true},
	} {
		part, more := prose.Excerpt(row.text)
		if len(part) != row.paras || more != row.more {
			t.Errorf("%s: %d paragraphs, more %v", name, len(part), more)
		}
	}
	if !prose.Short(strings.Repeat("ж", 280)) || prose.Short(strings.Repeat("ж", 281)) {
		t.Error("the limit of a short entry is 280 code points")
	}
}

func TestSummaryIsOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\n\nb\tc":               "a b c",
		"\u202eabc\u0085d":        "abcd",
		"one two three four five": "one two three…",
		"wwwwwwwwwwwwwwwwwwwwwww": "wwwwwwwwwwwwwww…",
	} {
		if got := prose.Summary(text, 16); got != want {
			t.Errorf("Summary(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestReadingTime(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text, lang string
		want       int
	}{
		{"word", "en", 1},
		{strings.Repeat("word ", 660), "en", 3},
		{strings.Repeat("слово ", 540), "ru", 3},
		{strings.Repeat("字", 880), "zh", 2},
	} {
		if got := prose.Minutes(row.text, row.lang); got != row.want {
			t.Errorf("%d minutes for %d bytes in %s, want %d", got, len(row.text), row.lang, row.want)
		}
	}
}

func FuzzTextNeverBecomesMarkup(f *testing.F) {
	f.Add("<script>\n> q\n\n  i https://a.example/\"x")
	f.Add("https://exаmple.com\u202e\U000E0041&amp;")
	f.Fuzz(func(t *testing.T, text string) {
		got := prose.HTML(prose.Parse(text))
		for _, allowed := range []string{
			`<p dir="auto">`, "</p>\n", "<br>", `<i class="quote">`, "</i>", `<span class="indent">`, `<span class="ctl">`, "</span>", "</a>",
			`" rel="nofollow ugc noopener">`, `<a href="http://`, `<a href="https://`,
		} {
			got = strings.ReplaceAll(got, allowed, "")
		}
		if strings.ContainsAny(got, `<>"`) {
			t.Errorf("%q leaves %q", text, got)
		}
	})
}
