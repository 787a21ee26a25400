package cell

const (
	sysSeccomp   = 277
	sysPrlimit64 = 261
)
