// Controlplane is a whole Kubernetes control plane in one binary: kube-apiserver, kube-controller-manager,
// kube-scheduler, kubectl and etcd, each the unmodified program of its release. Which one runs is decided
// by the name it was started as (a symbolic link) or, failing that, by the first argument.
//
// One binary instead of five because they share nearly all of their code: it links once and is a quarter
// of the size.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func command(run func() *cobra.Command) func() int {
	return func() int { return cli.Run(run()) }
}

var programs = map[string]func() int{
	"kube-apiserver":          command(apiserver.NewAPIServerCommand),
	"kube-controller-manager": command(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          command(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubectl":                 command(kubectl.NewDefaultKubectlCommand),
	"etcd": func() int {
		etcdmain.Main(os.Args)
		return 0
	},
}

// choose finds the program to run and takes its name out of the arguments when it was the first of them.
func choose(args []string) (func() int, []string) {
	if run, ok := programs[filepath.Base(args[0])]; ok {
		return run, args
	}
	if len(args) > 1 {
		return programs[args[1]], args[1:]
	}
	return nil, args
}

func main() {
	run, args := choose(os.Args)
	if run == nil {
		fmt.Fprintln(os.Stderr, "usage: controlplane kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|etcd [ARGUMENT...]")
		os.Exit(2)
	}
	os.Args = args
	os.Exit(run())
}
