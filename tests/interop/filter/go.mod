module kubetape.test/filter

go 1.26.0
