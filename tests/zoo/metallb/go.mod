// Each release has a file of its own: -modfile=0.13.12.mod.
module kubetape.test/metallb

go 1.24.0
