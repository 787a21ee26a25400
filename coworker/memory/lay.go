package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"innerloop/coworker"
)

// Bounds of what is shown to code at once.
const (
	ShownFiles = 5_000
	ShownBytes = 64 << 20
)

// How much is read from the store at a time.
const (
	batchFiles = 16
	batchBytes = 8 << 20
)

// Lay adds the files of the caller's user, those that were written last before
// the others, and tells how many were left out because they go over the bounds.
// A file that is changed meanwhile is added as it was at some moment since.
func (m *Memory) Lay(ctx context.Context, who coworker.Caller, add func(path string, body []byte) error) (left int, err error) {
	if err := who.MayHold(coworker.ReadData); err != nil {
		return 0, err
	}
	files, err := m.store.Files(ctx, owner(who), Query{Limit: int(m.quota.Files)})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(a.Path, b.Path))
	})
	room := m.shown
	var batch []string
	bytes := int64(0)
	flush := func() error {
		contents, err := m.store.Contents(ctx, owner(who), batch)
		if err != nil {
			return err
		}
		left += len(batch) // until they are added
		for _, c := range contents {
			if room.Files == 0 || int64(len(c.Body)) > room.Bytes {
				continue
			}
			if err := add(c.Path, c.Body); err != nil {
				return err
			}
			room.Files, room.Bytes, left = room.Files-1, room.Bytes-int64(len(c.Body)), left-1
		}
		left -= len(batch) - len(contents) // deleted since
		batch, bytes = nil, 0
		return nil
	}
	for _, f := range files {
		// No such path can be written; that none leads out of the folder must
		// not hang on that alone.
		if CheckPath(f.Path) != nil || room.Files <= int64(len(batch)) || f.Size > room.Bytes-bytes {
			left++
			continue
		}
		if len(batch) == batchFiles || len(batch) > 0 && bytes+f.Size > batchBytes {
			if err := flush(); err != nil {
				return 0, err
			}
		}
		batch, bytes = append(batch, f.Path), bytes+f.Size
	}
	if len(batch) > 0 {
		err = flush()
	}
	return left, err
}
