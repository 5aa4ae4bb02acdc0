// Each release has a file of its own: -modfile=0.2.9.mod.
module kubetape.test/zookeeper

go 1.24.0
