package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"innerloop/seal"
)

// The files of a profile.
const (
	keyFile          = "key.pem"
	nextKeyFile      = "next-key.pem"      // made for a rotation that is not certain yet
	recoveredKeyFile = "recovered-key.pem" // the same for a recovery
	identityFile     = "agent.json"
	registrationFile = "pending-registration.json"
	entryFile        = "pending-entry.json"
	lockFile         = "lock"
)

// maxStateFile is far more than any of our files holds.
const maxStateFile = 2 << 20

// identity is what the profile knows of its agent; the first part without any
// service.
type identity struct {
	API          string    `json:"api,omitempty"`
	AgentID      string    `json:"agent_id,omitempty"`
	KeyID        string    `json:"key_id,omitempty"`
	DisplayName  string    `json:"display_name,omitempty"`
	RegisteredAt time.Time `json:"registered_at,omitzero"`
}

// A saved request is what is sent again until its fate is known.
type saved struct {
	API            string    `json:"api"`
	Path           string    `json:"path"`
	Body           []byte    `json:"body"` // exactly as sent
	IdempotencyKey string    `json:"idempotency_key,omitempty"`
	SavedAt        time.Time `json:"saved_at"`
	DisplayName    string    `json:"display_name,omitempty"` // of a registration
	PayloadHash    string    `json:"payload_hash,omitempty"` // of an entry
	Title          string    `json:"title,omitempty"`
	Visibility     string    `json:"visibility,omitempty"`
	ActorID        string    `json:"actor_id,omitempty"`

	// Of an owner mutation.
	KeyID    string             `json:"key_id,omitempty"`     // signs
	Intent   string             `json:"intent,omitempty"`     // what was asked
	Payload  map[string]*string `json:"payload,omitempty"`    // its strings and nulls
	NewKeyID string             `json:"new_key_id,omitempty"` // that a success makes active
	Target   string             `json:"target,omitempty"`     // profile that the new key is for
	Refused  string             `json:"refused,omitempty"`    // code of the last certain refusal
}

// lock makes the profile's folder and takes it for this process.
func (a *Agent) lock() (unlock func(), err error) {
	if err := os.MkdirAll(a.folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the profile's folder: %w", err)
	}
	if err := a.checkFolder(); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(a.folder, lockFile), flock.SetPermissions(0o600))
	switch taken, err := l.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock the profile: %w", err)
	case !taken:
		return nil, fmt.Errorf("another command is using the profile %s; wait for it to end", a.profile)
	}
	return func() { _ = l.Unlock() }, nil
}

func (a *Agent) checkFolder() error {
	info, err := os.Stat(a.folder)
	if err != nil {
		return fmt.Errorf("look at the profile's folder: %w", err)
	}
	if exposed(info) {
		return fmt.Errorf("the folder %s can be used by others; make it yours alone: chmod 700 %s", a.folder, a.folder)
	}
	return nil
}

// exposed tells whether anyone but the owner has a right to it. Windows keeps
// its rights elsewhere, and a home folder there is its user's own.
func exposed(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// key reads the private key; fs.ErrNotExist when there is none.
func (a *Agent) key() (seal.PrivateKey, error) { return readKey(filepath.Join(a.folder, keyFile)) }

func readKey(name string) (seal.PrivateKey, error) {
	info, err := os.Stat(name)
	if err != nil {
		return seal.PrivateKey{}, err
	}
	if exposed(info) {
		return seal.PrivateKey{}, fmt.Errorf("the key file %s can be read by others; make it yours alone: chmod 600 %s. If others may have read it, use a new profile", name, name)
	}
	text, err := readFile(name)
	if err != nil {
		return seal.PrivateKey{}, err
	}
	key, err := seal.ParsePrivateKey(text)
	if err != nil {
		return seal.PrivateKey{}, fmt.Errorf("the key file %s does not hold an Ed25519 key in PKCS#8 PEM", name)
	}
	return key, nil
}

// read fills into from a file of the profile and tells whether there is one.
func (a *Agent) read(name string, into any) (bool, error) {
	text, err := readFile(filepath.Join(a.folder, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	if json.Unmarshal(text, into) != nil {
		return false, fmt.Errorf("the file %s is damaged; move it away to start anew", filepath.Join(a.folder, name))
	}
	return true, nil
}

func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxStateFile {
		return nil, fmt.Errorf("%s is not a file of ours", name)
	}
	return os.ReadFile(name)
}

func (a *Agent) save(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return a.replace(name, append(text, '\n'))
}

// replace puts text under name whole or not at all, readable by the owner
// alone, and returns when it is on disk.
func (a *Agent) replace(name string, text []byte) error {
	a.step("save " + name)
	if err := replaceFile(a.folder, name, text, func() { a.step("rename " + name) }); err != nil {
		return err
	}
	a.step("saved " + name)
	return a.sync()
}

func replaceFile(folder, name string, text []byte, written func()) error {
	aside, err := os.CreateTemp(folder, "."+name+".*") // 0600 and O_EXCL
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	_, err = aside.Write(text)
	err = errors.Join(err, aside.Sync(), aside.Close())
	if err == nil {
		written()
		err = os.Rename(aside.Name(), filepath.Join(folder, name))
	}
	if err != nil {
		_ = os.Remove(aside.Name())
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

// move gives a file another name, over what has it.
func (a *Agent) move(from, to string) error {
	a.step("move " + from)
	if err := os.Rename(filepath.Join(a.folder, from), filepath.Join(a.folder, to)); err != nil {
		return fmt.Errorf("move %s: %w", from, err)
	}
	a.step("moved " + from)
	return a.sync()
}

// drop removes a saved request whose fate is known.
func (a *Agent) drop(name string) error {
	a.step("drop " + name)
	if err := os.Remove(filepath.Join(a.folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return a.sync()
}

// step is where a test ends the command as a crash would.
func (a *Agent) step(name string) {
	if a.crash != nil {
		a.crash(name)
	}
}

// sync puts changed names on disk, where the system can do that for folders.
func (a *Agent) sync() error {
	folder, err := os.Open(a.folder)
	if err != nil {
		return err
	}
	_ = folder.Sync()
	return folder.Close()
}
