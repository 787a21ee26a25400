package sandbox

import (
	"errors"
	"io/fs"
	"os"
)

// removeHome removes a home whose owner may have shut folders of it, or itself,
// against a server that runs as the same user.
func removeHome(name string) error {
	err := os.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := os.Chmod(name, 0o700); err != nil {
		return err
	}
	home, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	if err := errors.Join(openUp(home), home.Close()); err != nil {
		return err
	}
	return os.RemoveAll(name)
}

// openUp makes every folder of a home one that its owner may enter.
func openUp(home *os.Root) error {
	return fs.WalkDir(home.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil && d != nil && d.IsDir() && errors.Is(err, fs.ErrPermission) {
			if err := home.Chmod(name, 0o700); err != nil {
				return err
			}
			sub, err := home.OpenRoot(name)
			if err != nil {
				return err
			}
			return errors.Join(openUp(sub), sub.Close())
		}
		return nil
	})
}
