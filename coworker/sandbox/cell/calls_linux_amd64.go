package cell

const (
	sysMemfdCreate = 319
	sysSeccomp     = 317
	sysPrlimit64   = 302
)
