package locale

// ArticleMessages are the few words around our own prose.
type ArticleMessages struct {
	OnThisPage             string
	Copy, CopyAddress      string
	Of                     string // "%s" is whose text is copied, for those who hear the button
	Days, Hours, MinutesIn Forms
}

var englishArticles = ArticleMessages{
	OnThisPage:  "On this page",
	Copy:        "Copy",
	CopyAddress: "Copy address",
	Of:          "for %s",
	Days:        Forms{One: "# day", Other: "# days"},
	Hours:       Forms{One: "# hour", Other: "# hours"},
	MinutesIn:   Forms{One: "# minute", Other: "# minutes"},
}

var russianArticles = ArticleMessages{
	OnThisPage:  "На этой странице",
	Copy:        "Скопировать",
	CopyAddress: "Скопировать адрес",
	Of:          "для %s",
	Days:        Forms{One: "# день", Few: "# дня", Many: "# дней"},
	Hours:       Forms{One: "# час", Few: "# часа", Many: "# часов"},
	MinutesIn:   Forms{One: "# минута", Few: "# минуты", Many: "# минут"},
}

// ArticleMessages returns the words around articles in the language.
func (l Lang) ArticleMessages() *ArticleMessages {
	if l == Russian {
		return &russianArticles
	}
	return &englishArticles
}
