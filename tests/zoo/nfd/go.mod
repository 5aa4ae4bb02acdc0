// Each release has a file of its own: -modfile=0.18.3.mod.
module kubetape.test/nfd

go 1.26
