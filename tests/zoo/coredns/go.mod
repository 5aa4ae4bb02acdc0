// Each release has a file of its own: -modfile=1.12.0.mod.
module kubetape.test/coredns

go 1.24.0
