// Package connect is the one executor: it carries a call of the catalog to the
// service it names, with a credential of the vault, and brings the answer back
// in a form that fits an assistant.
//
// A request is built from the service's own file and nothing else, so a call
// reaches no host, path or method that the file does not admit. A credential
// never leaves again: neither in a dry run, nor in an error, nor in an answer
// that repeats it. Only calls that may be repeated are repeated. Whatever comes
// back is bounded and stays valid JSON, and says what was left out.
//
// The package knows neither MCP nor HTTP servers nor SQL.
package connect
