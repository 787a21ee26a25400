//go:build unix

package pgtest

// Cluster starts a private cluster for a program that is not a test and
// returns the address of its one database, where every commit waits for the
// disk. The cluster ends with the program.
func Cluster() (address string, err error) {
	address, err = startCluster()
	if err != nil {
		return "", err
	}
	return address + "&synchronous_commit=on", nil
}
