package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"innerloop/coworker/skills"
	"innerloop/handlers"
	"innerloop/internal/discovery"
	"innerloop/mcp"
	"innerloop/models"
)

// drainLimit is how long running requests may take to finish after a signal;
// with the closing of the store it stays under 20 seconds.
const drainLimit = 18 * time.Second

func newServe(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Serve pages, REST, MCP and A2A (the default command)", Args: noArguments,
		Long: `Migrates the database unless told not to, serves, and on SIGTERM or Ctrl-C lets
running requests finish within 20 seconds.`,
	}
	declareSettings(c.Flags())
	noMigrate := c.Flags().Bool("no-migrate", false, "leave the schema alone; refuse to start when it is not current")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		return serve(cmd.Context(), config, s, !*noMigrate)
	}
	return c
}

func serve(ctx context.Context, c Config, s surroundings, migrate bool) (err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	defer func() { _ = listener.Close() }() // the server closes it first
	// The first line of the log names the address and is true: what is said
	// while the store opens waits for it.
	later := &held{to: s.err}
	defer later.release()
	log := newLog(later, c)
	h, err := openHouse(ctx, c, log, migrate, time.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	address := originOf(listener.Addr())
	server, origins, err := h.server(ctx, c, address, log)
	if err != nil {
		return err
	}
	always := c
	always.LogLevel = slog.LevelInfo
	newLog(s.err, always).Info("listening on " + address)
	later.release()
	for _, warning := range c.Warnings {
		log.Warn(warning)
	}
	log.Info("database open", "engine", h.store.Engine(), "given by", c.DatabaseFrom)
	if h.madeKey != "" {
		log.Info("made a master key; keep a copy of it apart from the database", "file", h.madeKey)
	}
	log.Info("feed at " + origins.Web + "/")
	log.Info("MCP endpoint at " + origins.MCP())
	tellSandbox(log, c, h.python.Facts())
	if s.ready != nil {
		s.ready(address)
	}
	working, stop := context.WithCancel(ctx)
	var chores sync.WaitGroup
	chores.Go(func() { doChores(working, log, h.journal.Chores, h.toolbox.Chores, h.python.Chores) })
	chores.Go(func() { endSessions(working, h.python) })
	chores.Go(func() { buildIndex(working, h.journal, log) })
	chores.Go(func() { tellHub(working, server) })
	chores.Go(func() { h.webhook.run(working) })
	defer chores.Wait() // before the store is closed
	defer stop()
	return serveUntil(ctx, server, listener, log)
}

// server joins the doors to the journal.
func (h *house) server(ctx context.Context, c Config, address string, log *slog.Logger) (*handlers.Server, discovery.Origins, error) {
	origins := discovery.Origins{Web: or(c.PublicURL, address)}
	origins.API, origins.Gateway = or(c.APIURL, origins.Web), or(c.GatewayURL, origins.Web)
	var err error
	if h.toolbox, err = h.coworker(c, origins.Info(), log); err != nil {
		return nil, origins, err
	}
	// Both take most of a start, and neither needs the other.
	tried := make(chan error, 1)
	go func() { tried <- h.openSandbox(ctx, c, log) }()
	services, err := loadCatalog(c)
	if err := errors.Join(err, <-tried); err != nil {
		return nil, origins, err
	}
	files, err := h.memory(h.toolbox)
	if err != nil {
		return nil, origins, err
	}
	keeper, engine, err := h.connections(services, h.toolbox, files)
	if err != nil {
		return nil, origins, err
	}
	shelf := skills.New(h.store.Coworker(), h.toolbox, services)
	if h.python, err = h.repl(engine, keeper, files, shelf, log); err != nil {
		return nil, origins, err
	}
	tools, err := mcp.New(mcp.Options{Journal: h.journal, Coworker: h.toolbox, Catalog: services, Engine: engine, Keeper: keeper, Memory: files, Skills: shelf, REPL: h.python, Origins: origins, ServerName: c.ServerName, Version: build(), Logger: log})
	if err != nil {
		return nil, origins, err
	}
	documents, err := discovery.Documents(origins)
	if err != nil {
		return nil, origins, err
	}
	h.webhook = newWebhook(c, log)
	server, err := handlers.New(handlers.Options{
		Coworker: h.toolbox, Memory: files, Skills: shelf, Keeper: keeper, Engine: engine, ServerName: c.ServerName,
		Journal: h.journal, Tools: tools, Documents: documents, Origins: origins, AllowedOrigins: c.AllowedOrigins, Ready: h.ready,
		Sandbox: sandboxHealth(c, h.python.Facts().Status), SecurityContact: c.SecurityContact, Training: c.Training, Hub: hub(c), Reported: h.webhook.tell, Limits: c.Limits, TrustedProxies: c.TrustedProxies,
		Logger: log, Now: time.Now, Random: rand.Reader, Build: build() + " " + commit,
	})
	return server, origins, err
}

func or(text, fallback string) string {
	if text != "" {
		return text
	}
	return fallback
}

// ready tells whether the store answers and has the tables we need. A newer
// schema is no reason to leave: a newer process beside us made it while we
// serve.
func (h *house) ready(ctx context.Context) error {
	if err := h.store.Ping(ctx); err != nil {
		return err
	}
	if err := h.store.Migrated(ctx); !errors.Is(err, models.ErrNewerSchema) {
		return err
	}
	return nil
}

// serveUntil answers until ctx ends, then lets running requests finish.
func serveUntil(ctx context.Context, server *handlers.Server, listener net.Listener, log *slog.Logger) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("draining")
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
	defer cancel()
	if err := server.Shutdown(draining); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	log.Info("stopped")
	return nil
}

// originOf is how this machine reaches the listener. A listener on every
// address is named by loopback: links then need --public-url to be of use.
func originOf(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return "http://" + address.String()
	}
	ip := tcp.IP
	if ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
	}
	return "http://" + (&net.TCPAddr{IP: ip, Port: tcp.Port, Zone: tcp.Zone}).String()
}

// held keeps what is written until it is released.
type held struct {
	mu   sync.Mutex
	to   io.Writer
	kept []byte
	open bool
}

// Write keeps p, or passes it on.
func (h *held) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open {
		return h.to.Write(p)
	}
	h.kept = append(h.kept, p...)
	return len(p), nil
}

func (h *held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = true
	_, _ = h.to.Write(h.kept) // as for every line of a log
	h.kept = nil
}
