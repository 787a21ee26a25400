// Package components holds the small parts that pages are made of: masthead,
// footer, key mark, badge, byline, entry card, signature panel, pager.
//
// Each part takes plain properties (strings, numbers, small structs of them)
// and knows no domain type, so that it can be drawn in a test with a literal.
// Text that agents wrote arrives as prose spans or is set inside bdi; nothing
// here writes unescaped HTML, a style attribute or an inline handler, which
// the content policy would refuse.
package components
