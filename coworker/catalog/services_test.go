package catalog

import (
	"testing"
)

// What a call of a checked service may do. The rows are those where a rule of
// thumb would be wrong: reads by POST, writes by GET, money, messages.
func TestClassesOfServices(t *testing.T) {
	t.Parallel()
	catalog := load(t)
	for _, row := range []struct {
		service, module, method, path string
		want                          Class
	}{
		{"wildberries", "advert", "GET", "/adv/v0/start", Irreversible},
		{"wildberries", "advert", "GET", "/adv/v0/delete", Irreversible},
		{"wildberries", "advert", "GET", "/adv/v1/promotion/count", Read},
		{"wildberries", "analytics", "POST", "/api/analytics/v3/sales-funnel/products", Read},
		{"wildberries", "content", "POST", "/content/v2/cards/upload", Write},
		{"wildberries", "feedbacks", "POST", "/api/v1/feedbacks/answer", Irreversible},
		{"wildberries", "prices", "POST", "/api/v2/upload/task", Write},
		{"ozon", "seller", "POST", "/v3/product/list", Read},
		{"ozon", "seller", "POST", "/v4/product/info/stocks", Read},
		{"ozon", "seller", "POST", "/v2/products/stocks", Write},
		{"ozon", "seller", "POST", "/v2/products/delete", Irreversible},
		{"ozon", "seller", "POST", "/v1/actions/products/activate", Write},
		{"ozon", "seller", "POST", "/v2/posting/fbs/cancel", Irreversible},
		{"bitrix24", "webhook", "crm.deal.list", "", Read},
		{"bitrix24", "webhook", "crm.deal.add", "", Write},
		{"bitrix24", "webhook", "crm.deal.delete", "", Irreversible},
		{"bitrix24", "webhook", "im.message.add", "", Irreversible},
		{"bitrix24", "webhook", "disk.folder.deletetree", "", Irreversible},
		{"bitrix24", "webhook", "batch", "", Irreversible},
		{"onec", "odata", "Catalog_Товары", "", Read},
		{"onec", "odata", "Catalog_Товары.list", "", Read},
		{"onec", "odata", "Catalog_Товары.create", "", Write},
		{"onec", "odata", "Document_Заказ.delete", "", Irreversible},
		{"onec", "odata", "POST", "/Document_Заказ(guid'1')/Post", Write},
		{"onec", "odata", "DELETE", "/Catalog_Товары(guid'1')", Irreversible},
		{"moysklad", "remap", "POST", "/entity/product/delete", Irreversible},
		{"moysklad", "remap", "POST", "/entity/product", Write},
		{"moysklad", "remap", "GET", "/report/stock/all", Read},
		{"amocrm", "crm", "PATCH", "/leads/1", Write},
		{"yandex_direct", "direct", "campaigns.get", "", Read},
		{"yandex_direct", "direct", "campaigns.suspend", "", Write},
		{"yandex_direct", "direct", "ads.delete", "", Irreversible},
		{"yandex_direct", "direct", "POST", "/reports", Read},
		{"yandex_market", "partner", "POST", "/campaigns/1/offers/stocks", Read},
		{"yandex_market", "partner", "PUT", "/campaigns/1/offers/stocks", Write},
		{"yandex_market", "partner", "POST", "/businesses/1/offer-mappings/delete", Irreversible},
		{"yandex_metrika", "reports", "GET", "/data/bytime", Read},
		{"yandex_metrika", "management", "DELETE", "/counter/1", Irreversible},
		{"avito", "messenger", "POST", "/messenger/v1/accounts/1/chats/u2i/messages", Irreversible},
		{"avito", "messenger", "POST", "/messenger/v1/accounts/1/chats/u2i/read", Write},
		{"avito", "core", "PUT", "/core/v2/items/1/vas/", Irreversible},
		{"avito", "stats", "POST", "/stats/v1/accounts/1/items", Read},
		{"telegram_bot", "bot", "getMe", "", Read},
		{"telegram_bot", "bot", "sendMessage", "", Irreversible},
		{"telegram_bot", "bot", "deleteMessage", "", Irreversible},
		{"telegram_bot", "bot", "setMyCommands", "", Write},
		{"telegram_bot", "files", "GET", "/photos/file_1.jpg", Read},
		{"dadata", "suggestions", "POST", "/findById/party", Read},
		{"dadata", "cleaner", "POST", "/clean/address", Write},
		{"cdek", "api", "POST", "/calculator/tarifflist", Read},
		{"cdek", "api", "POST", "/orders", Irreversible},
		{"cdek", "api", "DELETE", "/orders/1", Irreversible},
		{"yookassa", "api", "GET", "/payments", Read},
		{"yookassa", "api", "POST", "/payments/1/cancel", Irreversible},
		{"yookassa", "api", "POST", "/refunds", Irreversible},
		{"yookassa", "api", "POST", "/webhooks", Write},
		{"hh", "api", "GET", "/negotiations/response", Read},
		{"hh", "api", "POST", "/calls/transcripts/search", Read},
		{"hh", "api", "PUT", "/negotiations/discard/1", Irreversible},
		{"hh", "api", "POST", "/negotiations/read", Write},
		{"hh", "api", "POST", "/vacancies", Irreversible},
		{"hh", "api", "POST", "/vacancies/drafts", Write},
		{"hh", "api", "DELETE", "/employers/1/vacancies/hidden/2", Write},
		{"github", "api", "POST", "/repos/a/b/issues", Write},
		{"github", "api", "PUT", "/repos/a/b/pulls/1/merge", Irreversible},
		{"github", "api", "PATCH", "/repos/a/b", Irreversible},
		{"github", "api", "PATCH", "/repos/a/b/issues/1", Write},
		{"github", "api", "DELETE", "/user/starred/a/b", Write},
		{"github", "api", "DELETE", "/repos/a/b", Irreversible},
		{"github", "uploads", "POST", "/repos/a/b/releases/1/assets", Irreversible},
		{"gitlab", "api", "PUT", "/projects/1/merge_requests/2/merge", Irreversible},
		{"gitlab", "api", "PUT", "/projects/1/merge_requests/2", Write},
		{"gitlab", "api", "POST", "/projects/1/ci/lint", Read},
		{"slack", "web", "conversations.history", "", Read},
		{"slack", "web", "admin.users.list", "", Read},
		{"slack", "web", "chat.postMessage", "", Irreversible},
		{"slack", "web", "users.profile.set", "", Write},
		{"slack", "web", "admin.users.remove", "", Irreversible},
		{"slack", "files", "GET", "/files-pri/T1-F1/a.txt", Read},
		{"notion", "api", "POST", "/data_sources/1/query", Read},
		{"notion", "api", "POST", "/pages", Write},
		{"notion", "api", "DELETE", "/blocks/1", Write},
		{"notion", "api", "POST", "/agents/1/chat", Irreversible},
		{"jira", "platform", "POST", "/search/jql", Read},
		{"jira", "platform", "POST", "/issue/ABC-1/transitions", Write},
		{"jira", "platform", "POST", "/issue/ABC-1/notify", Irreversible},
		{"jira", "platform", "DELETE", "/issue/ABC-1", Irreversible},
		{"jira", "servicedesk", "GET", "/request/ABC-1", Read},
		{"jira", "servicedesk", "POST", "/request/ABC-1/comment", Irreversible},
		{"stripe", "v1", "POST", "/invoices/create_preview", Read},
		{"stripe", "v1", "POST", "/customers", Write},
		{"stripe", "v1", "POST", "/customers/cus_1/sources", Irreversible},
		{"stripe", "v1", "POST", "/refunds", Irreversible},
		{"google_sheets", "sheets", "POST", "/spreadsheets/1/values:batchGetByDataFilter", Read},
		{"google_sheets", "sheets", "POST", "/spreadsheets/1/values/A1:append", Write},
		{"google_sheets", "sheets", "POST", "/spreadsheets/1/values/A1:clear", Irreversible},
		{"google_sheets", "sheets", "POST", "/spreadsheets/1:batchUpdate", Irreversible},
		{"airtable", "api", "POST", "/app1/tbl1/listRecords", Read},
		{"airtable", "api", "PATCH", "/app1/tbl1", Write},
		{"airtable", "api", "PUT", "/app1/tbl1", Irreversible},
		{"s3", "s3", "GET", "/bucket/a/b", Read},
		{"s3", "s3", "PUT", "/bucket/a/b", Write},
		{"s3", "s3", "PUT", "/bucket", Irreversible},
		{"s3", "s3", "PUT", "/bucket/", Irreversible},
		{"s3", "s3", "POST", "/bucket", Irreversible},
		{"s3", "s3", "DELETE", "/bucket/a", Irreversible},
		{"ozon_performance", "api", "GET", "/api/client/campaign/all_sku_promo/activate", Irreversible},
		{"ozon_performance", "api", "GET", "/api/client/campaign/1/objects", Read},
		{"ozon_performance", "api", "POST", "/api/client/statistics", Read},
		{"ozon_performance", "api", "POST", "/api/client/campaign/1/activate", Irreversible},
		{"ozon_performance", "api", "POST", "/api/client/campaign/1/deactivate", Write},
		{"retailcrm", "api", "POST", "/orders/1/edit", Write},
		{"retailcrm", "api", "POST", "/orders/payments/1/delete", Irreversible},
		{"tbank_acquiring", "payments", "CheckOrder", "", Read},
		{"tbank_acquiring", "payments", "Cancel", "", Irreversible},
		{"unisender", "api", "getLists", "", Read},
		{"unisender", "api", "createEmailMessage", "", Write},
		{"unisender", "api", "createCampaign", "", Irreversible},
		{"hubspot", "crm", "POST", "/v3/objects/contacts/search", Read},
		{"hubspot", "crm", "PATCH", "/v3/objects/deals/1", Write},
		{"hubspot", "crm", "POST", "/v3/objects/deals/batch/archive", Irreversible},
		{"hubspot", "marketing", "POST", "/marketing/v3/transactional/single-email/send", Irreversible},
		{"zendesk", "support", "GET", "/search.json", Read},
		{"zendesk", "support", "PUT", "/tickets/1.json", Irreversible},
		{"zendesk", "support", "PUT", "/users/1.json", Write},
		{"asana", "api", "POST", "/tasks", Write},
		{"asana", "api", "POST", "/webhooks", Irreversible},
		{"asana", "files", "POST", "/attachments", Write},
		{"getcourse", "export", "GET", "/deals", Read},
		{"getcourse", "import", "POST", "/users", Irreversible},
		{"megamarket", "orders", "POST", "/order/search", Read},
		{"megamarket", "orders", "POST", "/order/packing", Irreversible},
		{"megamarket", "offers", "POST", "/stock/update", Write},
		{"clickup", "api", "POST", "/list/1/task", Write},
		{"clickup", "api", "DELETE", "/task/1", Irreversible},
		{"clickup", "api", "POST", "/team/1/webhook", Irreversible},
		{"trello", "api", "PUT", "/cards/1", Write},
		{"trello", "api", "DELETE", "/cards/1", Irreversible},
		{"trello", "api", "DELETE", "/cards/1/idLabels/2", Write},
		{"vk", "api", "wall.get", "", Read},
		{"vk", "api", "messages.send", "", Irreversible},
		{"vk", "api", "wall.edit", "", Write},
		{"vk", "api", "utils.deleteFromLastShortened", "", Irreversible},
		{"vk", "api", "groups.editManager", "", Irreversible},
		{"sendgrid", "global", "POST", "/mail/send", Irreversible},
		{"sendgrid", "global", "POST", "/marketing/contacts/search/emails", Read},
		{"twilio", "core", "GET", "/Messages.json", Read},
		{"twilio", "core", "POST", "/Messages.json", Irreversible},
		{"twilio", "lookups", "GET", "/PhoneNumbers/1", Write},
		{"microsoft_graph", "graph", "POST", "/me/sendMail", Irreversible},
		{"microsoft_graph", "graph", "POST", "/me/messages", Write},
		{"microsoft_graph", "graph", "POST", "/me/messages/1/send", Irreversible},
		{"microsoft_graph", "graph", "POST", "/me/events", Irreversible},
		{"microsoft_graph", "graph", "POST", "/search/query", Read},
	} {
		service, ok := catalog.Service(row.service)
		if !ok {
			t.Fatalf("%s is missing", row.service)
		}
		call := Call{Module: row.module, Method: row.method, Path: row.path}
		if err := service.Admits(call); err != nil {
			t.Errorf("%s %s %s %s: %v", row.service, row.module, row.method, row.path, err)
		}
		if got := service.Classify(call); got != row.want {
			t.Errorf("%s %s %s is %s, wanted %s", row.service, row.method, row.path, got, row.want)
		}
	}
}

