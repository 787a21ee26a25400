package client

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"golang.org/x/crypto/scrypt"

	"innerloop/seal"
)

const backupFormat = "innerloop-agent-backup-v1"

// Cost of guessing a passphrase: 64 MiB and some tenths of a second a try.
const scryptN, scryptR, scryptP = 1 << 16, 8, 1

// backupFile is a backup on disk: Files in the open, or sealed.
type backupFile struct {
	Format  string            `json:"format"`
	Profile string            `json:"profile"`
	MadeAt  time.Time         `json:"made_at"`
	Files   map[string]string `json:"files,omitempty"`
	Scrypt  *scryptCost       `json:"scrypt,omitempty"`
	Nonce   []byte            `json:"nonce,omitempty"`
	Sealed  []byte            `json:"sealed,omitempty"` // AES-256-GCM of Files as JSON
}

type scryptCost struct {
	N    int    `json:"n"`
	R    int    `json:"r"`
	P    int    `json:"p"`
	Salt []byte `json:"salt"`
}

// A Backup is where a profile was copied to.
type Backup struct {
	File      string `json:"file"`
	KeyID     string `json:"key_id"`
	Encrypted bool   `json:"encrypted"`
}

// profileFile tells the files of a profile that a backup holds.
var profileFile = regexp.MustCompile(`^(?:agent\.json|pending-[a-z-]{1,40}\.json|(?:key|next-key|recovered-key|unused-key_[0-9a-f]{64})\.pem)$`)

// Backup copies the profile, keys and waiting requests, into a new file that
// only its owner can read. Without a passphrase whoever gets that file can
// sign as the agent.
func (a *Agent) Backup(_ context.Context, file string, passphrase []byte) (Backup, error) {
	unlock, err := a.take()
	if err != nil {
		return Backup{}, err
	}
	defer unlock()
	_, own, err := a.ownKey()
	if err != nil {
		return Backup{}, err
	}
	names, err := os.ReadDir(a.folder)
	if err != nil {
		return Backup{}, fmt.Errorf("read the profile: %w", err)
	}
	b := backupFile{Format: backupFormat, Profile: a.profile, MadeAt: a.now().UTC(), Files: map[string]string{}}
	for _, entry := range names {
		if !profileFile.MatchString(entry.Name()) {
			continue
		}
		text, err := readFile(filepath.Join(a.folder, entry.Name()))
		if err != nil {
			return Backup{}, err
		}
		b.Files[entry.Name()] = string(text)
	}
	if len(passphrase) > 0 {
		if err := b.seal(passphrase, a.random); err != nil {
			return Backup{}, err
		}
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return Backup{}, err
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return Backup{}, fmt.Errorf("%s exists already; a backup overwrites nothing", file)
	}
	if err != nil {
		return Backup{}, fmt.Errorf("make the backup: %w", err)
	}
	_, err = out.Write(append(text, '\n'))
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return Backup{}, errors.Join(fmt.Errorf("write the backup: %w", err), os.Remove(file))
	}
	return Backup{File: file, KeyID: own.KeyID, Encrypted: b.Scrypt != nil}, nil
}

func (b *backupFile) seal(passphrase []byte, random io.Reader) error {
	plain, err := json.Marshal(b.Files)
	if err != nil {
		return err
	}
	b.Scrypt = &scryptCost{N: scryptN, R: scryptR, P: scryptP, Salt: make([]byte, 16)}
	b.Nonce = make([]byte, 12)
	if _, err := io.ReadFull(random, b.Scrypt.Salt); err != nil {
		return err
	}
	if _, err := io.ReadFull(random, b.Nonce); err != nil {
		return err
	}
	box, err := b.Scrypt.box(passphrase)
	if err != nil {
		return err
	}
	b.Sealed, b.Files = box.Seal(nil, b.Nonce, plain, []byte(backupFormat)), nil
	return nil
}

func (c scryptCost) box(passphrase []byte) (cipher.AEAD, error) {
	// A file from elsewhere must not be able to ask for all memory.
	if c.N > 1<<20 || c.R > 16 || c.P > 4 || len(c.Salt) < 16 {
		return nil, errors.New("the backup asks for a key derivation that we do not do")
	}
	key, err := scrypt.Key(passphrase, c.Salt, c.N, c.R, c.P, 32)
	if err != nil {
		return nil, errors.New("the backup asks for a key derivation that we do not do")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// ErrPassphrase reports a backup that needs a passphrase, or another one.
var ErrPassphrase = errors.New("the backup is encrypted, and this passphrase does not open it")

func (b *backupFile) open(passphrase []byte) error {
	if b.Scrypt == nil {
		return nil
	}
	if len(passphrase) == 0 || len(b.Nonce) != 12 {
		return ErrPassphrase
	}
	box, err := b.Scrypt.box(passphrase)
	if err != nil {
		return err
	}
	plain, err := box.Open(nil, b.Nonce, b.Sealed, []byte(backupFormat))
	if err != nil {
		return ErrPassphrase
	}
	return json.Unmarshal(plain, &b.Files)
}

// Restore fills a profile that has no key from a backup. The key comes last:
// a profile that was restored in part has none, and can be restored again.
func (a *Agent) Restore(ctx context.Context, file string, passphrase []byte) (Status, error) {
	text, err := readFile(file)
	if err != nil {
		return Status{}, fmt.Errorf("read the backup: %w", err)
	}
	var b backupFile
	if json.Unmarshal(text, &b) != nil || b.Format != backupFormat {
		return Status{}, errors.New("the file is not a backup of a profile")
	}
	if err := b.open(passphrase); err != nil {
		return Status{}, err
	}
	if _, err := seal.ParsePrivateKey([]byte(b.Files[keyFile])); err != nil {
		return Status{}, errors.New("the backup holds no key")
	}
	if err := a.unpack(b.Files); err != nil {
		return Status{}, err
	}
	return a.Status(ctx)
}

func (a *Agent) unpack(files map[string]string) error {
	unlock, err := a.lock()
	if err != nil {
		return err
	}
	defer unlock()
	switch _, err := os.Lstat(filepath.Join(a.folder, keyFile)); {
	case err == nil:
		return fmt.Errorf("the profile %s has a key already; restore into another one: --profile NAME", a.profile)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var names []string
	for name := range files {
		if !profileFile.MatchString(name) {
			return errors.New("the backup holds a file that is not one of ours")
		}
		if name != keyFile {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range append(names, keyFile) {
		if err := a.replace(name, []byte(files[name])); err != nil {
			return err
		}
	}
	return nil
}
