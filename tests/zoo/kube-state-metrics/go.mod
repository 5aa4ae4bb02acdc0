// The release has a file of its own: -modfile=2.15.0.mod.
module kubetape.test/kube-state-metrics

go 1.26.0