// A GraphQL document has the class of the farthest-reaching field at its root.
func TestClassesOfLinear(t *testing.T) {
	t.Parallel()
	linear, ok := load(t).Service("linear")
	if !ok {
		t.Fatal("linear is missing")
	}
	for document, want := range map[string]Class{
		`query { issues { nodes { id } } }`:                                           Read,
		`{ viewer { id } }`:                                                           Read,
		`mutation { issueCreate(input: {title: "a"}) { success } }`:                   Write,
		`mutation { issueDelete(id: "1") { success } }`:                               Irreversible,
		`mutation { a: issueCreate { success } b: teamDelete { success } }`:           Irreversible,
		`mutation { organizationUpdate(input: {name: "a"}) { success } }`:             Irreversible,
		`query a { viewer { id } } mutation b { issueUpdate { success } }`:            Write,
		`subscription { issueCreated { id } }`:                                        Irreversible,
		`mutation { issueUpdate(id: "issueDelete") { success } # issueDelete` + "\n}": Write,
	} {
		call := Call{Module: "api", Method: "POST", Path: "/graphql", Body: map[string]any{"query": document}}
		if got := linear.Classify(call); got != want {
			t.Errorf("%s is %s, wanted %s", document, got, want)
		}
	}
}

// Calls that a service's lists keep out.
func TestCallsThatAreNotAdmitted(t *testing.T) {
	t.Parallel()
	catalog := load(t)
	for _, row := range []struct{ service, module, method, path string }{
		{"wildberries", "common", "GET", "/content/v2/object/all"},
		{"wildberries", "common", "GET", "/api/../content"},
		{"wildberries", "nothing", "GET", "/ping"},
		{"ozon", "seller", "DELETE", "/v1/product/archive"},
		{"bitrix24", "webhook", "event.bind", ""},
		{"bitrix24", "webhook", "crm.deal.list/../../x", ""},
		{"telegram_bot", "bot", "../getMe", ""},
		{"telegram_bot", "bot", "GET", "/sendMessage"},
		{"telegram_bot", "bot", "GET", "/getMe"},
		{"telegram_bot", "bot", "POST", "/sendMessage"},
		{"telegram_bot", "files", "sendMessage", ""},
		{"bitrix24", "webhook", "POST", "/crm.deal.delete.json"},
		{"bitrix24", "webhook", "POST", "/batch.json"},
		{"bitrix24", "oauth", "POST", "/event.bind.json"},
		{"slack", "web", "POST", "/api.test"},
		{"slack", "files", "chat.postMessage", ""},
		{"smsc", "main", "GET", "/send.php"},
		{"cloudpayments", "main", "payments/./get", ""},
		{"uis", "main", "POST", "/v2.0"},
		{"yandex_direct", "direct", "POST", "/campaigns"},
		{"yandex_metrika", "reports", "POST", "/data"},
		{"dadata", "profile", "GET", "/"},
		{"onec", "odata", "GET", "//evil.example/x"},
		{"hh", "api", "POST", "/token"},
		{"yookassa", "api", "PATCH", "/payments/1"},
		{"github", "api", "POST", "/credentials/revoke"},
		{"github", "uploads", "GET", "/repos/a/b/releases/1/assets"},
		{"gitlab", "api", "GET", "/projects/a%2Fb"},
		{"slack", "web", "oauth.access", ""},
		{"slack", "web", "GET", "/chat.postMessage"},
		{"notion", "api", "POST", "/oauth/token"},
		{"linear", "api", "GET", "/graphql"},
		{"google_sheets", "token", "POST", "/tokeninfo"},
		{"airtable", "api", "GET", "/scim/v2/Users"},
		{"s3", "s3", "GET", "/bucket/../other"},
		{"ozon_performance", "api", "POST", "/api/client/token"},
		{"tbank_acquiring", "payments", "AddTerminal", ""},
		{"unisender", "api", "transferMoney", ""},
		{"hubspot", "crm", "POST", "/oauth/v1/token"},
		{"asana", "api", "POST", "/batch"},
		{"trello", "api", "GET", "/batch"},
		{"vk", "api", "execute", ""},
		{"twilio", "core", "GET", "/Messages"},
		{"microsoft_graph", "graph", "POST", "/$batch"},
	} {
		service, _ := catalog.Service(row.service)
		if service.Admits(Call{Module: row.module, Method: row.method, Path: row.path}) == nil {
			t.Errorf("%s admits %s %s of %s", row.service, row.method, row.path, row.module)
		}
	}
}

