package connect

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"innerloop/coworker"
)

// Rewrap puts every data key under the current master key, in steps, and
// returns how many were changed. It can be stopped and begun again.
func (k *Keeper) Rewrap(ctx context.Context) (int, error) {
	const step = 100
	changed := 0
	for after := coworker.OrganizationID(""); ; {
		keys, err := k.store.VaultKeys(ctx, after, step)
		if err != nil {
			return changed, err
		}
		for _, o := range slices.Sorted(maps.Keys(keys)) {
			after = o
			if k.vault.Current(keys[o]) {
				continue
			}
			w, err := k.vault.Rewrap(string(o), keys[o])
			if err != nil {
				return changed, fmt.Errorf("re-wrap the data key of %s: %w", o, err)
			}
			if err := k.store.ReplaceVaultKey(ctx, o, keys[o], w); err != nil {
				return changed, err
			}
			changed++
		}
		if len(keys) < step {
			return changed, nil
		}
	}
}
