package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"path"
	"regexp"
	"strings"
)

//go:embed assets css
var assets embed.FS

// sheet is the name under which the parts in css, joined in the order of their
// names, are served as one.
const sheet = "innerloop.css"

// Prefix begins the path of every file.
const Prefix = "/static/"

// CacheControl is the header value for everything under Prefix: the name
// changes when the content does.
const CacheControl = "public, max-age=31536000, immutable"

type file struct {
	body        []byte
	contentType string
}

var urls, files = load()

// What a sheet holds for its authors alone: comments, and white space beside
// signs that divide by themselves. No text in quotes holds such a sign.
var (
	said   = regexp.MustCompile(`(?s)/\*.*?\*/`)
	spaced = regexp.MustCompile(`\s*([{};])\s*|([,:])\s+`)
)

// load names each embedded file after its content. It runs once, before any
// goroutine, and its maps are only read afterwards.
func load() (map[string]string, map[string]file) {
	urls, files := map[string]string{}, map[string]file{}
	names, err := fs.Glob(assets, "assets/*")
	if err != nil {
		panic(err) // the pattern is constant and valid
	}
	add := func(base string, body []byte) {
		ext := path.Ext(base)
		sum := sha256.Sum256(body)
		url := Prefix + strings.TrimSuffix(base, ext) + "." + hex.EncodeToString(sum[:6]) + ext
		urls[base] = url
		files[url] = file{body: body, contentType: contentType(ext)}
	}
	for _, name := range names {
		add(path.Base(name), read(assets, name))
	}
	parts, err := fs.Glob(assets, "css/*.css")
	if err != nil {
		panic(err) // as above
	}
	for _, name := range fontFiles() {
		add(path.Base(name), read(fonts, name))
	}
	css := []byte(fontRules(func(file string) (string, bool) {
		url, ok := urls[file]
		return url, ok
	}))
	for _, name := range parts {
		css = append(css, said.ReplaceAll(read(assets, name), nil)...)
	}
	add(sheet, bytes.TrimSpace(spaced.ReplaceAll(css, []byte("$1$2"))))
	return urls, files
}

func read(from embed.FS, name string) []byte {
	body, err := from.ReadFile(name)
	if err != nil {
		panic(err) // embedded files cannot be missing
	}
	return body
}

func contentType(ext string) string {
	switch ext {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	if t := mime.TypeByExtension(ext); t != "" {
		return t
	}
	return "application/octet-stream"
}

// URL is the path under which the named asset is served, for example
// "/static/innerloop.0123456789ab.css". An unknown name gives a path that
// File does not know.
func URL(name string) string {
	if url, ok := urls[name]; ok {
		return url
	}
	return Prefix + name
}

// File finds an asset by its full hashed path. The body is shared: callers
// must not change it.
func File(path string) (body []byte, contentType string, ok bool) {
	f, ok := files[path]
	return f.body, f.contentType, ok
}
