// Zookeeper is the ZooKeeper operator without its own leader election and its server of metrics.
package main

import (
	"os"

	"github.com/pravega/zookeeper-operator/pkg/apis"
	"github.com/pravega/zookeeper-operator/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
)

func check(err error) {
	if err != nil {
		log.Log.Error(err, "cannot go on")
		os.Exit(1)
	}
}

func main() {
	log.SetLogger(zap.New())
	mgr, err := manager.New(config.GetConfigOrDie(), manager.Options{MetricsBindAddress: "0"})
	check(err)
	check(apis.AddToScheme(mgr.GetScheme()))
	check(controller.AddToManager(mgr))
	check(mgr.Start(signals.SetupSignalHandler()))
}
