// Each release has a file of its own: -modfile=1.2.2.mod.
module kubetape.test/kuberay

go 1.24.0
