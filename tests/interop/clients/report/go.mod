module kubetape.test/report

go 1.26
