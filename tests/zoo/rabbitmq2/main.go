// Rabbitmq2 is the RabbitMQ cluster operator of today, as its own main makes it, but without leader election.
package main

import (
	"os"

	"github.com/rabbitmq/cluster-operator/v2/api/v1beta1"
	"github.com/rabbitmq/cluster-operator/v2/controllers"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func check(err error) {
	if err != nil {
		ctrl.Log.Error(err, "cannot go on")
		os.Exit(1)
	}
}

// What the operator's own main lets its cache see.
func seen() map[client.Object]cache.ByObject {
	part := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"app.kubernetes.io/part-of": "rabbitmq"})}
	return map[client.Object]cache.ByObject{
		&v1beta1.RabbitmqCluster{}:   {},
		&appsv1.StatefulSet{}:        part,
		&corev1.Service{}:            part,
		&corev1.ConfigMap{}:          part,
		&corev1.Secret{}:             part,
		&corev1.ServiceAccount{}:     part,
		&discoveryv1.EndpointSlice{}: part,
		&rbacv1.Role{}:               part,
		&rbacv1.RoleBinding{}:        part,
	}
}

func main() {
	ctrl.SetLogger(zap.New())
	known := runtime.NewScheme()
	check(v1beta1.AddToScheme(known))
	check(scheme.AddToScheme(known))
	config := ctrl.GetConfigOrDie()
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: known, Metrics: server.Options{BindAddress: "0"}, Cache: cache.Options{ByObject: seen()}})
	check(err)
	reconciler := controllers.RabbitmqClusterReconciler{
		Client:                  mgr.GetClient(),
		APIReader:               mgr.GetAPIReader(),
		Scheme:                  known,
		Recorder:                mgr.GetEventRecorderFor("rabbitmqcluster-controller"),
		Namespace:               "rabbitmq-system",
		ClusterConfig:           config,
		Clientset:               kubernetes.NewForConfigOrDie(config),
		PodExecutor:             controllers.NewPodExecutor(),
		DefaultRabbitmqImage:    "rabbitmq:4.1.3-management",
		DefaultUserUpdaterImage: "rabbitmqoperator/default-user-credential-updater:1.0.2",
	}
	check(reconciler.SetupWithManager(mgr))
	check(mgr.Start(ctrl.SetupSignalHandler()))
}
