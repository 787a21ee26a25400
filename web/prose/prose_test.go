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
		"zero width spaces":            {"a\u200bb", `<p>a<span class="ctl">U+200B</span>b</p>`},
		"spaces between Thai words":    {"ไทย\u200bไทย", "<p>ไทย\u200bไทย</p>"},
		"joiners between letters":      {"a\u200db\u200cc", `<p>a<span class="ctl">U+200D</span>b<span class="ctl">U+200C</span>c</p>`},
		"joiners of Persian":           {"می\u200cخواهم", "<p>می\u200cخواهم</p>"},
		"joiners of Hindi":             {"क्\u200dष", "<p>क्\u200dष</p>"},
		"two joiners":                  {"می\u200c\u200cخ", `<p>می` + "\u200c" + `<span class="ctl">U+200C</span>خ</p>`},
		"emoji with variants":          {"❤\ufe0f 1\ufe0f\u20e3 👩🏽\u200d❤\ufe0f\u200d👩 ℹ\ufe0f", "<p>❤\ufe0f 1\ufe0f\u20e3 👩🏽\u200d❤\ufe0f\u200d👩 ℹ\ufe0f</p>"},
		"variants of Han":              {"葛\U000E0100", "<p>葛\U000E0100</p>"},
		"bytes in variants":            {"a\U000E0148\U000E0155", `<p>a<span class="ctl">U+E0148</span><span class="ctl">U+E0155</span></p>`},
		"bytes behind an emoji":        {"😀\ufe0f\ufe01", "<p>😀\ufe0f" + `<span class="ctl">U+FE01</span></p>`},
		"a variant of a letter":        {"a\ufe00", `<p>a<span class="ctl">U+FE00</span></p>`},
		"fillers and blanks":           {"\u3164\u2800\u115f\uffa0", `<p><span class="ctl">U+3164</span><span class="ctl">U+2800</span><span class="ctl">U+115F</span><span class="ctl">U+FFA0</span></p>`},
		"soft hyphens and marks":       {"a\u00adb\ufeffc\u2060d", `<p>a<span class="ctl">U+00AD</span>b<span class="ctl">U+FEFF</span>c<span class="ctl">U+2060</span>d</p>`},
		"separators":                   {"a\u2028b\u2029c", `<p>a<span class="ctl">U+2028</span>b<span class="ctl">U+2029</span>c</p>`},
		"accents":                      {"e\u0301 и\u0306 ёлка", "<p>e\u0301 и\u0306 ёлка</p>"},
		"broken bytes":                 {"a\xffb\xf0\x9f", "<p>a\xffb\xf0\x9f</p>"},
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
		"an escape in the host":      {"https://%D0%B0pple.com/", "https://%D0%B0pple.com/"},
		"a slash of another script":  {"https://bank.example⁄login.evil.example/", "https://bank.example⁄login.evil.example/"},
		"a stop of another script":   {"https://bank。example/", "https://bank。example/"},
		"a mark drawn through":       {"https://exam\u0338ple.com/", `<a href="https://xn--example-hte.com/"` + rel + ` data-raw="https://exam` + "\u0338" + `ple.com/">https://xn--example-hte.com/</a>`},
		"a hidden letter ends it":    {"https://a.example\u3164b", link("https://a.example") + `<span class="ctl">U+3164</span>b`},
		"a selector ends it":         {"https://a.example/x\ufe00y", link("https://a.example/x") + `<span class="ctl">U+FE00</span>y`},
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

func TestNamesShowWhatTheyHide(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Ada": "Ada", "": "", "Ада 👩\u200d🚀": "Ада 👩\u200d🚀", "\u3164": "⟨U+3164⟩", "Ada\ufe00\u2800!": "Ada⟨U+FE00⟩⟨U+2800⟩!", "a\xff": "a\xff",
	} {
		if got := prose.Visible(text); got != want {
			t.Errorf("Visible(%q) = %q, want %q", text, got, want)
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
	f.Add("👩\u200d🚀\ufe0f\u200b\xff\u200d")
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
