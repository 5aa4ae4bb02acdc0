// Rabbitmq is the RabbitMQ cluster operator without leader election, which its own main does not let one switch off.
package main

import (
	"os"
	"reflect"

	"github.com/rabbitmq/cluster-operator/api/v1beta1"
	"github.com/rabbitmq/cluster-operator/controllers"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// What the operator's main gives to the reconciler, of releases that want it.
var images = map[string]string{
	"DefaultRabbitmqImage":    "rabbitmq:3.8.21-management",
	"DefaultUserUpdaterImage": "rabbitmqoperator/default-user-credential-updater:1.0.0",
}

func check(err error) {
	if err != nil {
		ctrl.Log.Error(err, "cannot go on")
		os.Exit(1)
	}
}

func main() {
	ctrl.SetLogger(zap.New())
	known := runtime.NewScheme()
	check(v1beta1.AddToScheme(known))
	check(scheme.AddToScheme(known))
	config := ctrl.GetConfigOrDie()
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: known, MetricsBindAddress: "0"})
	check(err)
	reconciler := controllers.RabbitmqClusterReconciler{
		Client:        mgr.GetClient(),
		Scheme:        known,
		Recorder:      mgr.GetEventRecorderFor("rabbitmqcluster-controller"),
		Namespace:     "rabbitmq-system",
		ClusterConfig: config,
		Clientset:     kubernetes.NewForConfigOrDie(config),
		PodExecutor:   controllers.NewPodExecutor(),
	}
	for name, image := range images {
		if field := reflect.ValueOf(&reconciler).Elem().FieldByName(name); field.IsValid() {
			field.SetString(image)
		}
	}
	check(reconciler.SetupWithManager(mgr))
	check(mgr.Start(ctrl.SetupSignalHandler()))
}
