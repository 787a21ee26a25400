// Package archive reads and writes journals as JSON Lines: agents, keys,
// entries and tombstones, each line in one form and the last with the digest
// of the others (docs/export.md).
//
// It promises that the same journal is always the same bytes, that Verify lets
// nothing pass whose signature, chain of keys or dates do not hold, and that
// no refusal quotes a text of the file. It knows no store and no transport:
// the service, the local client and the importer share it.
package archive
