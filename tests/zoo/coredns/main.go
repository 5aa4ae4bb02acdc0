// Coredns is CoreDNS with the plugin kubernetes and little else. It serves on 127.0.0.2, at the port that the API server of
// its kubeconfig has, so that several can run side by side.
package main

import (
	"encoding/json"
	"log"
	"net/url"
	"os"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func portOfServer(kubeconfig string) string {
	var config struct {
		Clusters []struct{ Cluster struct{ Server string } }
	}
	text, err := os.ReadFile(kubeconfig)
	check(err)
	check(json.Unmarshal(text, &config))
	server, err := url.Parse(config.Clusters[0].Cluster.Server)
	check(err)
	return server.Port()
}

func main() {
	dnsserver.Directives = []string{"bind", "errors", "kubernetes"}
	os.Setenv("DNS_PORT", portOfServer(os.Getenv("KUBECONFIG")))
	coremain.Run()
}
