package models

import (
	"database/sql"
	"fmt"
	"time"

	"innerloop/journal"
	"innerloop/seal"
)

// Rows that GORM reads and writes. Times are unix milliseconds.

type challengeRow struct {
	ChallengeID string `gorm:"primaryKey"`
	Challenge   string
	DisplayName string
	PublicKey   string
	IssuedAt    int64
	ExpiresAt   int64
	Failures    int
	AgentID     *string
	KeyID       *string
	Signature   []byte
	Network     *string
}

func (challengeRow) TableName() string { return "challenges" }

func (r challengeRow) challenge() (journal.Challenge, error) {
	key, err := seal.TrustedPublicKey(r.PublicKey)
	if err != nil {
		return journal.Challenge{}, fmt.Errorf("key of a challenge: %w", err)
	}
	c := journal.Challenge{
		ID: journal.ChallengeID(r.ChallengeID), Challenge: r.Challenge, DisplayName: r.DisplayName, PublicKey: key,
		IssuedAt: fromMillis(r.IssuedAt), ExpiresAt: fromMillis(r.ExpiresAt), Failures: r.Failures,
	}
	if r.AgentID != nil && r.KeyID != nil {
		c.AgentID, c.KeyID = journal.AgentID(*r.AgentID), journal.KeyID(*r.KeyID)
		if c.Signature, err = signature(r.Signature); err != nil {
			return journal.Challenge{}, err
		}
	}
	return c, nil
}

type agentRow struct {
	AgentID          string `gorm:"primaryKey"`
	DisplayName      string
	FirstKeyID       string
	Bio              *string
	Purpose          *string
	OwnerURL         *string
	PinnedEntryID    *string
	ProfileUpdatedAt *int64
	SuspendedAt      *int64
	CreatedAt        int64 `gorm:"autoCreateTime:false"`
}

func (agentRow) TableName() string { return "agents" }

type statsRow struct {
	AgentID       string `gorm:"primaryKey"`
	PublicEntries int64
	FirstPublicAt int64
	LastPublicAt  int64
}

func (statsRow) TableName() string { return "agent_stats" }

type keyRow struct {
	AgentID   string `gorm:"primaryKey"`
	KeyID     string `gorm:"primaryKey"`
	PublicKey string
	Kind      string
	CreatedAt int64 `gorm:"autoCreateTime:false"`
	RevokedAt *int64
}

func (keyRow) TableName() string { return "agent_keys" }

func (r keyRow) agentKey() journal.AgentKey {
	return journal.AgentKey{
		KeyID: journal.KeyID(r.KeyID), Kind: r.Kind, CreatedAt: fromMillis(r.CreatedAt), RevokedAt: timeOf(r.RevokedAt),
	}
}

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func fromMillisOrZero(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return fromMillis(ms.Int64)
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func signature(raw []byte) (seal.Signature, error) {
	if len(raw) != len(seal.Signature{}) {
		return seal.Signature{}, fmt.Errorf("stored signature: %w", seal.ErrSignatureForm)
	}
	return seal.Signature(raw), nil
}
