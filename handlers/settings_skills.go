package handlers

import (
	"net/url"

	"innerloop/coworker"
	"innerloop/coworker/skills"
	"innerloop/web/prose"
	"innerloop/web/settings"
)

// skillsPage is GET /settings/skills; there are at most skills.SkillsMax.
func (s *Server) skillsPage(d *desk) error {
	all, err := s.shelf.All(d.ctx, d.who, d.organization())
	if err != nil {
		return err
	}
	d.frame.Title, d.frame.Path = d.lang().ShelfMessages().Skill.Title, settings.SkillsPath
	v := settings.Skills{Frame: d.frame}
	for _, one := range all {
		v.Rows = append(v.Rows, skillView(d, one))
	}
	return s.sheet(d.Ctx, settings.SkillsPage(v))
}

func skillView(d *desk, one skills.Skill) settings.Skill {
	record := one.Record()
	return settings.Skill{
		ID: one.ID, Description: prose.Visible(one.Description), Service: one.Service, On: one.Enabled,
		Holds: d.lang().Count(record.Files, d.lang().ShelfMessages().Skill.Holds), Size: d.lang().Size(record.Bytes),
		Added: settings.At(d.lang(), one.AddedAt), Changed: settings.At(d.lang(), one.ChangedAt),
	}
}

// addSkillForm is POST /settings/skills.
func (s *Server) addSkillForm(d *desk, values url.Values, file upload) error {
	if err := only(values, nil); err != nil {
		return err
	}
	one, err := skills.ReadZip(file.content, file.name)
	if file.name == "" {
		err = coworker.InvalidArguments(coworker.Problem{Field: "file", Problem: "has to be chosen"})
	}
	if err == nil {
		_, err = s.shelf.Add(d.ctx, d.who, d.organization(), one)
	}
	if err == nil {
		return d.onward(settings.SkillsPath, "shelved")
	}
	if err := d.misplaced(err, map[string]string{"": "file"}, d.lang().ShelfMessages().Skill.Pick); err != nil {
		return err
	}
	return s.skillsPage(d)
}

// skillOf is the skill of a path.
func (s *Server) skillOf(d *desk) (skills.Skill, error) {
	id, err := segment(d.Ctx, "skill")
	if err != nil {
		return skills.Skill{}, err
	}
	return s.shelf.One(d.ctx, d.who, d.organization(), id)
}

// skillPage is GET /settings/skills/{skill_id}.
func (s *Server) skillPage(d *desk) error {
	one, err := s.skillOf(d)
	if err != nil {
		return err
	}
	d.frame.Title, d.frame.Path = one.ID, settings.SkillsPath+"/"+one.ID
	v := settings.SkillDetail{Frame: d.frame, Skill: skillView(d, one)}
	for _, f := range one.Files {
		if f.Path == skills.Main {
			v.Text, _, _ = shownOf(f.Content)
		}
		v.Files = append(v.Files, settings.SkillFile{Path: f.Path, Size: d.lang().Size(f.Size), Digest: f.Digest()})
	}
	return s.sheet(d.Ctx, settings.SkillPage(v))
}

// switchSkillForm is POST /settings/skills/{skill_id}/enable and …/disable.
func (s *Server) switchSkillForm(on bool) func(*desk, url.Values) error {
	done := "disabled"
	if on {
		done = "enabled"
	}
	return func(d *desk, values url.Values) error {
		if err := only(values, nil); err != nil {
			return err
		}
		one, err := s.skillOf(d)
		if err != nil {
			return err
		}
		if err := s.shelf.Switch(d.ctx, d.who, d.organization(), one.ID, on); err != nil {
			return err
		}
		return d.onward(settings.SkillsPath, done)
	}
}

// askRemoveSkill is GET /settings/skills/{skill_id}/remove.
func (s *Server) askRemoveSkill(d *desk) error {
	one, err := s.skillOf(d)
	if err != nil {
		return err
	}
	m := d.lang().ShelfMessages().Skill
	d.frame.Title, d.frame.Path = filled(m.Ask, one.ID), settings.SkillsPath+"/"+one.ID+"/remove"
	return s.sheet(d.Ctx, settings.AskPage(settings.Ask{
		Frame: d.frame, Lead: m.AskLead, Facts: []settings.Fact{{Name: m.ID, Value: one.ID}, {Name: m.Description, Value: prose.Visible(one.Description)}},
		Action: d.frame.Path, Confirm: m.Confirm, Back: settings.SkillsPath,
	}))
}

// removeSkillForm is POST /settings/skills/{skill_id}/remove.
func (s *Server) removeSkillForm(d *desk, values url.Values) error {
	if err := only(values, nil); err != nil {
		return err
	}
	one, err := s.skillOf(d)
	if err != nil {
		return err
	}
	if err := s.shelf.Remove(d.ctx, d.who, d.organization(), one.ID); err != nil {
		return err
	}
	return d.onward(settings.SkillsPath, "unshelve")
}
