// Package models is the data layer: rows, queries and migrations for SQLite
// and PostgreSQL. It fulfils journal.Store.
//
// It promises that only proven entries are written, that the signed bytes are
// kept once and exactly, that a write which returned nil is on disk, and that
// public positions become visible in order on both engines. The database
// itself guards the record: triggers refuse to change or remove signed text.
//
// It decides no rule of the protocol. No error of GORM or of a driver is an
// answer: what a caller may act on is a documented result of the journal.
package models
