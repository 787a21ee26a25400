package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	previousKeysName = masterKeyName + ".previous"
	nextKeyName      = masterKeyName + ".next"
	earlierKeysMax   = 16
)

// decodeMasterKeys reads keys that stand on lines of their own or between
// commas.
func decodeMasterKeys(text string) (keys [][]byte, err error) {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		if strings.TrimSpace(one) == "" {
			continue
		}
		key, err := decodeMasterKey(one)
		if err != nil {
			return nil, err
		}
		if keys = append(keys, key); len(keys) > earlierKeysMax {
			return nil, errMasterKey
		}
	}
	return keys, nil
}

// keepsOwnKey tells whether the master key is the one of the data folder.
func keepsOwnKey(c Config) bool {
	return c.MasterKey == "" && c.MasterKeyFile == "" && !isPostgres(c.DatabaseURL)
}

// earlierMasterKeys returns the earlier keys that the settings name, or those
// beside the key of the data folder.
func earlierMasterKeys(c Config) ([][]byte, error) {
	name := c.PreviousMasterKeyFile
	switch {
	case c.PreviousMasterKey != "":
		return decodeMasterKeys(c.PreviousMasterKey)
	case name == "" && !keepsOwnKey(c):
		return nil, nil
	case name == "":
		name = filepath.Join(c.DataDir, previousKeysName)
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the earlier master keys: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil {
		return nil, fmt.Errorf("read the earlier master keys: %w", err)
	}
	keys, err := decodeMasterKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("the file %s must hold base64 of 32 bytes on each line", name)
	}
	return keys, nil
}

// turnKeyFiles puts a new key in the place of the data folder's and the old one
// before the earlier ones. Cut anywhere, the folder holds every key that the
// database may be bound to, as current or as earlier.
func turnKeyFiles(folder string, random io.Reader) error {
	name, next, previous := filepath.Join(folder, masterKeyName), filepath.Join(folder, nextKeyName), filepath.Join(folder, previousKeysName)
	if err := makeMasterKey(next, random); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a new master key: %w", err)
	}
	old, err := readMasterKey(name)
	if err != nil {
		return err
	}
	line := base64.StdEncoding.EncodeToString(old) + "\n"
	earlier, err := os.ReadFile(previous)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the earlier master keys: %w", err)
	}
	if !strings.HasPrefix(string(earlier), line) { // a rotation that was cut came this far
		if err := replaceFile(previous, line+string(earlier)); err != nil {
			return fmt.Errorf("keep the earlier master keys: %w", err)
		}
	}
	if err := os.Rename(next, name); err != nil {
		return fmt.Errorf("put the new master key in place: %w", err)
	}
	return syncFolder(folder)
}

// replaceFile writes a private file whole or not at all.
func replaceFile(name, text string) error {
	aside, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*") // 0600 and O_EXCL
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(aside.Name()) }()
	_, err = aside.WriteString(text)
	if err = errors.Join(err, aside.Sync(), aside.Close()); err != nil {
		return err
	}
	if err := os.Rename(aside.Name(), name); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

func newMasterKey(s surroundings) *cobra.Command {
	return group("masterkey", "The key from which every secret key derives", newMasterKeyRotate(s))
}

func newMasterKeyRotate(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "rotate", Short: "Bind the database to a new master key and re-wrap the vault", Args: noArguments,
		Long: `Binds the database to a new master key and wraps the data keys of the vault
under it, in steps. It can be stopped and run again.

Where the key is a file of the data folder, a new one is made and the old one is
kept in ` + previousKeysName + ` beside it. Otherwise set INNERLOOP_MASTER_KEY(_FILE) to
the new key and INNERLOOP_PREVIOUS_MASTER_KEY(_FILE) to the old one, for this
command and for every process that serves. Processes that run with the old key
alone must be started again.

Keep the earlier keys: receipts and cursors made under them are checked with
them, and an agent may ask for a receipt long after.`,
	}
	declareSettings(c.Flags())
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		facts, err := s.rotate(cmd.Context(), config)
		if err != nil {
			return plainly(err)
		}
		return s.tell(*asJSON, facts, "master key "+facts.KeyID, fmt.Sprintf("%d data keys re-wrapped", facts.DataKeys), "keep the earlier keys: "+strings.Join(facts.Earlier, ", "))
	}
	return c
}

// A rotation is what came of one.
type rotation struct {
	KeyID    string   `json:"key_id"` // 8 hex digits
	Earlier  []string `json:"earlier_key_ids"`
	DataKeys int      `json:"data_keys"`
}

// rotate finishes a rotation that was cut, or makes one.
func (s surroundings) rotate(ctx context.Context, c Config) (rotation, error) {
	done, pending, err := s.rebind(ctx, c)
	if err != nil || pending || !keepsOwnKey(c) {
		if err == nil && !pending && len(done.Earlier) == 0 {
			err = errors.New("nothing to rotate: set INNERLOOP_MASTER_KEY or INNERLOOP_MASTER_KEY_FILE to a new key, and INNERLOOP_PREVIOUS_MASTER_KEY or INNERLOOP_PREVIOUS_MASTER_KEY_FILE to the present one")
		}
		return done, err
	}
	if err := turnKeyFiles(c.DataDir, rand.Reader); err != nil {
		return done, err
	}
	done, _, err = s.rebind(ctx, c)
	return done, err
}

// rebind moves database and vault to the current master key. pending tells
// whether there was anything to move.
func (s surroundings) rebind(ctx context.Context, c Config) (done rotation, pending bool, err error) {
	log := newLog(s.err, c)
	h, err := openHouse(ctx, c, log, false, time.Now)
	if err != nil {
		return done, false, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	done = rotation{KeyID: h.keys.Current(), Earlier: []string{}}
	for _, fingerprint := range h.keys.Previous() {
		done.Earlier = append(done.Earlier, fingerprint[:len(done.KeyID)])
	}
	pending = h.store.BindMasterKey(ctx, h.keys.Fingerprint()) != nil
	if err := h.store.RebindMasterKey(ctx, h.keys.Fingerprint(), h.keys.Previous()...); err != nil {
		return done, pending, err
	}
	tools, err := h.coworker(c, "", log)
	if err != nil {
		return done, pending, err
	}
	services, err := loadCatalog(c)
	if err != nil {
		return done, pending, err
	}
	files, err := h.memory(tools)
	if err != nil {
		return done, pending, err
	}
	keeper, _, err := h.connections(services, tools, files)
	if err != nil {
		return done, pending, err
	}
	done.DataKeys, err = keeper.Rewrap(ctx)
	return done, pending || done.DataKeys > 0, err
}
