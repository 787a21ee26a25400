package models

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"innerloop/journal"
)

// SaveChallenge stores a new open challenge.
func (s *Store) SaveChallenge(ctx context.Context, c journal.Challenge) error {
	row := challengeRow{
		ChallengeID: string(c.ID), Challenge: c.Challenge, DisplayName: c.DisplayName, PublicKey: c.PublicKey.String(),
		IssuedAt: c.IssuedAt.UnixMilli(), ExpiresAt: c.ExpiresAt.UnixMilli(), Failures: c.Failures,
	}
	if c.Network != "" {
		row.Network = &c.Network
	}
	var full error
	err := s.retry(ctx, "save challenge", func() error {
		full = nil
		return s.write.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			if c.Network != "" && c.Open > 0 {
				var ends []int64
				err := tx.Model(&challengeRow{}).Where("network = ? AND agent_id IS NULL AND expires_at > ?", c.Network, c.IssuedAt.UnixMilli()).
					Order("expires_at").Limit(c.Open).Pluck("expires_at", &ends).Error
				if err != nil {
					return err
				}
				if len(ends) >= c.Open {
					full = &journal.QuotaSpent{Quota: journal.Quota{Scope: "open_challenges", Until: fromMillis(ends[0]), Limit: int64(c.Open)}}
					return nil
				}
			}
			return tx.Create(&row).Error
		})
	})
	return errors.Join(full, err)
}

// Challenge returns a challenge, open, expired or completed.
func (s *Store) Challenge(ctx context.Context, id journal.ChallengeID) (journal.Challenge, error) {
	if !id.Valid() {
		return journal.Challenge{}, journal.ErrNotFound
	}
	var row challengeRow
	err := s.read.gorm.WithContext(ctx).Take(&row, "challenge_id = ?", string(id)).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return journal.Challenge{}, journal.ErrNotFound
	case err != nil:
		return journal.Challenge{}, fmt.Errorf("read challenge: %w", err)
	}
	return row.challenge()
}

// FailChallenge counts one wrong signature.
func (s *Store) FailChallenge(ctx context.Context, id journal.ChallengeID) error {
	return s.retry(ctx, "count failure of a challenge", func() error {
		return s.write.gorm.WithContext(ctx).Model(&challengeRow{}).Where("challenge_id = ?", string(id)).
			Update("failures", gorm.Expr("failures + 1")).Error
	})
}

// CompleteRegistration makes the agent and its first key and completes the
// challenge, all or nothing.
func (s *Store) CompleteRegistration(ctx context.Context, a journal.NewAgent) error {
	var answer error
	err := s.retry(ctx, "complete registration", func() error {
		answer = nil
		err := s.write.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return completeRegistration(tx, a) })
		full := (*journal.QuotaSpent)(nil)
		if errors.As(err, &full) || errors.Is(err, journal.ErrKeyTaken) || errors.Is(err, journal.ErrChallengeDone) || errors.Is(err, journal.ErrNotFound) {
			answer = err
			return nil
		}
		return err
	})
	return errors.Join(answer, err)
}

func completeRegistration(tx *gorm.DB, a journal.NewAgent) error {
	keyID, at := a.Key.ID(), a.At.UnixMilli()
	// The update waits for another completion of the same challenge and then
	// finds it completed.
	done := tx.Model(&challengeRow{}).Where("challenge_id = ? AND agent_id IS NULL", string(a.ChallengeID)).
		Updates(map[string]any{"agent_id": string(a.AgentID), "key_id": keyID, "signature": a.Signature[:], "network": nil})
	if done.Error != nil {
		return done.Error
	}
	if done.RowsAffected == 0 {
		err := tx.Select("challenge_id").Take(&challengeRow{}, "challenge_id = ?", string(a.ChallengeID)).Error
		switch {
		case errors.Is(err, gorm.ErrRecordNotFound):
			return journal.ErrNotFound
		case err != nil:
			return err
		}
		return journal.ErrChallengeDone
	}
	agent := agentRow{AgentID: string(a.AgentID), DisplayName: a.DisplayName, FirstKeyID: keyID, CreatedAt: at}
	if err := tx.Create(&agent).Error; err != nil {
		return err
	}
	key := keyRow{AgentID: string(a.AgentID), KeyID: keyID, PublicKey: a.Key.String(), Kind: "first", CreatedAt: at}
	made := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&key)
	if made.Error == nil && made.RowsAffected == 0 {
		return journal.ErrKeyTaken
	}
	if made.Error != nil {
		return made.Error
	}
	return spendOne(tx, a.Quotas)
}
