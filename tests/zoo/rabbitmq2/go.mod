// Each release has a file of its own: -modfile=2.19.0.mod.
module kubetape.test/rabbitmq2

go 1.26.0
