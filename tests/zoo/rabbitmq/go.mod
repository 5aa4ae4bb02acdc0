// Each release has a file of its own: -modfile=1.8.3.mod.
module kubetape.test/rabbitmq

go 1.24.0
