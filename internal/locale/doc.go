// Package locale holds everything the pages say, in English and Russian: a
// typed catalogue of sentences, plural forms by the CLDR rules of
// golang.org/x/text, and dates.
//
// A sentence is a struct field, so a missing translation is caught by the
// test that walks both catalogues, and a misspelt one by the compiler. The
// package knows no page, no entry and no HTTP.
package locale
