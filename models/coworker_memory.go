package models

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"innerloop/coworker"
	"innerloop/coworker/memory"
)

var _ memory.Store = Coworker{}

// lockUser makes changes of what belongs to a user one after the other.
func lockUser(ctx context.Context, tx *transaction, o memory.Owner) error {
	var one int
	found, err := first(tx, ctx, `SELECT 1 FROM users WHERE organization_id = ? AND user_id = ?`+tx.conn.engine.own, []any{string(o.Organization), string(o.User)}, &one)
	if err == nil && !found {
		return coworker.ErrNotFound
	}
	return err
}

// PutFile writes a file.
func (c Coworker) PutFile(ctx context.Context, o memory.Owner, f memory.File, content []byte, condition memory.Condition, q memory.Quota, a coworker.Audit) (created bool, err error) {
	err = c.change(ctx, "put file", a, func(tx *transaction) error {
		if err := lockUser(ctx, tx, o); err != nil {
			return err
		}
		old, there, err := fileNow(ctx, tx, o, f.Path)
		if err != nil {
			return err
		}
		created = !there
		switch {
		case !condition.Holds(there, old.Tag()):
			return memory.ErrChanged
		case there:
			if err := use(ctx, tx, o, 0, f.Size-old.Size, q); err != nil {
				return err
			}
			_, err = tx.exec(ctx, `UPDATE memory_files SET size = ?, sha256 = ?, updated_at = ? WHERE organization_id = ? AND user_id = ? AND path = ?`,
				f.Size, f.Sum[:], f.UpdatedAt.UnixMilli(), string(o.Organization), string(o.User), f.Path)
			if err != nil || old.Sum == f.Sum {
				return err
			}
			_, err = tx.exec(ctx, `UPDATE memory_contents SET content = ? WHERE organization_id = ? AND user_id = ? AND path = ?`,
				content, string(o.Organization), string(o.User), f.Path)
			return err
		}
		if err := growsTree(ctx, tx, o, f.Path); err != nil {
			return err
		}
		if err := use(ctx, tx, o, 1, f.Size, q); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `INSERT INTO memory_files (organization_id, user_id, path, folded, size, sha256, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			string(o.Organization), string(o.User), f.Path, memory.Folded(f.Path), f.Size, f.Sum[:], f.UpdatedAt.UnixMilli())
		if err != nil {
			return err
		}
		if content == nil {
			content = []byte{} // nil is NULL
		}
		_, err = tx.exec(ctx, `INSERT INTO memory_contents (organization_id, user_id, path, content) VALUES (?, ?, ?, ?)`,
			string(o.Organization), string(o.User), f.Path, content)
		return err
	})
	return created, err
}

// growsTree refuses a path that leads through a file or names a folder.
func growsTree(ctx context.Context, tx *transaction, o memory.Owner, path string) error {
	for at, r := range path {
		if r != '/' {
			continue
		}
		_, there, err := fileNow(ctx, tx, o, path[:at])
		if err != nil {
			return err
		}
		if there {
			return memory.ErrTree
		}
	}
	below := path + "/"
	var inside bool
	_, err := first(tx, ctx, `SELECT EXISTS (SELECT 1 FROM memory_files WHERE organization_id = ? AND user_id = ? AND path >= ? AND path < ?)`,
		[]any{string(o.Organization), string(o.User), below, memory.After(below)}, &inside)
	if err == nil && inside {
		err = memory.ErrTree
	}
	return err
}

// use counts what a change adds; what takes nothing more is never refused.
func use(ctx context.Context, tx *transaction, o memory.Owner, files, bytes int64, q memory.Quota) error {
	_, err := tx.exec(ctx, `INSERT INTO memory_usage (organization_id, user_id, files, bytes) VALUES (?, ?, 0, 0) ON CONFLICT (organization_id, user_id) DO NOTHING`,
		string(o.Organization), string(o.User))
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `UPDATE memory_usage SET files = files + ?, bytes = bytes + ? WHERE organization_id = ? AND user_id = ?`,
		files, bytes, string(o.Organization), string(o.User))
	if err != nil {
		return err
	}
	var nowFiles, nowBytes int64
	_, err = first(tx, ctx, `SELECT files, bytes FROM memory_usage WHERE organization_id = ? AND user_id = ?`, []any{string(o.Organization), string(o.User)}, &nowFiles, &nowBytes)
	if err == nil && (files > 0 && nowFiles > q.Files || bytes > 0 && nowBytes > q.Bytes) {
		err = memory.ErrFull
	}
	return err
}

// DeleteFile removes a file.
func (c Coworker) DeleteFile(ctx context.Context, o memory.Owner, path string, condition memory.Condition, a coworker.Audit) error {
	return c.change(ctx, "delete file", a, func(tx *transaction) error {
		if err := lockUser(ctx, tx, o); err != nil {
			return err
		}
		old, there, err := fileNow(ctx, tx, o, path)
		switch {
		case err != nil:
			return err
		case !there:
			return coworker.ErrNotFound
		case !condition.Holds(there, old.Tag()):
			return memory.ErrChanged
		}
		_, err = tx.exec(ctx, `DELETE FROM memory_files WHERE organization_id = ? AND user_id = ? AND path = ?`, string(o.Organization), string(o.User), path)
		if err != nil {
			return err
		}
		return use(ctx, tx, o, -1, -old.Size, memory.Quota{})
	})
}

const selectFile = `SELECT path, size, sha256, updated_at FROM memory_files WHERE organization_id = ? AND user_id = ?`

func scanFile(rows *sql.Rows) (f memory.File, err error) {
	var at int64
	var sum []byte
	err = rows.Scan(&f.Path, &f.Size, &sum, &at)
	copy(f.Sum[:], sum)
	f.UpdatedAt = fromMillis(at)
	return f, err
}

func fileNow(ctx context.Context, q querier, o memory.Owner, path string) (f memory.File, there bool, err error) {
	f, err = only(q, ctx, "read file", scanFile, selectFile+` AND path = ?`, string(o.Organization), string(o.User), path)
	if errors.Is(err, coworker.ErrNotFound) {
		return f, false, nil
	}
	return f, err == nil, err
}

// FileMeta returns a file without its content.
func (c Coworker) FileMeta(ctx context.Context, o memory.Owner, path string) (memory.File, error) {
	return only(c.s.read, ctx, "read file", scanFile, selectFile+` AND path = ?`, string(o.Organization), string(o.User), path)
}

// FileContent returns a file with its content, both of the same moment.
func (c Coworker) FileContent(ctx context.Context, o memory.Owner, path string) (f memory.File, content []byte, err error) {
	f, err = only(c.s.read, ctx, "read file content", func(rows *sql.Rows) (f memory.File, err error) {
		var at int64
		var sum []byte
		err = rows.Scan(&f.Path, &f.Size, &sum, &at, &content)
		copy(f.Sum[:], sum)
		f.UpdatedAt = fromMillis(at)
		return f, err
	}, `SELECT f.path, f.size, f.sha256, f.updated_at, d.content FROM memory_files f
JOIN memory_contents d ON d.organization_id = f.organization_id AND d.user_id = f.user_id AND d.path = f.path
WHERE f.organization_id = ? AND f.user_id = ? AND f.path = ?`, string(o.Organization), string(o.User), path)
	return f, content, err
}

// Contents returns several files with their contents in one query.
func (c Coworker) Contents(ctx context.Context, o memory.Owner, paths []string) ([]memory.Content, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	args := []any{string(o.Organization), string(o.User)}
	for _, path := range paths {
		args = append(args, path)
	}
	return all(c.s.read, ctx, "read contents", func(rows *sql.Rows) (one memory.Content, err error) {
		var at int64
		var sum []byte
		err = rows.Scan(&one.Path, &one.Size, &sum, &at, &one.Body)
		copy(one.Sum[:], sum)
		one.UpdatedAt = fromMillis(at)
		return one, err
	}, `SELECT f.path, f.size, f.sha256, f.updated_at, d.content FROM memory_files f
JOIN memory_contents d ON d.organization_id = f.organization_id AND d.user_id = f.user_id AND d.path = f.path
WHERE f.organization_id = ? AND f.user_id = ? AND f.path IN (?`+strings.Repeat(", ?", len(paths)-1)+`) ORDER BY f.path`, args...)
}

// wildcards are what LIKE reads as more than itself, escaped with "!".
var wildcards = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// Files lists by path.
func (c Coworker) Files(ctx context.Context, o memory.Owner, q memory.Query) ([]memory.File, error) {
	query, args := selectFile+` AND path >= ? AND path > ?`, []any{string(o.Organization), string(o.User), q.Prefix, q.After}
	if end := memory.After(q.Prefix); end != "" {
		query, args = query+` AND path < ?`, append(args, end)
	}
	if q.Folded != "" {
		query, args = query+` AND folded LIKE ? ESCAPE '!'`, append(args, "%"+wildcards.Replace(q.Folded)+"%")
	}
	return all(c.s.read, ctx, "list files", scanFile, query+` ORDER BY path LIMIT ?`, append(args, q.Limit)...)
}
