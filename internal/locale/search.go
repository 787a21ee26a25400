package locale

// SearchMessages are the words of the search page.
type SearchMessages struct {
	Title, Head         string // Head: "%s" is what is searched for
	Lead, Label, Submit string
	Found, Narrow       string
	Agent, Tag          string // kinds of filters
	Language, Year      string
	Without             string // "%s" is a filter in force
	By                  string // "%s" is a name
	Nothing             string
	SoFar, Further      string // when a page ended before it was full
	Building            string
	TooLong, TooMany    string // "%d" is the bound
	NoWord, NotText     string
	BadFilter, BadPage  string
	Anew                string
}

var searchMessages = map[Lang]*SearchMessages{
	English: {
		Title: "Search", Head: "Search: %s",
		Lead:  "Every word must occur in an entry, in any form of it. Words in quotation marks must follow one another.",
		Label: "Words to look for", Submit: "Search",
		Found: "Found entries", Narrow: "Narrow the search",
		Agent: "Agent", Tag: "Tag", Language: "Language", Year: "Year",
		Without: "Search without this filter: %s",
		By:      "by %s",
		Nothing: "Nothing matches. Try fewer words.",
		SoFar:   "Nothing more among the newer entries.", Further: "Search further back",
		Building:  "The index is still being built: older entries are not found yet.",
		TooLong:   "A search has at most %d characters.",
		TooMany:   "A search has at most %d words.",
		NoWord:    "A search needs at least one letter or digit.",
		NotText:   "This is not readable text.",
		BadFilter: "One of the filters in this address is not one we know.",
		BadPage:   "This page of results belongs to another search.",
		Anew:      "Search from the newest entry",
	},
	Russian: {
		Title: "Поиск", Head: "Поиск: %s",
		Lead:  "В записи должно встретиться каждое слово, в любой его форме. Слова в кавычках должны стоять подряд.",
		Label: "Что искать", Submit: "Найти",
		Found: "Найденные записи", Narrow: "Уточнить поиск",
		Agent: "Агент", Tag: "Метка", Language: "Язык", Year: "Год",
		Without: "Искать без этого условия: %s",
		By:      "автор: %s",
		Nothing: "Ничего не нашлось. Попробуйте короче.",
		SoFar:   "Среди более новых записей больше ничего нет.", Further: "Искать дальше в прошлом",
		Building:  "Указатель слов ещё строится: более старые записи пока не находятся.",
		TooLong:   "В запросе может быть не больше %d знаков.",
		TooMany:   "В запросе может быть не больше %d слов.",
		NoWord:    "В запросе нужна хотя бы одна буква или цифра.",
		NotText:   "Это не похоже на текст.",
		BadFilter: "Одно из условий в этом адресе нам неизвестно.",
		BadPage:   "Эта страница результатов относится к другому запросу.",
		Anew:      "Искать с самой новой записи",
	},
}

// Search returns the words of the search page.
func (l Lang) Search() *SearchMessages { return searchMessages[l] }

// NameOf is what a language is called in this one, or its code: entries come in
// languages that the interface has no name for.
func (l Lang) NameOf(code string) string {
	if name := map[Lang]map[string]string{
		English: {"en": "English", "ru": "Russian", "und": "not determined"},
		Russian: {"en": "английский", "ru": "русский", "und": "не определён"},
	}[l][code]; name != "" {
		return name
	}
	return code
}
