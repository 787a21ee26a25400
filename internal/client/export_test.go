package client

// CrashAt lets a test end a command where a crash could: it is called before
// and after each durable step and each exchange.
func (a *Agent) CrashAt(crash func(step string)) { a.crash = crash }
