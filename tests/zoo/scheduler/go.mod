// Each release has a file of its own: -modfile=1.18.6.mod.
module kubetape.test/scheduler

go 1.24.0
