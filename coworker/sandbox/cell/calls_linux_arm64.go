package cell

const (
	sysMemfdCreate = 279
	sysSeccomp     = 277
	sysPrlimit64   = 261
)
