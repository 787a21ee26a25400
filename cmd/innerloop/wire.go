package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/coworker/memory"
	"innerloop/coworker/repl"
	"innerloop/coworker/sandbox"
	"innerloop/coworker/vault"
	"innerloop/internal/egress"
	"innerloop/internal/keyring"
	"innerloop/journal"
	"innerloop/models"
)

// A house is an open store with the journal on top.
type house struct {
	store   *models.Store
	keys    *keyring.Ring
	journal *journal.Journal
	webhook *webhook           // of a serving house
	toolbox *coworker.Coworker // while it serves
	python  *repl.REPL         // as well
	cells   *sandbox.Sandbox   // nil when switched off
	ways    egress.Services    // to services
	madeKey string             // file of the master key, when this start made it
}

// connectStore opens the store as it is. The caller closes it.
func connectStore(ctx context.Context, c Config, log *slog.Logger) (*models.Store, error) {
	if path, embedded := strings.CutPrefix(c.DatabaseURL, "sqlite:"); embedded {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("make the data folder: %w", err)
		}
	}
	store, err := models.Open(ctx, models.Options{URL: c.DatabaseURL, DirectURL: c.DirectURL, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("open the database given by %s: %w", c.DatabaseFrom, err)
	}
	return store, nil
}

// openStore connects to a store whose schema is the one this program knows,
// after a migration when that is asked for.
func openStore(ctx context.Context, c Config, log *slog.Logger, migrate bool) (*models.Store, error) {
	store, err := connectStore(ctx, c, log)
	if err != nil {
		return nil, err
	}
	if migrate {
		err = store.Migrate(ctx)
	} else if err = store.Migrated(ctx); errors.Is(err, models.ErrNotMigrated) {
		err = errors.New("the database schema is older than this program; run: innerloop migrate")
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// openHouse opens the store, ties it to the master key, and joins the journal
// to it.
func openHouse(ctx context.Context, c Config, log *slog.Logger, migrate bool, now func() time.Time) (*house, error) {
	keys, made, err := openRing(c)
	if err != nil {
		return nil, err
	}
	store, err := openStore(ctx, c, log, migrate)
	if err != nil {
		return nil, err
	}
	h := &house{store: store, keys: keys, madeKey: made}
	if err := h.bind(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	h.journal, err = journal.New(journal.Options{
		Store: store, Now: now, Random: rand.Reader, Keys: keys, Language: newDetector().Language,
		Limits: c.Limits,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return h, nil
}

// bind refuses a store that another master key made: cursors and receipts in
// it could not be checked, and retries would publish twice.
func (h *house) bind(ctx context.Context) error {
	err := h.store.BindMasterKey(ctx, h.keys.Fingerprint(), h.keys.Previous()...)
	if err == nil {
		return h.opens(ctx)
	}
	if !errors.Is(err, models.ErrMasterKey) {
		return err
	}
	if h.madeKey != "" {
		// The key made a moment ago belongs to nothing; the next start must
		// not find it and say less than this one.
		return errors.Join(fmt.Errorf("the database belongs to a master key that is missing: put the old file back at %s, or set INNERLOOP_MASTER_KEY or INNERLOOP_MASTER_KEY_FILE", h.madeKey), os.Remove(h.madeKey))
	}
	return errors.New("the database belongs to another master key; start with the one it was made with")
}

// opens refuses a vault whose keys are wrapped under a master key that is not
// given: calls with credentials would fail one by one.
func (h *house) opens(ctx context.Context) error {
	ids, err := h.store.MasterKeys(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ids, func(id string) bool { return !h.keys.Holds(id) }) {
		return errors.New("the vault still needs an earlier master key: give it as INNERLOOP_PREVIOUS_MASTER_KEY or INNERLOOP_PREVIOUS_MASTER_KEY_FILE and run innerloop masterkey rotate")
	}
	return nil
}

// coworker makes the organisation's toolbox on the house's store. info is the
// address of its info document, or empty.
func (h *house) coworker(c Config, info string, log *slog.Logger) (*coworker.Coworker, error) {
	return coworker.New(coworker.Options{
		Store: h.store.Coworker(), Now: time.Now, Random: rand.Reader, Logger: log, InfoURL: info, Unlimited: c.Limits == nil,
	})
}

// memory opens the files of users.
func (h *house) memory(tools *coworker.Coworker) (*memory.Memory, error) {
	cursors, err := h.keys.For("memory cursor")
	if err != nil {
		return nil, err
	}
	return memory.New(memory.Options{Store: h.store.Coworker(), Coworker: tools, Cursors: cursors})
}

// connections opens the vault and what calls services with what is in it. What
// is no text goes to files, unless that is nil.
func (h *house) connections(services *catalog.Catalog, tools *coworker.Coworker, files connect.Files) (*connect.Keeper, *connect.Engine, error) {
	master, err := h.keys.For(vault.Purpose)
	if err != nil {
		return nil, nil, err
	}
	cursors, err := h.keys.For("connector cursor")
	if err != nil {
		return nil, nil, err
	}
	safe, err := vault.New(master, rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	keeper := connect.NewKeeper(h.store.Coworker(), safe, services, tools)
	engine, err := connect.New(connect.Options{
		Catalog: services, Book: keeper, Cursors: cursors, Now: time.Now, Files: files,
		Clients: func(networks []netip.Prefix, own string) connect.Doer { return h.ways.For(networks, own) },
	})
	return keeper, engine, err
}

// loadCatalog reads the services that are built in and those that the operator
// keeps in the folder connectors of the data folder, which go before.
func loadCatalog(c Config) (*catalog.Catalog, error) {
	folder := filepath.Join(c.DataDir, "connectors")
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return catalog.Load()
	case err != nil:
		return nil, fmt.Errorf("read the operator's connectors: %w", err)
	case !info.IsDir():
		return nil, errors.New("read the operator's connectors: connectors in the data folder is not a folder")
	}
	return catalog.Load(os.DirFS(folder))
}

func (h *house) Close() error {
	if h.cells != nil {
		h.cells.Close()
	}
	return h.store.Close()
}

// newLog writes to w in the form that the settings ask for.
func newLog(w io.Writer, c Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.Log == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
