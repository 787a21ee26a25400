//go:build unix

package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Variable names a running server to use instead of a private cluster. Its
// user must be allowed to create databases.
const Variable = "INNERLOOP_TEST_POSTGRES_URL"

// shared starts the cluster once in a test binary. It holds no setting.
var shared = sync.OnceValues(server)

func server() (string, error) {
	if given := os.Getenv(Variable); given != "" {
		return given, nil
	}
	return startCluster()
}

// Database returns the postgres:// address of a new empty database, which is
// dropped when the test ends. It fails the test when there is no PostgreSQL.
//
// In the private cluster commits are not waited for; a benchmark adds
// "&synchronous_commit=on" to the address.
func Database(t testing.TB) string {
	t.Helper()
	root, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	name := "innerloop_test_" + hex.EncodeToString(random[:])
	if err := execute(context.Background(), root, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("make a test database: %v", err)
	}
	t.Cleanup(func() {
		if err := execute(context.Background(), root, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop a test database: %v", err)
		}
	})
	address, err := url.Parse(root)
	if err != nil {
		t.Fatalf("%s is not an address", Variable)
	}
	address.Path = "/" + name
	return address.String()
}

func execute(ctx context.Context, address, statement string) error {
	db, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	_, err = db.Exec(ctx, statement)
	if closing := db.Close(ctx); err == nil {
		err = closing
	}
	return err
}

// ownedBy checks that the server at address works in folder, before anything
// is created there.
func ownedBy(ctx context.Context, address, folder string) error {
	db, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	var actual string
	err = db.QueryRow(ctx, "SHOW data_directory").Scan(&actual)
	if closing := db.Close(ctx); err == nil {
		err = closing
	}
	if err == nil && actual != folder {
		err = fmt.Errorf("the server works in another folder than the one made for it")
	}
	return err
}
