package cell

const (
	sysSeccomp   = 317
	sysPrlimit64 = 302
)
