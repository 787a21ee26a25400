package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"innerloop/internal/keyring"
)

const masterKeyName = "master.key"

var errMasterKey = errors.New("not base64 of 32 bytes")

func decodeMasterKey(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != keyring.MasterSize || base64.StdEncoding.EncodeToString(key) != text {
		return nil, errMasterKey
	}
	return key, nil
}

// masterKey returns the key that the settings name. For the embedded store it
// makes one when there is none; made then names the new file. PostgreSQL may
// serve several processes, each with a folder of its own, so there a key must
// be given (decision note 0011).
func masterKey(c Config, random io.Reader) (key []byte, made string, err error) {
	switch {
	case c.MasterKey != "":
		key, err = decodeMasterKey(c.MasterKey)
		return key, "", err
	case c.MasterKeyFile != "":
		key, err = readMasterKey(c.MasterKeyFile)
		return key, "", err
	case isPostgres(c.DatabaseURL):
		return nil, "", errors.New("PostgreSQL needs an explicit master key: set INNERLOOP_MASTER_KEY or INNERLOOP_MASTER_KEY_FILE to base64 of 32 random bytes, the same for every process (openssl rand -base64 32 makes one)")
	}
	name := filepath.Join(c.DataDir, masterKeyName)
	key, err = readMasterKey(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, "", err
	}
	if err := makeMasterKey(name, random); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, "", fmt.Errorf("make the master key: %w", err)
	} else if err == nil {
		made = name
	}
	key, err = readMasterKey(name) // ours, or that of a process that was quicker
	return key, made, err
}

func readMasterKey(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the master key: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(file, 256))
	if err != nil {
		return nil, fmt.Errorf("read the master key: %w", err)
	}
	key, err := decodeMasterKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("the master key file %s must hold base64 of 32 bytes", name)
	}
	return key, nil
}

// makeMasterKey puts a new key under name, whole or not at all, and never over
// another: it is written and synced aside, then linked, which fails with
// fs.ErrExist when the name is taken.
func makeMasterKey(name string, random io.Reader) error {
	key := make([]byte, keyring.MasterSize)
	if _, err := io.ReadFull(random, key); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	aside, err := os.CreateTemp(filepath.Dir(name), masterKeyName+".*") // 0600 and O_EXCL
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(aside.Name()) }()
	_, err = aside.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err = errors.Join(err, aside.Sync(), aside.Close()); err != nil {
		return err
	}
	if err := os.Link(aside.Name(), name); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// syncFolder puts a new name on disk. Some systems cannot sync a folder; there
// the file itself was synced and the name follows with the next flush.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	_ = folder.Sync()
	return folder.Close()
}

// openRing makes the ring that a store is then bound to.
func openRing(c Config) (ring *keyring.Ring, made string, err error) {
	key, made, err := masterKey(c, rand.Reader)
	if err != nil {
		return nil, "", err
	}
	earlier, err := earlierMasterKeys(c)
	if err != nil {
		return nil, "", err
	}
	ring, err = keyring.New(key, slices.DeleteFunc(earlier, func(k []byte) bool { return bytes.Equal(k, key) })...)
	return ring, made, err
}
