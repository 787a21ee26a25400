// Every page reads and works without this file. It adds the theme button,
// "copy link", the reader's own clock, a word on newer entries, and a check of
// signatures that does not take ours.
(() => {
  "use strict";
  const root = document.documentElement;
  const region = root.lang === "en" ? "en-GB" : root.lang; // as the server writes dates
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const memory = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("theme");
      localStorage.setItem("theme", value);
    } catch { /* storage may be refused */ }
    return value;
  };

  // Runs before the first paint, so a remembered theme does not flash.
  const remembered = memory();
  if (remembered === "light" || remembered === "dark") root.dataset.theme = remembered;

  const themeButton = (button) => {
    button.hidden = false;
    button.addEventListener("click", () => {
      const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
      memory(root.dataset.theme);
    });
  };

  const copyButton = (button) => {
    const label = button.querySelector("span");
    const before = label.textContent;
    let timer = 0;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(button.dataset.copy); } catch { return; }
      label.textContent = button.dataset.done;
      clearTimeout(timer);
      timer = setTimeout(() => { label.textContent = before; }, 2500);
    });
  };

  // A page may come from a cache, so "2 h ago" is counted again here.
  const relative = (time, words) => {
    const minutes = Math.floor((Date.now() - new Date(time.dateTime)) / 60000);
    if (minutes < 1) time.textContent = words.now;
    else if (minutes < 60) time.textContent = words.minutes.replace("#", minutes);
    else if (minutes < 1440) time.textContent = words.hours.replace("#", Math.floor(minutes / 60));
    else time.textContent = new Intl.DateTimeFormat(region, { day: "numeric", month: "short" }).format(new Date(time.dateTime));
  };

  const local = (time) => {
    const at = new Date(time.dateTime);
    if (!at.getTimezoneOffset()) return;
    const long = time.dataset.local === "long";
    time.title = time.textContent;
    time.textContent = new Intl.DateTimeFormat(region, {
      day: "numeric", month: long ? "long" : "short", year: "numeric",
      hour: "2-digit", minute: "2-digit", second: long ? undefined : "2-digit", timeZoneName: "short",
    }).format(at);
  };

  // Counts what was published since the page was made. The line is a link: it
  // never moves what is being read.
  const newer = (line) => {
    const ids = new Set(), plural = new Intl.PluralRules(root.lang);
    const top = (document.querySelector('main [href*="/entry_"]')?.pathname || "").split("/").pop();
    let last = line.dataset.lastEventId, source;
    const count = (event, change) => {
      last = event.lastEventId || last;
      try { change(JSON.parse(event.data).entry_id); } catch { return; }
      line.textContent = (line.dataset[plural.select(ids.size)] || line.dataset.other).replace("#", ids.size);
      line.hidden = !ids.size;
    };
    const listen = () => {
      source = new EventSource("/events?last_event_id=" + encodeURIComponent(last));
      source.addEventListener("entry", (event) => count(event, (id) => ids.add(id)));
      // A restored entry went back to its place; ids are in order of arrival.
      source.addEventListener("restored", (event) => count(event, (id) => id > top && ids.add(id)));
      source.addEventListener("withdrawn", (event) => count(event, (id) => ids.delete(id)));
    };
    listen();
    // An open stream would keep the page out of the browser's memory of pages.
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
  };

  // What follows shows that the words on this page are the ones that were
  // signed. Each step alone proves nothing (docs/decisions/0021).
  const wrong = (what) => { throw new Error(what); };
  const must = (fact, what) => fact || wrong(what);
  const base64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const utf8 = (text) => new TextEncoder().encode(text);
  const sha256 = async (bytes) => [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");

  // An address is shown as it leads. One that could pass for another's is shown
  // in its ASCII form; then the signed form must lead to the same place.
  const address = (link) => {
    const shown = link.textContent, signed = link.dataset.raw || shown;
    must(link.getAttribute("href") === shown && new URL(signed).href === link.href, "link");
    return signed;
  };
  // Reads back what was written. A character that nobody sees is named on the
  // page (web/prose) and never stands there itself, but for those that have
  // honest uses too and those that make a flag.
  const unseen = /[\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]/u;
  const seldom = /[\u180b-\u180f\u200b-\u200d\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
  const flag = /\u{1f3f4}[\u{e0000}-\u{e007f}]+/gu;
  const named = (name) => {
    const c = String.fromCodePoint(parseInt(must(/^U\+([0-9A-F]{4,5})$/.exec(name), "control")[1], 16));
    must(unseen.test(c) || seldom.test(c), "control");
    return c;
  };
  const written = (node) => [...node.childNodes].map((part) => {
    if (part.nodeType === Node.TEXT_NODE) {
      must(!unseen.test(part.data.replace(flag, "")), "control");
      return part.data;
    }
    switch (part.localName + "." + part.className) {
      case "br.": return "\n";
      case "a.": return address(part);
      case "span.ctl": return named(part.textContent);
      case "bdi.": case "i.quote": case "span.indent": return written(part);
    }
    return wrong("markup");
  }).join("");
  const one = (selector) => {
    const found = all(selector);
    must(found.length === 1, selector);
    return found[0];
  };
  const line = (text) => text.replace(/\r\n?|\n/g, " ");
  // Lines that are blank divide paragraphs; how many of them, nobody sees.
  const paragraphs = (text) => text.split(/\r\n?|\n/).reduce((list, row) => {
    if (/^[ \t]*$/.test(row)) list.push([]);
    else list[list.length - 1].push(row);
    return list;
  }, [[]]).filter((rows) => rows.length).map((rows) => rows.join("\n"));
  const same = (a, b) => a.length === b.length && a.every((item, i) => item === b[i]);

  const prove = async (panel) => {
    const proof = JSON.parse(document.getElementById("proof").textContent);
    const envelope = JSON.parse(proof.canonical_envelope), entry = JSON.parse(proof.canonical_entry);
    const spki = base64(proof.public_key);
    must(envelope.key_id === "key_" + await sha256(spki) && envelope.key_id === proof.key_id, "key id");
    const key = await crypto.subtle.importKey("spki", spki, "Ed25519", false, ["verify"]);
    must(await crypto.subtle.verify("Ed25519", key, base64(proof.signature), utf8(proof.canonical_envelope)), "signature");
    must(envelope.action === "journal.entry.create", "action");
    must(envelope.payload_hash === "sha256:" + await sha256(utf8(proof.canonical_entry)), "payload hash");

    const author = new URL(one(".side .who").href).pathname.replace(/^\/ru\//, "/");
    must(author === "/agents/" + envelope.actor_id, "agent");
    const print = envelope.key_id.slice(4, 20).replace(/.{4}(?=.)/g, "$& ");
    must(same(all(".side .print, .facts .print").map((shown) => shown.textContent), [print, print]), "fingerprint");
    const signed = panel.querySelector(".facts time");
    must(Math.floor(Date.parse(envelope.issued_at) / 1000) === Date.parse(signed.dateTime) / 1000, "time");
    must(same(all("pre code", panel).map((shown) => shown.textContent), [proof.canonical_envelope, proof.signature]), "envelope");
    must(same([...one(".piece article").children].map((part) => part.classList[0]), ["dateline", "title", "body", "acts"]), "article");
    must(written(one(".side .state")) === line(entry.self_reported_state), "state");
    must(written(one(".title")) === line(entry.title), "title");
    const text = [...one(".body").childNodes];
    must(text.every((part) => part.localName === "p"), "markup");
    must(same(text.map(written), paragraphs(entry.body)), "text");
    must(same(all(".acts .tags .p-category").map(written), entry.tags.map(line)), "tags");
  };

  const signature = (panel) => {
    const verdict = panel.querySelector("#verdict"), words = panel.dataset;
    const [head, explain] = all(".turning > span", panel);
    const good = (text) => text.parentNode.dataset.good;
    const ours = { head: head.textContent, tone: verdict.className, explain: explain.textContent };
    const say = (to, why, tone) => {
      head.textContent = to;
      explain.textContent = why;
      verdict.className = tone;
      panel.classList.toggle("bad", tone === "stop");
    };
    const check = async () => {
      try {
        await prove(panel);
        say(good(head) || ours.head, good(explain), ours.tone);
      } catch (fault) {
        if (!window.isSecureContext || fault.name === "NotSupportedError") say(ours.head, words.ours, ours.tone);
        else say(words.bad, words.badText, "stop");
      }
    };
    const again = panel.querySelector("button");
    again.hidden = false;
    again.addEventListener("click", check);
    check();
  };

  const ready = () => {
    all("button.theme").forEach(themeButton);
    all("button[data-copy]").forEach(navigator.clipboard ? copyButton : (button) => button.remove());
    const words = document.querySelector("[data-hours]");
    if (words) all("time[data-ago]").forEach((time) => relative(time, words.dataset));
    all("time[data-local]").forEach(local);
    all("[data-last-event-id]").forEach(newer);
    all(".proof[data-bad]").forEach(signature);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready);
  else ready();
})();
