package simulator

import "strings"

// Bitrix24: the webhook's secret in the path, methods by name, pages of fifty,
// 503 for too many requests and 429 for too much running time.
func Bitrix24() Service {
	const code = "simulatedwebhook01"
	portal := "acme.bitrix24.ru"
	deals := paging{
		Rows: rows(120, func(n int) map[string]any { return map[string]any{"ID": n, "TITLE": "Deal"} }),
		In:   "body", Name: "start", Max: 50, Mark: func(next int) any { return next }, Find: numbered(0),
	}
	at := func(method string) string { return "POST " + portal + "/" + method + ".json" }
	return Service{
		ID:    "bitrix24",
		Good:  Credential{Fields: map[string]string{"webhook_url": "https://" + portal + "/rest/1/" + code + "/"}},
		Stale: Credential{Fields: map[string]string{"webhook_url": "https://" + portal + "/rest/1/removedwebhook000/"}},
		Auth:  inPath(portal+"/rest/1/", code),
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"error": code, "error_description": message}
		}, map[Trouble]refusal{
			NoCredential: {401, "INVALID_CREDENTIALS", "Invalid request credentials", nil},
			NoPath:       {404, "ERROR_METHOD_NOT_FOUND", "Method not found!", nil},
			NoMethod:     {405, "ERROR_WRONG_METHOD", "Method is not allowed", nil},
			NoType:       {400, "ERROR_WRONG_TYPE", "JSON is expected", nil},
			NoHeader:     {400, "ERROR_WRONG_HEADER", "A header is missing", nil},
			BadValue:     {400, "ERROR_ARGUMENT", "Argument is not valid", nil},
			Missing:      {400, "ERROR_NOT_FOUND", "Not found", nil},
			TooMany:      {503, "QUERY_LIMIT_EXCEEDED", "Too many requests", nil},
		}),
		Routes: []Route{
			{Call: at("user.current"), Type: jsonType, Answer: fixed(200, map[string]any{"result": map[string]any{"ID": "1"}})},
			{Call: at("crm.deal.list"), Type: jsonType, Answer: deals.byCursor(func(page []any, next any) any {
				answer := map[string]any{"result": page, "total": 120, "time": map[string]any{"operating": 0.1}}
				if next != nil {
					answer["next"] = next
				}
				return answer
			})},
			{Call: at("crm.contact.get"), Type: jsonType, Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: at("crm.contact.list"), Type: jsonType, Busy: 1, Answer: fixed(200, map[string]any{"result": []any{}, "total": 0})},
			{Call: at("crm.item.list"), Type: jsonType, Answer: fixed(429, map[string]any{"error": "OPERATION_TIME_LIMIT", "error_description": "Method is blocked due to operation time limit."})},
			{Call: at("tasks.task.add"), Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("fields.TITLE") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"result": map[string]any{"task": map[string]any{"id": "8"}}})
			}},
			{Call: at("crm.deal.delete"), Type: jsonType, Answer: fixed(200, map[string]any{"result": true})},
		},
	}
}

// OneC: basic credentials, OData version 3 on the organisation's own server,
// names in Russian, keys as guid literals.
func OneC() Service {
	const root = "odata/standard.odata"
	const key = "(guid'5e8f0f1c-0000-4000-8000-000000000001')"
	goods := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"Code": n, "Description": "Товар"} }),
		Name: "$skip", Size: "$top", Max: 1000,
	}
	list := goods.byNumber(func(page []any, total int) any { return map[string]any{"odata.count": total, "value": page} })
	only := func(answer func(*Request) Reply) func(*Request) Reply {
		return func(r *Request) Reply {
			if query := r.URL.Query(); query.Get("$format") != "json" || !strings.Contains(r.Header.Get("Accept"), "application/json") {
				return r.Refuse(BadValue)
			}
			return answer(r)
		}
	}
	return Service{
		ID:    "onec",
		Good:  Credential{Fields: map[string]string{"user": "робот", "password": "пароль:1"}},
		Stale: Credential{Fields: map[string]string{"user": "робот", "password": "прежний"}},
		Auth:  basic("робот", "пароль:1"),
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"odata.error": map[string]any{"code": code, "message": map[string]any{"lang": "ru", "value": message}}}
		}, map[Trouble]refusal{
			NoCredential: {401, "1", "Не пройдена аутентификация", []string{"Www-Authenticate", `Basic realm="1C:Enterprise 8.3"`}},
			NoPath:       {404, "8", "Сущность не найдена", nil},
			NoMethod:     {405, "15", "Метод не поддерживается", nil},
			NoType:       {415, "14", "Неверный формат запроса", nil},
			NoHeader:     {400, "6", "Нет заголовка", nil},
			BadValue:     {400, "6", "Ошибка разбора строки запроса", nil},
			Missing:      {404, "9", "Экземпляр сущности не найден", nil},
			TooMany:      {503, "20", "Недостаточно лицензий", []string{"Retry-After", "1"}},
		}),
		Routes: []Route{
			{Call: "GET " + root + "/", Answer: only(fixed(200, map[string]any{"value": []any{map[string]any{"name": "Catalog_Номенклатура"}}}))},
			{Call: "GET " + root + "/Catalog_Номенклатура", Answer: only(list)},
			{Call: "GET " + root + "/Catalog_Контрагенты" + key, Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: "GET " + root + "/AccumulationRegister_ТоварыНаСкладах/Balance()", Busy: 1, Answer: only(fixed(200, map[string]any{"value": []any{}}))},
			{Call: "PATCH " + root + "/Catalog_Номенклатура" + key, Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("Description") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"Description": r.text("Description")})
			}},
			{Call: "DELETE " + root + "/Catalog_Номенклатура" + key, Answer: fixed(204, nil)},
		},
	}
}
