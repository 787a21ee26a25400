module cell

go 1.26.0
