"""The feeds as feedparser sees them: it must show what was published, without complaint."""

import calendar
import html
import json
import re
import sys
import time

import feedparser

given = json.load(sys.stdin)


def plain(markup):
    """The text of a content; feedparser rewrites the markup around it."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).strip()


for form in ("atom", "rss"):
    read = feedparser.parse(given["feeds"][form])
    assert not read.bozo, (form, read.get("bozo_exception"))
    links = {link["rel"]: link["href"] for link in read.feed.links}
    want = given["want"]
    assert (read.feed.title, links["self"], read.feed.link) == (want["title"], want["self"] + form, want["home"]), (form, read.feed)
    assert len(read.entries) == len(want["items"]), (form, len(read.entries))
    for entry, item, guessed in zip(read.entries, want["items"], given["guessed"]):
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(calendar.timegm(entry.published_parsed)))
        got = (entry.id, entry.link, entry.author, at, [tag.term for tag in entry.get("tags", [])])
        assert got == (item["id"], item["url"], item["author"], item["time"], item["tags"]), (form, got, item)
        if not guessed:  # a title that looks like HTML is read as HTML here
            assert entry.title == item["title"], (form, entry.title, item["title"])
        assert plain(entry.content[0].value) == plain(item["html"]), (form, entry.content[0].value, item["html"])
    print("ok   ", "feedparser reads", form)
