package repl

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"innerloop/coworker"
	"innerloop/coworker/sandbox"
	"innerloop/coworker/skills"
)

// scriptsMax bounds the scripts of all skills of one run, in bytes.
const scriptsMax = 32 << 20

// laid tells, once the run has begun, what of it could not be shown.
type laid struct {
	left int // files of the memory
}

// lay shows in the run what the caller asked for and may read.
func (r *REPL) lay(ctx context.Context, who coworker.Caller, q Request, job *sandbox.Job) (*laid, error) {
	l := &laid{}
	if r.o.Memory != nil && who.MayHold(coworker.ReadData) == nil {
		job.Trees = append(job.Trees, sandbox.Tree{Target: "/mnt/memory", Fill: func(add func(string, []byte) error) (err error) {
			l.left, err = r.o.Memory.Lay(ctx, who, add)
			return err
		}})
	}
	return l, r.layScripts(ctx, who, q.Skills, job)
}

// layScripts shows scripts of skills. Whether there are such skills, and what
// they weigh, is looked at before the run waits for its turn.
func (r *REPL) layScripts(ctx context.Context, who coworker.Caller, ids []string, job *sandbox.Job) error {
	if len(ids) == 0 {
		return nil
	}
	var on []skills.Skill
	if r.o.Skills != nil {
		var err error
		if on, err = r.o.Skills.For(ctx, who); err != nil {
			return fmt.Errorf("list skills: %w", err)
		}
	}
	total := int64(0)
	for _, id := range ids {
		at := slices.IndexFunc(on, func(s skills.Skill) bool { return s.ID == id })
		if at < 0 {
			return noSkill(on)
		}
		total += on[at].Scripts()
		job.Trees = append(job.Trees, sandbox.Tree{Target: "/mnt/skills/" + on[at].ID + "/scripts", Fill: func(add func(string, []byte) error) error {
			// It may have been disabled or replaced since.
			files, err := r.o.Skills.Scripts(ctx, who, id)
			if err != nil {
				return err
			}
			for _, f := range files {
				if err := add(f.Path, f.Content); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	if total > scriptsMax {
		return coworker.InvalidArguments(coworker.Problem{Field: "skills", Problem: "hold more scripts than one run is shown; name fewer", Allowed: struct {
			Bytes int `json:"bytes"`
		}{scriptsMax}})
	}
	return nil
}

// toldSkills is how many skills a refusal names.
const toldSkills = 20

func noSkill(on []skills.Skill) error {
	f := coworker.Missing("skill")
	if len(on) == 0 {
		f.Hint = "the organization has no skill that is enabled"
		return f
	}
	var ids []string
	for _, s := range on[:min(len(on), toldSkills)] {
		ids = append(ids, s.ID)
	}
	f.Hint = "there are " + strings.Join(ids, ", ")
	if len(on) > toldSkills {
		f.Hint += fmt.Sprintf(" and %d more, which resources/list names", len(on)-toldSkills)
	}
	return f
}
