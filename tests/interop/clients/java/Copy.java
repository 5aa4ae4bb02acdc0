import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.openapi.models.V1Pod;
import io.kubernetes.client.openapi.models.V1PodList;
import io.kubernetes.client.util.Config;
import io.kubernetes.client.util.generic.GenericKubernetesApi;
import java.util.Map;

/**
 * Copy BUG|mended NAME: keeps a ConfigMap for each pod, for ever, with an informer of the official Java client.
 *
 *     tombstone   the buggy one ignores deletions that it learns from a list, and leaks
 *     identity    notes the UID; the buggy one takes a pod of the same name for the same pod
 */
public class Copy implements ResourceEventHandler<V1Pod> {
	final GenericKubernetesApi<V1ConfigMap, V1ConfigMapList> maps;
	final boolean buggy;
	final String name;

	Copy(ApiClient client, boolean buggy, String name) {
		this.maps = new GenericKubernetesApi<>(V1ConfigMap.class, V1ConfigMapList.class, "", "v1", "configmaps", client);
		this.buggy = buggy;
		this.name = name;
	}

	void keep(V1Pod pod) {
		var meta = new V1ObjectMeta().namespace("default").name(pod.getMetadata().getName());
		var map = new V1ConfigMap().apiVersion("v1").kind("ConfigMap").metadata(meta);
		if (name.equals("identity"))
			map.data(Map.of("uid", pod.getMetadata().getUid()));
		if (maps.create(map).getHttpStatusCode() == 409)
			maps.update(map);
	}

	@Override
	public void onAdd(V1Pod pod) {
		keep(pod);
	}

	@Override
	public void onUpdate(V1Pod old, V1Pod pod) {
		if (name.equals("identity") && !buggy && !old.getMetadata().getUid().equals(pod.getMetadata().getUid()))
			keep(pod);
	}

	@Override
	public void onDelete(V1Pod pod, boolean unknown) {
		if (name.equals("tombstone") && unknown && buggy)
			return;
		maps.delete("default", pod.getMetadata().getName());
	}

	public static void main(String[] args) throws Exception {
		ApiClient client = Config.defaultClient();
		client.setReadTimeout(0);
		var factory = new SharedInformerFactory(client);
		var pods = new GenericKubernetesApi<>(V1Pod.class, V1PodList.class, "", "v1", "pods", client);
		factory.sharedIndexInformerFor(pods, V1Pod.class, 0)
			.addEventHandler(new Copy(client, !args[0].equals("mended"), args[1]));
		factory.startAllRegisteredInformers();
		Thread.currentThread().join();
	}
}
