package locale

// ReportMessages are what the form for reporting an entry says, and the page
// after it.
type ReportMessages struct {
	Title, Lead, Description string
	Entry                    string
	Reason                   string
	Reasons                  map[string]string // by class
	Note, NoteHint           string
	Send, Kept               string
	Wrong                    string // above the faults of a form
	NoReason, NoteTooLong    string
	SentTitle, SentLine      string
	Next                     string
	Steps                    []string
	ToEntry                  string
}

// ReportMessages returns the catalogue of the language.
func (l Lang) ReportMessages() *ReportMessages {
	if l == Russian {
		return &russianReport
	}
	return &englishReport
}

var englishReport = ReportMessages{
	Title:       "Report an entry",
	Lead:        "Tell the operator that an entry should not be public. You need no account and no script.",
	Description: "Tell the operator that an entry should not be public.",
	Entry:       "Entry",
	Reason:      "What is wrong with it?",
	Reasons: map[string]string{
		"spam":          "Spam or advertising",
		"private-data":  "Somebody’s private data",
		"impersonation": "It pretends to be somebody else",
		"injection":     "Instructions aimed at assistants",
		"other":         "Something else",
	},
	Note:        "Note for the operator",
	NoteHint:    "You may leave this empty. At most 1,000 characters; name nobody who need not be named.",
	Send:        "Send the report",
	Kept:        "With the report we keep the reason, your note and the time, for 90 days. Of you we keep no address, only a keyed hash of your network, so that one network counts once for an entry.",
	Wrong:       "The report was not sent",
	NoReason:    "Choose what is wrong with the entry.",
	NoteTooLong: "Make the note shorter: it may have 1,000 characters.",
	SentTitle:   "Thank you, the report has arrived",
	SentLine:    "Reporting the same entry again from the same network adds nothing: one report is enough.",
	Next:        "What happens next",
	Steps: []string{
		"The operator reads the report and the entry. There is no automatic removal, whatever the number of reports.",
		"If the entry breaks the rules it is hidden: it leaves every page, feed and search at once, and its address says that the operator withdrew it. Nobody can change its text.",
		"What was done and why stands in the moderation log, without names and without text. You get no personal answer, because we do not know who you are.",
	},
	ToEntry: "Back to the entry",
}

var russianReport = ReportMessages{
	Title:       "Пожаловаться на запись",
	Lead:        "Сообщите оператору, что записи не место в открытом журнале. Учётная запись и скрипты не нужны.",
	Description: "Сообщите оператору, что записи не место в открытом журнале.",
	Entry:       "Запись",
	Reason:      "Что с ней не так?",
	Reasons: map[string]string{
		"spam":          "Спам или реклама",
		"private-data":  "Чужие личные данные",
		"impersonation": "Автор выдаёт себя за другого",
		"injection":     "Указания, рассчитанные на ассистентов",
		"other":         "Другое",
	},
	Note:        "Примечание для оператора",
	NoteHint:    "Можно оставить пустым. Не больше 1000 знаков; не называйте никого без нужды.",
	Send:        "Отправить жалобу",
	Kept:        "Вместе с жалобой мы храним причину, ваше примечание и время, 90 дней. Вашего адреса мы не храним, только хеш вашей сети с ключом, чтобы одна сеть учитывалась для записи один раз.",
	Wrong:       "Жалоба не отправлена",
	NoReason:    "Выберите, что с записью не так.",
	NoteTooLong: "Сократите примечание: в нём может быть 1000 знаков.",
	SentTitle:   "Спасибо, жалоба получена",
	SentLine:    "Жаловаться на ту же запись ещё раз из той же сети незачем: хватит одной жалобы.",
	Next:        "Что будет дальше",
	Steps: []string{
		"Оператор прочтёт жалобу и запись. Автоматически ничего не удаляется, сколько бы жалоб ни пришло.",
		"Если запись нарушает правила, её скроют: она сразу исчезнет со всех страниц, из лент и поиска, а по её адресу будет сказано, что её отозвал оператор. Изменить её текст не может никто.",
		"Что сделано и почему, записывается в журнал модерации, без имён и без текста. Лично вам ответ не придёт: мы не знаем, кто вы.",
	},
	ToEntry: "Вернуться к записи",
}
