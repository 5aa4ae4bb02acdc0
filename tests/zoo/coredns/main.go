// Coredns is CoreDNS with the plugin kubernetes and little else. It serves on 127.0.0.2, at the port that the API server of
// its kubeconfig has, so that several can run side by side. Releases before 1.8 want the kubeconfig's context named.
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

type config struct {
	CurrentContext string `json:"current-context"`
	Clusters       []struct{ Cluster struct{ Server string } }
}

func read(kubeconfig string) (c config) {
	text, err := os.ReadFile(kubeconfig)
	check(err)
	check(json.Unmarshal(text, &c))
	return c
}

func main() {
	c := read(os.Getenv("KUBECONFIG"))
	server, err := url.Parse(c.Clusters[0].Cluster.Server)
	check(err)
	dnsserver.Directives = []string{"bind", "errors", "kubernetes"}
	os.Setenv("DNS_PORT", server.Port())
	os.Setenv("CONTEXT", c.CurrentContext)
	coremain.Run()
}
