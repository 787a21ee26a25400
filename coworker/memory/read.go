package memory

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"

	"innerloop/coworker"
)

// Contents are a file with its content, as an assistant reads it.
type Contents struct {
	Record
	Encoding string `json:"encoding"` // utf-8 or base64
	Content  string `json:"content"`
}

// contents writes a file for an answer.
func contents(f File, content []byte) Contents {
	c := Contents{Record: f.Record(), Encoding: "utf-8"}
	if isText(content) {
		c.Content = string(content)
	} else {
		c.Encoding, c.Content = "base64", base64.StdEncoding.EncodeToString(content)
	}
	return c
}

// written counts the bytes of a content in an answer, which JSON makes up to six
// times as many as in the file. Doors write it without the escapes for HTML.
func written(content string) int {
	var n counter
	e := json.NewEncoder(&n)
	e.SetEscapeHTML(false)
	if err := e.Encode(content); err != nil {
		panic(err) // a string always encodes
	}
	return int(n) - len("\"\"\n")
}

// A counter is written to and keeps how much it was.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// ReadOne reads a file for an answer; one that would fill it is refused.
func (m *Memory) ReadOne(ctx context.Context, who coworker.Caller, path string) (Contents, error) {
	f, content, err := m.Read(ctx, who, path)
	if err != nil {
		return Contents{}, err
	}
	c := contents(f, content)
	if n := written(c.Content); n > ReadMax {
		return Contents{}, &coworker.Fault{
			Code: coworker.ResponseTooLarge, Message: "The file is larger than an answer can hold.",
			Hint:    "GET /api/v1/memory/{path} gives the whole file",
			Details: tooLarge{int64(n), ReadMax},
		}
	}
	return c, nil
}

// An Item is one of several files, or why it was not read.
type Item struct {
	*Contents
	Path  string             `json:"path"`
	Error *coworker.Contract `json:"error,omitempty"`
}

// nearMany is for how many missing files of one ReadMany paths are looked for
// that may have been meant: each look goes over all names of the user.
const nearMany = 5

// ReadMany reads at most ManyMax files in the order they are named. What one of
// them lacks does not touch the others; what no longer fits into ManyData is
// told of the file that does not fit.
func (m *Memory) ReadMany(ctx context.Context, who coworker.Caller, paths []string) ([]Item, error) {
	if err := who.MayHold(coworker.ReadData); err != nil {
		return nil, err
	}
	if len(paths) == 0 || len(paths) > ManyMax {
		return nil, coworker.InvalidArguments(coworker.Problem{Field: "paths", Problem: "must be a list of 1 to 50 paths"})
	}
	items, left, looks := make([]Item, 0, len(paths)), ManyData, nearMany
	for _, path := range paths {
		c, err := m.within(ctx, who, path, left)
		if errors.Is(err, coworker.ErrNotFound) {
			err = m.missing(ctx, who, path, err, looks > 0)
			looks--
		}
		if f, ok := coworker.AsFault(err); ok {
			item := Item{Error: new(f.Contract())}
			if len(path) <= PathMax { // what is longer only fills the answer
				item.Path = path
			}
			items = append(items, item)
			continue
		}
		if err != nil {
			return nil, err
		}
		left -= written(c.Content)
		items = append(items, Item{Path: path, Contents: &c})
	}
	return items, nil
}

// within reads a file that must fit into what is left. coworker.ErrNotFound:
// there is none.
func (m *Memory) within(ctx context.Context, who coworker.Caller, path string, left int) (Contents, error) {
	if p := CheckPath(path); p != nil {
		return Contents{}, coworker.InvalidArguments(*p)
	}
	// The size is looked at before the content is moved.
	f, err := m.store.FileMeta(ctx, owner(who), path)
	if err != nil {
		return Contents{}, err
	}
	size := f.Size
	if size <= int64(left) {
		f, content, err := m.store.FileContent(ctx, owner(who), path)
		if err != nil {
			return Contents{}, err
		}
		c := contents(f, content)
		n := written(c.Content)
		if n <= left {
			return c, nil
		}
		size = int64(n)
	}
	return Contents{}, &coworker.Fault{
		Code: coworker.ResponseTooLarge, Message: "This file no longer fits into the answer.",
		Hint: "read it by itself, or fewer at once", Details: tooLarge{size, ManyData},
	}
}

// missing makes a fault of a path that is not there, and tells what lies near it
// where that is looked for.
func (m *Memory) missing(ctx context.Context, who coworker.Caller, path string, err error, look bool) error {
	if !errors.Is(err, coworker.ErrNotFound) {
		return err
	}
	var near []string
	if look && who.MayHold(coworker.ReadData) == nil {
		if near, err = m.nearest(ctx, who, path); err != nil {
			return err
		}
	}
	f := coworker.Missing("file")
	f.Hint = "mode list tells what there is"
	f.Details = struct {
		Path    string   `json:"path"`
		Nearest []string `json:"nearest,omitzero"` // absent: not looked for
	}{path, near}
	return f
}
