// Each release has a file of its own: -modfile=1.21.2.mod.
module kubetape.test/certificates

go 1.26.0
