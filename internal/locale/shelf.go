package locale

import (
	"strconv"
	"strings"
)

// ShelfMessages are what the settings pages say of memory files and skills.
// "#" takes a number, "%s" one value.
type ShelfMessages struct {
	Done  map[string]string // by the word in the address
	Rules map[string]string // by the rule, or else by the field; "" is any

	File    ShelfFiles
	Skill   ShelfSkills
	Size    string
	Changed string
	Digest  string
	Bytes   Forms
	KiB     string // "%s" is a number, as in the next
	MiB     string
}

// ShelfFiles is the memory of a user.
type ShelfFiles struct {
	Title, Lead, Search, Submit, All string
	Nothing, None, Path              string
	New, NewLead, PathHint, Pick     string
	PickHint, Replace, ReplaceHint   string
	Keep, Anew, AnewLead, AnewSubmit string
	Binary, Cut, Content, Download   string
	Delete, DeleteOf, Ask, AskLead   string
	Confirm, Back                    string
}

// ShelfSkills are the skills of an organisation.
type ShelfSkills struct {
	Title, Lead, None, ID           string
	Description, Service, NoService string
	State, On, Off                  string
	Enable, EnableOf                string
	Disable, DisableOf              string
	Remove, RemoveOf, Ask, AskLead  string
	Confirm, Back                   string
	New, NewLead, Pick, PickHint    string
	Add, Files, Added, Text         string
	OffLine                         string
	Holds                           Forms
}

