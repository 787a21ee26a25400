package e2e

import (
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"innerloop/e2e/program"
)

// needles are texts that may be nowhere, in every spelling they could take.
type needles struct {
	of []struct{ name, text string }
}

func (n *needles) add(name, secret string) {
	for _, text := range spellings(secret) {
		n.of = append(n.of, struct{ name, text string }{name, text})
	}
}

func (n *needles) find(t *testing.T, where, text string) {
	t.Helper()
	for _, one := range n.of {
		if at := strings.Index(text, one.text); at >= 0 {
			t.Errorf("the secret of %s (as %s) is in %s: …%q…", one.name, one.text, where, text[max(0, at-80):min(len(text), at+len(one.text)+20)])
		}
	}
}

// spellings of a secret: as it is, in addresses, in JSON, in hex, and in
// base64 wherever it begins.
func spellings(secret string) []string {
	inJSON, _ := json.Marshal(secret) // a text always encodes
	quoted := strings.Trim(string(inJSON), `"`)
	all := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), lowEscapes(url.QueryEscape(secret)), lowEscapes(url.PathEscape(secret)), quoted, strings.ReplaceAll(secret, `"`, `\"`), html.EscapeString(secret), strings.ReplaceAll(html.EscapeString(secret), "&#34;", "&quot;"),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			// Only what the secret alone decides.
			text := encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
			all = append(all, text[4*min(before, 1):len(text)-2])
		}
	}
	return all
}

// lowEscapes writes the escapes of an address with small letters.
func lowEscapes(text string) string {
	return regexp.MustCompile(`%[0-9A-F]{2}`).ReplaceAllStringFunc(text, strings.ToLower)
}

// everyTable is every column of every table as text; bytes are what they hold.
func everyTable(t *testing.T, o program.Options) string {
	t.Helper()
	driver, source, list := "pgx", o.DatabaseURL, `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type = 'BASE TABLE'`
	if source == "" {
		driver, source = "sqlite", "file:"+filepath.Join(o.DataDir, "innerloop.db")+"?_pragma=busy_timeout(10000)"
		list = `SELECT '"' || name || '"' FROM sqlite_schema WHERE type = 'table'`
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var out strings.Builder
	tables := column(t, db, list)
	if len(tables) < 20 {
		t.Errorf("only %d tables", len(tables))
	}
	for _, table := range tables {
		rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		cells, into := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for i, cell := range cells {
				if raw, ok := cell.([]byte); ok {
					cell = string(raw)
				}
				fmt.Fprintf(&out, "%s.%s=%v\n", table, names[i], cell)
			}
		}
		if err := rows.Close(); err != nil || rows.Err() != nil {
			t.Fatal(err, rows.Err())
		}
	}
	if driver == "pgx" { // and once more as PostgreSQL itself writes each row
		for _, table := range tables {
			for _, row := range column(t, db, "SELECT r::text FROM "+table+" r") {
				out.WriteString(row + "\n")
			}
		}
	}
	return out.String()
}

func column(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// everyFile is every byte of the data folder, the database's own files and its
// log of writes among them, but for the file of the master key.
func everyFile(t *testing.T, o program.Options) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(o.DataDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "master.key" {
			return err
		}
		raw, err := os.ReadFile(path)
		out.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
