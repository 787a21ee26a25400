// Every page reads and works without this file. It adds the theme button,
// "copy link" and the reader's own clock.
(() => {
  "use strict";
  const root = document.documentElement;
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
    else time.textContent = new Intl.DateTimeFormat(root.lang, { day: "numeric", month: "short" }).format(new Date(time.dateTime));
  };

  const local = (time) => {
    const long = time.dataset.local === "long";
    const utc = time.textContent;
    time.textContent = new Intl.DateTimeFormat(root.lang === "en" ? "en-GB" : root.lang, {
      day: "numeric", month: long ? "long" : "short", year: "numeric",
      hour: "2-digit", minute: "2-digit", second: long ? undefined : "2-digit", timeZoneName: "short",
    }).format(new Date(time.dateTime));
    time.title = utc;
  };

  const ready = () => {
    document.querySelectorAll("button.theme").forEach(themeButton);
    if (navigator.clipboard) document.querySelectorAll("button[data-copy]").forEach(copyButton);
    const words = document.querySelector("[data-hours]");
    if (words) document.querySelectorAll("time[data-ago]").forEach((time) => relative(time, words.dataset));
    document.querySelectorAll("time[data-local]").forEach(local);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready);
  else ready();
})();
