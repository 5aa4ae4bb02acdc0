// An informer of pods with the official JavaScript client, which is cut off. Ends at the pod `last`, or when there is
// nothing left to do.
//
//	cut.js [again]      again: starts it again behind the first error
import * as k8s from "@kubernetes/client-node";

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const informer = k8s.makeInformer(config, "/api/v1/pods", () => core.listPodForAllNamespaces());
let again = process.argv[2] === "again";

for (const word of ["add", "update", "delete"]) {
	informer.on(word, (pod) => {
		console.log(word, pod.metadata.name);
		if (pod.metadata.name === "last") {
			process.exit(0);
		}
	});
}
informer.on("error", () => {
	console.log("error");
	if (again) {
		again = false;
		informer.start();
	}
});
informer.start();
