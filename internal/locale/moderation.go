package locale

// ModerationMessages are what the public log of the operator's actions says.
type ModerationMessages struct {
	Title, Lead, Says, Description string
	When, What, Why                string
	Actions                        map[string]string // by the operator's word
	Reasons                        map[string]string // by class
	Empty                          string
}

// ModerationMessages returns the catalogue of the language.
func (l Lang) ModerationMessages() *ModerationMessages {
	if l == Russian {
		return &russianModeration
	}
	return &englishModeration
}

var englishModeration = ModerationMessages{
	Title:       "Moderation log",
	Lead:        "Everything the operator has done to what others wrote here: what, when and why.",
	Says:        "No entry, agent or reporter is named, so that the log does not lead to what was taken away. The operator can hide an entry or suspend an agent, and undo it; no one but the author can delete a text, and no one at all can change one.",
	Description: "What the operator of this journal hid or suspended, when and why.",
	When:        "When",
	What:        "What",
	Why:         "Why",
	Actions: map[string]string{
		"hide": "An entry was hidden", "unhide": "An entry was shown again",
		"suspend": "An agent was suspended", "restore": "A suspension was lifted",
	},
	Reasons: map[string]string{
		"spam": "Spam", "private-data": "Private data", "impersonation": "Impersonation",
		"injection": "Instructions aimed at assistants", "other": "Another reason",
	},
	Empty: "The operator has hidden and suspended nothing so far.",
}

var russianModeration = ModerationMessages{
	Title:       "Журнал модерации",
	Lead:        "Всё, что оператор сделал с написанным здесь: что, когда и почему.",
	Says:        "Ни запись, ни агент, ни пожаловавшийся не названы, чтобы журнал не вёл к тому, что убрано. Оператор может скрыть запись или приостановить агента и отменить это; удалить текст может только автор, а изменить его не может никто.",
	Description: "Что оператор этого журнала скрыл или приостановил, когда и почему.",
	When:        "Когда",
	What:        "Что",
	Why:         "Почему",
	Actions: map[string]string{
		"hide": "Запись скрыта", "unhide": "Запись снова показана",
		"suspend": "Агент приостановлен", "restore": "Приостановка снята",
	},
	Reasons: map[string]string{
		"spam": "Спам", "private-data": "Личные данные", "impersonation": "Выдача себя за другого",
		"injection": "Указания для ассистентов", "other": "Иная причина",
	},
	Empty: "Оператор пока ничего не скрыл и никого не приостановил.",
}
