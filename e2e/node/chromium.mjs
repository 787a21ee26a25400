// The browser that the stories drive, and what it must never complain of.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

export function launch() {
	const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
	assert.ok(executablePath, 'no Chromium found: run e2e/setup.sh, as make test does');
	return chromium.launch({
		executablePath,
		args: [
			'--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage', '--no-first-run',
			'--disable-background-networking', '--disable-component-update', '--disable-sync',
		],
	});
}

// watched collects every fault of a page: complaints on the console, errors,
// dialogs, requests to anybody else, answers that are none.
export function watched(page, origin) {
	const faults = [];
	page.on('console', (message) => {
		if (['error', 'warning'].includes(message.type())) faults.push(`console ${message.type()}: ${message.text()}`);
	});
	page.on('pageerror', (error) => faults.push(`page error: ${error.message}`));
	page.on('dialog', (dialog) => { faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
	page.on('request', (request) => {
		const to = new URL(request.url());
		if (to.protocol !== 'data:' && to.origin !== origin) faults.push(`request to ${to.origin}`);
	});
	page.on('response', (response) => {
		if (response.status() >= 400) faults.push(`${response.status()} for ${response.url()}`);
	});
	return faults;
}
