package simulator

// All makes every service that can be simulated.
func All() []Service {
	return []Service{
		Wildberries(), Ozon(), YandexMarket(), Avito(),
		Bitrix24(), OneC(), MoySklad(), AmoCRM(),
		YandexDirect(), YandexMetrika(), DaData(),
		TelegramBot(), Slack(), GitHub(), Notion(), Stripe(), S3(),
		Trello(), UniSender(), TBankAcquiring(),
		Megamarket(), OzonPerformance(), HH(), VK(),
		Linear(), Asana(), ClickUp(), Zendesk(),
	}
}
