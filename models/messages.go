package models

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"innerloop/journal"
)

const selectMessage = `SELECT content_key, content_mac, expires_at, reply_key, reply FROM messages WHERE message = ?`

// Message returns what is kept under the digest of a message id.
func (s *Store) Message(ctx context.Context, id journal.Digest, now time.Time) (journal.KeptMessage, error) {
	m, found, err := message(s.read, ctx, id, ` AND expires_at > ?`, now.UnixMilli())
	switch {
	case err != nil:
		return m, fmt.Errorf("read message: %w", err)
	case !found:
		return m, journal.ErrNotFound
	}
	return m, nil
}

func message(q querier, ctx context.Context, id journal.Digest, more string, args ...any) (journal.KeptMessage, bool, error) {
	m := journal.KeptMessage{ID: id}
	var until int64
	var key sql.NullString
	found, err := first(q, ctx, selectMessage+more, append([]any{id[:]}, args...),
		&m.Content.KeyID, &m.Content.Sum, &until, &key, &m.Reply.Box)
	m.Until, m.Reply.KeyID = fromMillis(until), key.String
	return m, found, err
}

// ClaimMessage binds a message id to its content. Of several at once one
// binds, and each is told what is bound.
func (s *Store) ClaimMessage(ctx context.Context, claim journal.KeptMessage, now time.Time) (m journal.KeptMessage, err error) {
	err = s.retry(ctx, "claim message", func() error {
		return s.write.inTransaction(ctx, func(tx *transaction) error {
			// The row stays locked until commit, also when it is not changed.
			_, err := tx.exec(ctx, `INSERT INTO messages (message, content_key, content_mac, expires_at) VALUES (?, ?, ?, ?)
ON CONFLICT (message) DO UPDATE SET content_key = excluded.content_key, content_mac = excluded.content_mac,
    expires_at = excluded.expires_at, reply_key = NULL, reply = NULL
WHERE messages.expires_at <= ?`, claim.ID[:], claim.Content.KeyID, claim.Content.Sum, claim.Until.UnixMilli(), now.UnixMilli())
			if err != nil {
				return err
			}
			var found bool
			if m, found, err = message(tx, ctx, claim.ID, ""); err == nil && !found {
				return journal.ErrNotFound
			}
			return err
		})
	})
	return m, err
}

// KeepReply gives a claimed message its reply, if it has none yet, and
// returns the one it has.
func (s *Store) KeepReply(ctx context.Context, m journal.KeptMessage) (kept journal.KeptMessage, err error) {
	err = s.retry(ctx, "keep reply", func() error {
		kept = m
		changed, err := s.write.exec(ctx, `UPDATE messages SET reply_key = ?, reply = ?
WHERE message = ? AND content_mac = ? AND reply IS NULL`, m.Reply.KeyID, m.Reply.Box, m.ID[:], m.Content.Sum)
		if err != nil || changed == 1 {
			return err
		}
		other, found, err := message(s.write, ctx, m.ID, ` AND content_mac = ?`, m.Content.Sum)
		if err == nil && found && other.Reply.Box != nil {
			kept = other
		}
		return err
	})
	return kept, err
}

// ReleaseMessage drops a claim that came to nothing.
func (s *Store) ReleaseMessage(ctx context.Context, m journal.KeptMessage) error {
	return s.retry(ctx, "release message", func() error {
		_, err := s.write.exec(ctx, `DELETE FROM messages WHERE message = ? AND content_mac = ? AND reply IS NULL`, m.ID[:], m.Content.Sum)
		return err
	})
}

// ForgetMessages removes messages whose time is over.
func (s *Store) ForgetMessages(ctx context.Context, now time.Time, limit int) (int, error) {
	var rows int64
	err := s.retry(ctx, "forget messages", func() (err error) {
		rows, err = s.write.exec(ctx, `DELETE FROM messages WHERE expires_at <= ? AND message IN
(SELECT message FROM messages WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`, now.UnixMilli(), now.UnixMilli(), limit)
		return err
	})
	return int(rows), err
}
