package models

import (
	"context"
	"database/sql"

	"innerloop/coworker"
	"innerloop/coworker/memory"
	"innerloop/coworker/skills"
)

var _ skills.Store = Coworker{}

// SaveSkill writes a skill with all its files.
func (c Coworker) SaveSkill(ctx context.Context, s skills.Skill, most int, a coworker.Audit) error {
	return c.change(ctx, "save skill", a, func(tx *transaction) error {
		if err := lockOrganization(ctx, tx, s.Organization); err != nil {
			return err
		}
		others := 0
		err := each(tx, ctx, `SELECT 1 FROM skills WHERE organization_id = ? AND skill_id <> ? LIMIT ?`, []any{string(s.Organization), s.ID, most}, func(*sql.Rows) error {
			others++
			return nil
		})
		if err != nil {
			return err
		}
		if others >= most {
			return skills.ErrFull
		}
		_, err = tx.exec(ctx, `INSERT INTO skills (organization_id, skill_id, description, service, front, enabled, added_at, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (organization_id, skill_id) DO UPDATE SET description = excluded.description, service = excluded.service, front = excluded.front, changed_at = excluded.changed_at`,
			string(s.Organization), s.ID, s.Description, s.Service, string(s.Front), s.Enabled, s.AddedAt.UnixMilli(), s.ChangedAt.UnixMilli())
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `DELETE FROM skill_files WHERE organization_id = ? AND skill_id = ?`, string(s.Organization), s.ID); err != nil {
			return err
		}
		for _, f := range s.Files {
			content := f.Content
			if content == nil {
				content = []byte{} // nil is NULL
			}
			_, err := tx.exec(ctx, `INSERT INTO skill_files (organization_id, skill_id, path, size, sha256, content) VALUES (?, ?, ?, ?, ?, ?)`,
				string(s.Organization), s.ID, f.Path, f.Size, f.Sum[:], content)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Skills lists by id: one query for the skills, one for their files.
func (c Coworker) Skills(ctx context.Context, o coworker.OrganizationID) ([]skills.Skill, error) {
	list, err := all(c.s.read, ctx, "list skills", func(rows *sql.Rows) (s skills.Skill, err error) {
		var front string
		var added, changed int64
		err = rows.Scan(&s.ID, &s.Description, &s.Service, &front, &s.Enabled, &added, &changed)
		s.Organization, s.Front, s.AddedAt, s.ChangedAt = o, []byte(front), fromMillis(added), fromMillis(changed)
		return s, err
	}, `SELECT skill_id, description, service, front, enabled, added_at, changed_at FROM skills WHERE organization_id = ? ORDER BY skill_id`, string(o))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	place := map[string]int{}
	for i, s := range list {
		place[s.ID] = i
	}
	err = each(c.s.read, ctx, `SELECT skill_id, path, size, sha256 FROM skill_files WHERE organization_id = ? ORDER BY skill_id, path`, []any{string(o)}, func(rows *sql.Rows) error {
		var id string
		var f skills.File
		var sum []byte
		if err := rows.Scan(&id, &f.Path, &f.Size, &sum); err != nil {
			return err
		}
		copy(f.Sum[:], sum)
		if at, ok := place[id]; ok { // one that was added since is left to the next list
			list[at].Files = append(list[at].Files, f)
		}
		return nil
	})
	return list, err
}

// SkillFile returns a file of an enabled skill.
func (c Coworker) SkillFile(ctx context.Context, o coworker.OrganizationID, id, path string) (skills.File, error) {
	return only(c.s.read, ctx, "read skill file", func(rows *sql.Rows) (f skills.File, err error) {
		var sum []byte
		err = rows.Scan(&f.Path, &f.Size, &sum, &f.Content)
		copy(f.Sum[:], sum)
		return f, err
	}, `SELECT f.path, f.size, f.sha256, f.content FROM skill_files f JOIN skills s ON s.organization_id = f.organization_id AND s.skill_id = f.skill_id
WHERE f.organization_id = ? AND f.skill_id = ? AND f.path = ? AND s.enabled = ?`, string(o), id, path, true)
}

// KeptFile returns a file of a skill, enabled or not.
func (c Coworker) KeptFile(ctx context.Context, o coworker.OrganizationID, id, path string) (skills.File, error) {
	return only(c.s.read, ctx, "read kept skill file", func(rows *sql.Rows) (f skills.File, err error) {
		var sum []byte
		err = rows.Scan(&f.Path, &f.Size, &sum, &f.Content)
		copy(f.Sum[:], sum)
		return f, err
	}, `SELECT path, size, sha256, content FROM skill_files WHERE organization_id = ? AND skill_id = ? AND path = ?`, string(o), id, path)
}

// SkillFolder returns files of an enabled skill in one query. A skill without
// such files is one row that names none.
func (c Coworker) SkillFolder(ctx context.Context, o coworker.OrganizationID, id, folder string) ([]skills.File, error) {
	var files []skills.File
	there := false
	err := each(c.s.read, ctx, `SELECT f.path, f.size, f.sha256, f.content FROM skills s
LEFT JOIN skill_files f ON f.organization_id = s.organization_id AND f.skill_id = s.skill_id AND f.path >= ? AND f.path < ?
WHERE s.organization_id = ? AND s.skill_id = ? AND s.enabled = ? ORDER BY f.path`,
		[]any{folder, memory.After(folder), string(o), id, true}, func(rows *sql.Rows) error {
			there = true
			var path sql.NullString
			var size sql.NullInt64
			var f skills.File
			var sum []byte
			err := rows.Scan(&path, &size, &sum, &f.Content)
			if err != nil || !path.Valid {
				return err
			}
			f.Path, f.Size = path.String, size.Int64
			copy(f.Sum[:], sum)
			files = append(files, f)
			return nil
		})
	if unstorable(err) || err == nil && !there {
		err = coworker.ErrNotFound
	}
	return files, err
}

// SwitchSkill enables or disables one.
func (c Coworker) SwitchSkill(ctx context.Context, o coworker.OrganizationID, id string, on bool, a coworker.Audit) error {
	return c.change(ctx, "switch skill", a, func(tx *transaction) error {
		return oneOf(tx.exec(ctx, `UPDATE skills SET enabled = ?, changed_at = ? WHERE organization_id = ? AND skill_id = ?`, on, a.At.UnixMilli(), string(o), id))
	})
}

// RemoveSkill removes one with its files.
func (c Coworker) RemoveSkill(ctx context.Context, o coworker.OrganizationID, id string, a coworker.Audit) error {
	return c.change(ctx, "remove skill", a, func(tx *transaction) error {
		return oneOf(tx.exec(ctx, `DELETE FROM skills WHERE organization_id = ? AND skill_id = ?`, string(o), id))
	})
}

// oneOf says that there was nothing to change.
func oneOf(n int64, err error) error {
	if err == nil && n == 0 {
		err = coworker.ErrNotFound
	}
	return err
}
