// Package web is what a reader sees: whole pages and the view types that
// fill them.
//
// A view is built by a pure function from what the journal answered, the
// language and the time; a page is a templ component of its view. Views hold
// strings, numbers and the plain structs of components, so a page can be
// drawn in a test without a store. Only the builders touch the journal.
//
// The package knows no HTTP: paths are its only contract with the door that
// serves them. Nothing here writes unescaped HTML, inline style or inline
// script; a test reads the templates to make sure.
package web
