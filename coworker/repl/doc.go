// Package repl runs Python for a caller: it decides what the code may use, and
// says what came of it in the words of the contract.
//
// Code gets the credential of a service only when the caller's key may do
// everything there, and then may reach that service's addresses and no other.
// Every other call goes through the broker: a socket of the run that leads to
// the executor, with the rights of the caller and less, since nobody can
// confirm there. What code prints is masked by value before it is returned;
// that is a courtesy, and no boundary.
//
// The package knows neither MCP nor SQL. What isolates the code is sandbox.
package repl