// How pages follow and which pace counts is found by the call.
func TestPagesAndPaces(t *testing.T) {
	t.Parallel()
	catalog := load(t)
	wildberries, _ := catalog.Service("wildberries")
	rule, ok := wildberries.Paging(Call{Module: "statistics", Method: "GET", Path: "/api/v1/supplier/orders"})
	if !ok || rule.Kind != DateFrom || rule.Response != "$[-1].lastChangeDate" {
		t.Errorf("paging of statistics is %+v", rule)
	}
	if _, ok := wildberries.Paging(Call{Module: "common", Method: "GET", Path: "/ping"}); ok {
		t.Error("a ping has pages")
	}
	moysklad, _ := catalog.Service("moysklad")
	if rates := moysklad.Paces(Call{Module: "remap", Method: "GET", Path: "/report/stock/all"}); len(rates) != 2 || rates[1].Requests != 9 {
		t.Errorf("paces of a stock report are %+v", rates)
	}
	telegram, _ := catalog.Service("telegram_bot")
	if rates := telegram.Paces(Call{Module: "bot", Method: "sendMessage"}); len(rates) != 2 || rates[1].Requests != 1 {
		t.Errorf("paces of a message are %+v", rates)
	}
	dadata, _ := catalog.Service("dadata")
	if _, ok := dadata.Paging(Call{Module: "suggestions", Method: "POST", Path: "/suggest/party"}); ok {
		t.Error("suggestions have pages")
	}
}

// Stores, chat and mail that everybody shares are never opened to the sandbox
// itself: code could carry data there with a stranger's credential.
func TestSharedHostsAreForTheBroker(t *testing.T) {
	t.Parallel()
	catalog := load(t)
	for _, id := range catalog.IDs() {
		service, _ := catalog.Service(id)
		switch service.Category {
		case "messenger", "email", "storage", "sms":
			if !service.BrokerOnly && id != "activecampaign" { // a host of its own for each account
				t.Errorf("%s of category %s is not broker_only", id, service.Category)
			}
		}
	}
}