var shelfMessages = map[Lang]*ShelfMessages{
	English: {
		Done: map[string]string{
			"kept":     "The file is kept.",
			"deleted":  "The file was deleted.",
			"shelved":  "The skill is there. Assistants find it with their next request.",
			"enabled":  "The skill is enabled.",
			"disabled": "The skill is disabled: for keys it is not there any more.",
			"unshelve": "The skill was removed with its files.",
		},
		Rules: map[string]string{
			"":                 "This cannot be taken as it is.",
			"name":             "The name in the front matter of SKILL.md must be the folder’s.",
			"folder":           "The folder must have a name of 1 to 64 of a-z, 0-9 and single hyphens between them, which does not begin with innerloop-.",
			"files":            "A skill has at most 100 plain files of at most 5 MiB each and 10 MiB in all, under names of Latin letters, digits, dots, hyphens and underscores; nothing hidden, no links, nothing executable outside of scripts/.",
			"SKILL.md":         "The folder must hold SKILL.md: UTF-8 of at most 100 KiB that begins with front matter between two lines of ---, without anchors, aliases and tags, at most 16 levels deep, and has a body after it.",
			"description":      "The front matter of SKILL.md must have a description of 1 to 1024 characters.",
			"metadata":         "metadata in the front matter must be a map.",
			"metadata.service": "metadata.service in the front matter must be the id of a service of the catalog.",
			"skill":            "An organisation has at most 100 skills. Remove one first.",
			"zip":              "This is no ZIP archive that can be read whole.",
			"path":             "A path has 1 to 512 bytes: at most 32 parts between single slashes, none of them . or .., no backslash and no control character.",
			"does not fit: the memory of this user is full; delete files first": "Your memory is full. Delete files first.",
			"must not lead through a file, nor name a folder that holds files":  "The path must not lead through a file, nor name a folder that holds files.",
			"must be a part of a path, of at most 100 characters":               "Search for a part of a path of at most 100 characters.",
			"has to be chosen":                                 "Choose a file.",
			"is there already":                                 "There is a file under this path. Tick the box to replace it, or choose another path.",
			"is larger than the memory keeps":                  "The file is larger than 5 MiB.",
			"is no service of the catalog":                     "metadata.service in the front matter must be the id of a service of the catalog.",
			"is one too many: an organization has at most 100": "An organisation has at most 100 skills. Remove one first.",
		},
		File: ShelfFiles{
			Title: "Memory", Lead: "Files of your own user that assistants with your keys can read. Other users, admins included, do not see them.",
			Search: "Find a file by its path", Submit: "Search", All: "All files",
			Nothing: "No file has this in its path.", None: "There are no files yet.", Path: "Path",
			New: "Keep a file", NewLead: "At most 5 MiB. It can be read with the next request.",
			PathHint: "Such as notes/prices.md; empty takes the name of the file.", Pick: "File", PickHint: "Of any kind; text can be read as it is, anything else is passed on as binary.",
			Replace: "Replace a file of this path", ReplaceHint: "Without it, a file that is there stays.",
			Keep: "Keep the file", Anew: "Replace the content", AnewLead: "The path stays, and the file is another one with the next request.", AnewSubmit: "Replace",
			Binary: "This file is binary and is not shown here.", Cut: "Only the first 64 KiB are shown.", Content: "Content", Download: "Download",
			Delete: "Delete", DeleteOf: "Delete: %s", Ask: "Delete this file?", AskLead: "The file is gone with the next request. This cannot be undone.",
			Confirm: "Delete the file", Back: "All files",
		},
		Skill: ShelfSkills{
			Title: "Skills", Lead: "Folders in the Agent Skills format that tell assistants how a piece of work is done here. Keys of the organisation find the enabled ones.",
			None: "There are no skills yet.", ID: "Skill", Description: "Description", Service: "Service", NoService: "none",
			State: "State", On: "Enabled", Off: "Disabled",
			Enable: "Enable", EnableOf: "Enable: %s", Disable: "Disable", DisableOf: "Disable: %s",
			Remove: "Remove", RemoveOf: "Remove: %s", Ask: "Remove “%s”?", AskLead: "The skill goes with all its files. This cannot be undone.",
			Confirm: "Remove the skill", Back: "All skills",
			New: "Add a skill", NewLead: "A ZIP archive of one folder with SKILL.md in it. A skill of the same name is replaced, and stays enabled or disabled as it was.",
			Pick: "ZIP archive", PickHint: "At most 10 MiB. Files that lie at the top of the archive take its name as the folder’s.",
			Add: "Add the skill", Files: "Files", Added: "Added", Text: "What an assistant reads",
			OffLine: "This skill is disabled: for keys it is not there.", Holds: Forms{One: "# file", Other: "# files"},
		},
		Size: "Size", Changed: "Changed", Digest: "SHA-256", Bytes: Forms{One: "# byte", Other: "# bytes"}, KiB: "%s KiB", MiB: "%s MiB",
	},
	Russian: {
		Done: map[string]string{
			"kept":     "Файл сохранён.",
			"deleted":  "Файл удалён.",
			"shelved":  "Навык добавлен. Ассистенты найдут его со следующим запросом.",
			"enabled":  "Навык включён.",
			"disabled": "Навык выключен: для ключей его больше нет.",
			"unshelve": "Навык удалён вместе с файлами.",
		},
		Rules: map[string]string{
			"":                 "В таком виде это принять нельзя.",
			"name":             "Имя (name) в начале SKILL.md должно совпадать с именем папки.",
			"folder":           "Имя папки — от 1 до 64 знаков a-z, 0-9 и одиночных дефисов между ними; оно не начинается с innerloop-.",
			"files":            "В навыке не больше 100 обычных файлов, каждый до 5 МиБ и все вместе до 10 МиБ, с именами из латинских букв, цифр, точек, дефисов и подчёркиваний; без скрытых файлов и ссылок, исполняемые — только в scripts/.",
			"SKILL.md":         "В папке нужен SKILL.md: UTF-8 до 100 КиБ, в начале — поля между двумя строками ---, без якорей, псевдонимов и тегов и не глубже 16 уровней, за ними — текст.",
			"description":      "В начале SKILL.md нужно описание (description) от 1 до 1024 знаков.",
			"metadata":         "Поле metadata в начале SKILL.md должно быть словарём.",
			"metadata.service": "В metadata.service должен стоять идентификатор сервиса из каталога.",
			"skill":            "У организации не больше 100 навыков. Сначала удалите один.",
			"zip":              "Это не архив ZIP, который можно прочесть целиком.",
			"path":             "Путь — от 1 до 512 байт: не больше 32 частей через одну косую черту, ни одна из них не . и не .., без обратной косой черты и управляющих знаков.",
			"does not fit: the memory of this user is full; delete files first": "Ваша память заполнена. Сначала удалите файлы.",
			"must not lead through a file, nor name a folder that holds files":  "Путь не может вести через файл или называть папку, в которой есть файлы.",
			"must be a part of a path, of at most 100 characters":               "Ищите по части пути не длиннее 100 знаков.",
			"has to be chosen":                                 "Выберите файл.",
			"is there already":                                 "По этому пути файл уже есть. Отметьте, что его надо заменить, или выберите другой путь.",
			"is larger than the memory keeps":                  "Файл больше 5 МиБ.",
			"is no service of the catalog":                     "В metadata.service должен стоять идентификатор сервиса из каталога.",
			"is one too many: an organization has at most 100": "У организации не больше 100 навыков. Сначала удалите один.",
		},
		File: ShelfFiles{
			Title: "Память", Lead: "Файлы вашего пользователя, которые могут читать ассистенты с вашими ключами. Другие пользователи, в том числе администраторы, их не видят.",
			Search: "Найти файл по пути", Submit: "Найти", All: "Все файлы",
			Nothing: "Ни в одном пути этого нет.", None: "Файлов пока нет.", Path: "Путь",
			New: "Сохранить файл", NewLead: "Не больше 5 МиБ. Его можно будет прочесть со следующим запросом.",
			PathHint: "Например, заметки/цены.md; если не указать, путём будет имя файла.", Pick: "Файл", PickHint: "Любого вида: текст читается как есть, остальное передаётся как двоичные данные.",
			Replace: "Заменить файл с таким путём", ReplaceHint: "Иначе файл, который уже есть, останется.",
			Keep: "Сохранить файл", Anew: "Заменить содержимое", AnewLead: "Путь останется прежним, а содержимое сменится со следующего запроса.", AnewSubmit: "Заменить",
			Binary: "Это двоичный файл, здесь он не показывается.", Cut: "Показаны только первые 64 КиБ.", Content: "Содержимое", Download: "Скачать",
			Delete: "Удалить", DeleteOf: "Удалить: %s", Ask: "Удалить этот файл?", AskLead: "Файла не станет со следующего запроса. Отменить это нельзя.",
			Confirm: "Удалить файл", Back: "Все файлы",
		},
		Skill: ShelfSkills{
			Title: "Навыки", Lead: "Папки в формате Agent Skills, которые объясняют ассистентам, как здесь делают ту или иную работу. Ключи организации находят включённые.",
			None: "Навыков пока нет.", ID: "Навык", Description: "Описание", Service: "Сервис", NoService: "нет",
			State: "Состояние", On: "Включён", Off: "Выключен",
			Enable: "Включить", EnableOf: "Включить: %s", Disable: "Выключить", DisableOf: "Выключить: %s",
			Remove: "Удалить", RemoveOf: "Удалить: %s", Ask: "Удалить «%s»?", AskLead: "Навык исчезнет вместе со всеми файлами. Отменить это нельзя.",
			Confirm: "Удалить навык", Back: "Все навыки",
			New: "Добавить навык", NewLead: "Архив ZIP с одной папкой, в которой есть SKILL.md. Навык с тем же именем будет заменён и останется включённым или выключенным, как был.",
			Pick: "Архив ZIP", PickHint: "Не больше 10 МиБ. Если файлы лежат прямо в архиве, именем папки считается имя архива.",
			Add: "Добавить навык", Files: "Файлы", Added: "Добавлен", Text: "Что читает ассистент",
			OffLine: "Этот навык выключен: для ключей его нет.", Holds: Forms{One: "# файл", Few: "# файла", Many: "# файлов", Other: "# файла"},
		},
		Size: "Размер", Changed: "Изменён", Digest: "Сумма SHA-256", Bytes: Forms{One: "# байт", Few: "# байта", Many: "# байт", Other: "# байта"}, KiB: "%s КиБ", MiB: "%s МиБ",
	},
}

// ShelfMessages returns the words of memory files and skills.
func (l Lang) ShelfMessages() *ShelfMessages { return shelfMessages[l] }

// Size is a number of bytes in words, to one digit after the point.
func (l Lang) Size(bytes int64) string {
	m := l.ShelfMessages()
	unit, form := int64(1<<10), m.KiB
	switch {
	case bytes < 1<<10:
		return l.Count(int(bytes), m.Bytes)
	case bytes >= 1<<20:
		unit, form = 1<<20, m.MiB
	}
	number := strconv.FormatFloat(float64(bytes)/float64(unit), 'f', 1, 64)
	if l == Russian {
		number = strings.Replace(number, ".", ",", 1)
	}
	return strings.Replace(form, "%s", number, 1)
}
