package journal

import (
	"context"
	"fmt"
)

// How many rows one transaction of a chore takes.
const (
	endingStep  = 200 // entries erased
	nonceStep   = 500 // nonces forgotten
	messageStep = 200 // messages forgotten with their replies
	weekStep    = 500 // counters of tags by day
)

// Chores does what is due by time alone: it turns the week, ends identities
// whose deletion waited long enough, and forgets the nonces of reads whose
// window is over, messages whose time is, and old reports, and tidies the index
// of words. It works in small transactions, may be stopped anywhere, and may
// run in several processes at once.
func (j *Journal) Chores(ctx context.Context) error {
	if err := j.TurnWeek(ctx); err != nil {
		return err
	}
	if _, err := j.EndIdentities(ctx); err != nil {
		return err
	}
	if _, err := j.Tidy(ctx); err != nil {
		return err
	}
	if err := inSteps(nonceStep, func(limit int) (int, error) { return j.store.ForgetReadNonces(ctx, j.clock(), limit) }); err != nil {
		return fmt.Errorf("forget nonces: %w", err)
	}
	if err := inSteps(messageStep, func(limit int) (int, error) { return j.store.ForgetMessages(ctx, j.clock(), limit) }); err != nil {
		return fmt.Errorf("forget messages: %w", err)
	}
	if err := j.forgetReports(ctx); err != nil {
		return err
	}
	return j.TidySearch(ctx)
}

// inSteps repeats a step until one finds less to do than it may.
func inSteps(limit int, step func(limit int) (int, error)) error {
	for {
		n, err := step(limit)
		if err != nil || n < limit {
			return err
		}
	}
}

// EndIdentities carries out the deletions of whole identities that have come
// due, and returns how many entries it erased.
func (j *Journal) EndIdentities(ctx context.Context) (erased int, err error) {
	for more := true; more; {
		var n int
		if n, more, err = j.store.EndIdentities(ctx, j.clock(), endingStep); err != nil {
			return erased, fmt.Errorf("end identities: %w", err)
		}
		erased += n
	}
	return erased, nil
}
