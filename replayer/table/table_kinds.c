/*
 * table_kinds.c: the columns of built-in kinds; see table_columns.h.
 *
 * To add a column: a row, in the API server's order; its cell is written by one of the functions of table_writers.h,
 * or by a new one there. To add a kind: its rows, and the kind in the table at the end. A test holds names, types
 * and order against table_headings.c, which has what the API server of one release prints: for a newer one, make
 * that file anew (tools/kinds/main.go has the command) and the test names what is missing here.
 */
#include "replayer/table/table_columns.h"
#include "replayer/table/table_pod.h"
#include "replayer/table/table_writers.h"
#include "schema/base/count_of.h"

/* A line for each column. */
/* clang-format off */
#define COLUMN(heading, of, writer, ...)    {.name = heading, .type = of, .write = writer, __VA_ARGS__}
#define CELL(heading, writer, x, y)         COLUMN(heading, "string", writer, .a = x, .b = y)
#define WIDE(heading, writer, x, y)         COLUMN(heading, "string", writer, .a = x, .b = y, .priority = 1)
#define TEXT(heading, path, otherwise)      CELL(heading, cell_text, path, otherwise)
#define WIDE_TEXT(heading, path, otherwise) WIDE(heading, cell_text, path, otherwise)
#define NUMBER(heading, path)               COLUMN(heading, "integer", cell_number, .a = path)
#define MEMBERS(heading, path)              COLUMN(heading, "integer", cell_members, .a = path)
#define BOOLEAN(heading, path)              COLUMN(heading, "boolean", cell_boolean, .a = path)

#define NAME COLUMN("Name", "string", cell_text, .a = "metadata.name", .b = "", .format = "name")
#define AGE  COLUMN("Age", "string", cell_age, .a = "metadata.creationTimestamp")
#define END  {.name = NULL}
#define POD_TEMPLATE(path) \
	WIDE("Containers", cell_list_of, path, "name"), WIDE("Images", cell_list_of, path, "image")

#define TEMPLATE_CONTAINERS "spec.template.spec.containers"

const struct table_column table_plain_columns[] = {
	NAME,
	COLUMN("Created At", "date", cell_text, .a = "metadata.creationTimestamp", .b = "0001-01-01T00:00:00Z"),
	END
};
static const struct table_column aged[] = {
	NAME,
	AGE,
	END
};
static const struct table_column pods[] = {
	NAME,
	CELL("Ready", pod_cell_ready, NULL, NULL),
	CELL("Status", pod_cell_status, NULL, NULL),
	CELL("Restarts", pod_cell_restarts, NULL, NULL),
	AGE,
	WIDE("IP", pod_cell_ip, NULL, NULL),
	WIDE_TEXT("Node", "spec.nodeName", "<none>"),
	WIDE_TEXT("Nominated Node", "status.nominatedNodeName", "<none>"),
	WIDE("Readiness Gates", pod_cell_gates, NULL, NULL),
	END
};
static const struct table_column deployments[] = {
	NAME,
	CELL("Ready", cell_ratio, "status.readyReplicas", "spec.replicas"),
	CELL("Up-to-date", cell_number, "status.updatedReplicas", NULL),
	CELL("Available", cell_number, "status.availableReplicas", NULL),
	AGE,
	POD_TEMPLATE(TEMPLATE_CONTAINERS),
	WIDE("Selector", cell_selector, "spec.selector", ""),
	END
};
static const struct table_column replica_sets[] = {
	NAME,
	NUMBER("Desired", "spec.replicas"),
	NUMBER("Current", "status.replicas"),
	NUMBER("Ready", "status.readyReplicas"),
	AGE,
	POD_TEMPLATE(TEMPLATE_CONTAINERS),
	WIDE("Selector", cell_selector, "spec.selector", "<none>"),
	END
};
static const struct table_column replication_controllers[] = {
	NAME,
	NUMBER("Desired", "spec.replicas"),
	NUMBER("Current", "status.replicas"),
	NUMBER("Ready", "status.readyReplicas"),
	AGE,
	POD_TEMPLATE(TEMPLATE_CONTAINERS),
	WIDE("Selector", cell_labels, "spec.selector", NULL),
	END
};
static const struct table_column daemon_sets[] = {
	NAME,
	NUMBER("Desired", "status.desiredNumberScheduled"),
	NUMBER("Current", "status.currentNumberScheduled"),
	NUMBER("Ready", "status.numberReady"),
	NUMBER("Up-to-date", "status.updatedNumberScheduled"),
	NUMBER("Available", "status.numberAvailable"),
	CELL("Node Selector", cell_labels, "spec.template.spec.nodeSelector", NULL),
	AGE,
	POD_TEMPLATE(TEMPLATE_CONTAINERS),
	WIDE("Selector", cell_selector, "spec.selector", "<none>"),
	END
};
static const struct table_column stateful_sets[] = {
	NAME,
	CELL("Ready", cell_ratio, "status.readyReplicas", "spec.replicas"),
	AGE,
	POD_TEMPLATE(TEMPLATE_CONTAINERS),
	END
};
static const struct table_column jobs[] = {
	NAME,
	CELL("Status", cell_job_status, NULL, NULL),
	CELL("Completions", cell_job_completions, NULL, NULL),
	CELL("Duration", cell_job_duration, NULL, NULL),
	AGE,
	POD_TEMPLATE(TEMPLATE_CONTAINERS),
	WIDE("Selector", cell_selector, "spec.selector", "<none>"),
	END
};
static const struct table_column cron_jobs[] = {
	NAME,
	TEXT("Schedule", "spec.schedule", ""),
	TEXT("Timezone", "spec.timeZone", "<none>"),
	COLUMN("Suspend", "boolean", cell_boolean_word, .a = "spec.suspend"),
	MEMBERS("Active", "status.active"),
	CELL("Last Schedule", cell_age_or_none, "status.lastScheduleTime", NULL),
	AGE,
	POD_TEMPLATE("spec.jobTemplate.spec.template.spec.containers"),
	WIDE("Selector", cell_selector, "spec.jobTemplate.spec.selector", "<none>"),
	END
};
static const struct table_column services[] = {
	NAME,
	TEXT("Type", "spec.type", ""),
	CELL("Cluster-IP", cell_first_of, "spec.clusterIPs", "<none>"),
	CELL("External-IP", cell_external_ip, NULL, NULL),
	CELL("Port(s)", cell_service_ports, NULL, NULL),
	AGE,
	WIDE("Selector", cell_labels, "spec.selector", NULL),
	END
};
static const struct table_column endpoints[] = {
	NAME,
	CELL("Endpoints", cell_endpoints, NULL, NULL),
	AGE,
	END
};
static const struct table_column endpoint_slices[] = {
	NAME,
	TEXT("AddressType", "addressType", ""),
	CELL("Ports", cell_slice_ports, NULL, NULL),
	CELL("Endpoints", cell_slice_endpoints, NULL, NULL),
	AGE,
	END
};
static const struct table_column nodes[] = {
	NAME,
	CELL("Status", cell_node_status, NULL, NULL),
	CELL("Roles", cell_node_roles, NULL, NULL),
	AGE,
	TEXT("Version", "status.nodeInfo.kubeletVersion", ""),
	WIDE("Internal-IP", cell_node_address, "InternalIP", NULL),
	WIDE("External-IP", cell_node_address, "ExternalIP", NULL),
	WIDE_TEXT("OS-Image", "status.nodeInfo.osImage", "<unknown>"),
	WIDE("Kernel-Version", cell_node_kernel, NULL, NULL),
	WIDE_TEXT("Container-Runtime", "status.nodeInfo.containerRuntimeVersion", "<unknown>"),
	END
};
static const struct table_column events[] = {
	CELL("Last Seen", cell_event_last, NULL, NULL),
	TEXT("Type", "type", ""),
	TEXT("Reason", "reason", ""),
	CELL("Object", cell_event_object, NULL, NULL),
	WIDE("Subobject", cell_event_field, NULL, NULL),
	WIDE("Source", cell_event_source, NULL, NULL),
	CELL("Message", cell_event_message, NULL, NULL),
	WIDE("First Seen", cell_event_first, NULL, NULL),
	WIDE("Count", cell_event_count, NULL, NULL),
	COLUMN("Name", "string", cell_text, .a = "metadata.name", .b = "", .format = "name", .priority = 1),
	END
};
static const struct table_column namespaces[] = {
	NAME,
	TEXT("Status", "status.phase", ""),
	AGE,
	END
};
static const struct table_column secrets[] = {
	NAME,
	TEXT("Type", "type", ""),
	CELL("Data", cell_members, "data", NULL),
	AGE,
	END
};
static const struct table_column config_maps[] = {
	NAME,
	CELL("Data", cell_members, "data", "binaryData"),
	AGE,
	END
};
static const struct table_column ingresses[] = {
	NAME,
	TEXT("Class", "spec.ingressClassName", "<none>"),
	CELL("Hosts", cell_ingress_hosts, NULL, NULL),
	CELL("Address", cell_balancer_address, NULL, NULL),
	CELL("Ports", cell_ingress_ports, NULL, NULL),
	AGE,
	END
};
static const struct table_column volumes[] = {
	NAME,
	TEXT("Capacity", "spec.capacity.storage", "0"),
	CELL("Access Modes", cell_access_modes, "spec.accessModes", NULL),
	TEXT("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", ""),
	CELL("Status", cell_phase, NULL, NULL),
	CELL("Claim", cell_claim, NULL, NULL),
	TEXT("StorageClass", "spec.storageClassName", ""),
	TEXT("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
	TEXT("Reason", "status.reason", ""),
	AGE,
	WIDE_TEXT("VolumeMode", "spec.volumeMode", "<unset>"),
	END
};
static const struct table_column claims[] = {
	NAME,
	CELL("Status", cell_phase, NULL, NULL),
	TEXT("Volume", "spec.volumeName", ""),
	TEXT("Capacity", "status.capacity.storage", ""),
	CELL("Access Modes", cell_access_modes, "status.accessModes", NULL),
	TEXT("StorageClass", "spec.storageClassName", ""),
	TEXT("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
	AGE,
	WIDE_TEXT("VolumeMode", "spec.volumeMode", "<unset>"),
	END
};
static const struct table_column leases[] = {
	NAME,
	TEXT("Holder", "spec.holderIdentity", ""),
	AGE,
	END
};
static const struct table_column storage_classes[] = {
	COLUMN("Name", "string", cell_storage_class, .format = "name"),
	TEXT("Provisioner", "provisioner", ""),
	TEXT("ReclaimPolicy", "reclaimPolicy", "Delete"),
	TEXT("VolumeBindingMode", "volumeBindingMode", "Immediate"),
	CELL("AllowVolumeExpansion", cell_boolean, "allowVolumeExpansion", NULL),
	AGE,
	END
};
static const struct table_column priority_classes[] = {
	NAME,
	NUMBER("Value", "value"),
	BOOLEAN("Global-Default", "globalDefault"),
	AGE,
	TEXT("PreemptionPolicy", "preemptionPolicy", ""),
	END
};
static const struct table_column bindings[] = {
	NAME,
	CELL("Role", cell_role, NULL, NULL),
	AGE,
	WIDE("Users", cell_subjects, "User", NULL),
	WIDE("Groups", cell_subjects, "Group", NULL),
	WIDE("ServiceAccounts", cell_subjects, "ServiceAccount", NULL),
	END
};
static const struct table_column flow_schemas[] = {
	NAME,
	TEXT("PriorityLevel", "spec.priorityLevelConfiguration.name", ""),
	CELL("MatchingPrecedence", cell_number, "spec.matchingPrecedence", NULL),
	TEXT("DistinguisherMethod", "spec.distinguisherMethod.type", "<none>"),
	AGE,
	CELL("MissingPL", cell_condition, "Dangling", "?"),
	END
};

#define LIMITED(field) "spec.limited." field
static const struct table_column priority_levels[] = {
	NAME,
	TEXT("Type", "spec.type", ""),
	CELL("NominalConcurrencyShares", cell_scalar, LIMITED("nominalConcurrencyShares"), "<none>"),
	CELL("Queues", cell_scalar, LIMITED("limitResponse.queuing.queues"), "<none>"),
	CELL("HandSize", cell_scalar, LIMITED("limitResponse.queuing.handSize"), "<none>"),
	CELL("QueueLengthLimit", cell_scalar, LIMITED("limitResponse.queuing.queueLengthLimit"), "<none>"),
	AGE,
	END
};
static const struct table_column budgets[] = {
	NAME,
	CELL("Min Available", cell_scalar_text, "spec.minAvailable", "N/A"),
	CELL("Max Unavailable", cell_scalar_text, "spec.maxUnavailable", "N/A"),
	NUMBER("Allowed Disruptions", "status.disruptionsAllowed"),
	AGE,
	END
};
static const struct table_column policies[] = {
	NAME,
	CELL("Pod-Selector", cell_selector, "spec.podSelector", "<none>"),
	AGE,
	END
};
static const struct table_column api_services[] = {
	NAME,
	CELL("Service", cell_api_service, NULL, NULL),
	CELL("Available", cell_available, NULL, NULL),
	AGE,
	END
};
static const struct table_column ingress_classes[] = {
	NAME,
	TEXT("Controller", "spec.controller", ""),
	CELL("Parameters", cell_parameters, NULL, NULL),
	AGE,
	END
};
static const struct table_column webhooks[] = {
	NAME,
	MEMBERS("Webhooks", "webhooks"),
	AGE,
	END
};
static const struct table_column csi_nodes[] = {
	NAME,
	MEMBERS("Drivers", "spec.drivers"),
	AGE,
	END
};
static const struct table_column runtime_classes[] = {
	NAME,
	TEXT("Handler", "handler", ""),
	AGE,
	END
};

static const struct table_column autoscalers[] = {
	NAME,
	CELL("Reference", cell_autoscaler_reference, NULL, NULL),
	CELL("Targets", cell_autoscaler_targets, NULL, NULL),
	CELL("MinPods", cell_scalar_text, "spec.minReplicas", "<unset>"),
	CELL("MaxPods", cell_number, "spec.maxReplicas", NULL),
	CELL("Replicas", cell_number, "status.currentReplicas", NULL),
	AGE,
	END
};

static const struct table_column component_statuses[] = {
	NAME,
	CELL("Status", cell_component, NULL, NULL),
	CELL("Message", cell_component, "message", NULL),
	CELL("Error", cell_component, "error", NULL),
	END
};
static const struct table_column pod_templates[] = {
	NAME,
	CELL("Containers", cell_list_of, "template.spec.containers", "name"),
	CELL("Images", cell_list_of, "template.spec.containers", "image"),
	CELL("Pod Labels", cell_labels, "template.metadata.labels", NULL),
	END
};
static const struct table_column quotas[] = {
	NAME,
	CELL("Request", cell_quota, "requests", NULL),
	CELL("Limit", cell_quota, "limits", NULL),
	AGE,
	END
};
static const struct table_column mutating_policies[] = {
	NAME,
	MEMBERS("Mutations", "spec.mutations"),
	CELL("ParamKind", cell_param_kind, NULL, NULL),
	AGE,
	END
};
static const struct table_column validating_policies[] = {
	NAME,
	MEMBERS("Validations", "spec.validations"),
	CELL("ParamKind", cell_param_kind, NULL, NULL),
	AGE,
	END
};
static const struct table_column policy_bindings[] = {
	NAME,
	TEXT("PolicyName", "spec.policyName", ""),
	CELL("ParamRef", cell_param_ref, NULL, NULL),
	AGE,
	END
};
static const struct table_column revisions[] = {
	NAME,
	CELL("Controller", cell_controller, NULL, NULL),
	CELL("Revision", cell_number, "revision", NULL),
	AGE,
	END
};
static const struct table_column signing_requests[] = {
	NAME,
	AGE,
	TEXT("SignerName", "spec.signerName", "<none>"),
	TEXT("Requestor", "spec.username", ""),
	CELL("RequestedDuration", cell_seconds, "spec.expirationSeconds", NULL),
	CELL("Condition", cell_request_state, NULL, NULL),
	END
};
static const struct table_column trust_bundles[] = {
	NAME,
	TEXT("SignerName", "spec.signerName", "<none>"),
	END
};
static const struct table_column lease_candidates[] = {
	NAME,
	TEXT("LeaseName", "spec.leaseName", ""),
	TEXT("BinaryVersion", "spec.binaryVersion", ""),
	TEXT("EmulationVersion", "spec.emulationVersion", ""),
	AGE,
	END
};
static const struct table_column addresses[] = {
	NAME,
	CELL("ParentRef", cell_parent, NULL, NULL),
	COLUMN("Age", "string", cell_age, .a = "metadata.creationTimestamp", .priority = COLUMN_WITHOUT_HEADING),
	END
};
static const struct table_column service_ranges[] = {
	NAME,
	CELL("CIDRs", cell_strings, "spec.cidrs", ""),
	AGE,
	END
};
static const struct table_column claims_of_devices[] = {
	NAME,
	CELL("State", cell_claim_state, NULL, NULL),
	AGE,
	END
};
static const struct table_column slices_of_devices[] = {
	NAME,
	TEXT("Node", "spec.nodeName", ""),
	TEXT("Driver", "spec.driver", ""),
	TEXT("Pool", "spec.pool.name", ""),
	AGE,
	END
};
static const struct table_column device_taints[] = {
	NAME,
	TEXT("Key", "spec.taint.key", ""),
	TEXT("Value", "spec.taint.value", ""),
	TEXT("Effect", "spec.taint.effect", ""),
	CELL("TimeAdded", cell_age_or_nothing, "spec.taint.timeAdded", NULL),
	AGE,
	END
};
static const struct table_column csi_drivers[] = {
	NAME,
	COLUMN("AttachRequired", "boolean", cell_true_unless_false, .a = "spec.attachRequired"),
	BOOLEAN("PodInfoOnMount", "spec.podInfoOnMount"),
	BOOLEAN("StorageCapacity", "spec.storageCapacity"),
	CELL("TokenRequests", cell_token_requests, NULL, NULL),
	BOOLEAN("RequiresRepublish", "spec.requiresRepublish"),
	CELL("Modes", cell_strings, "spec.volumeLifecycleModes", "<none>"),
	AGE,
	END
};
static const struct table_column attachments[] = {
	NAME,
	COLUMN("Attacher", "string", cell_text, .a = "spec.attacher", .b = "", .format = "name"),
	TEXT("PV", "spec.source.persistentVolumeName", ""),
	TEXT("Node", "spec.nodeName", ""),
	BOOLEAN("Attached", "status.attached"),
	AGE,
	END
};
/* The subresource scale, of built-in kinds and of custom resources. */
static const struct table_column scales[] = {
	COLUMN("Name", "string", cell_text, .a = "metadata.name", .b = ""),
	COLUMN("Desired", "integer", cell_number, .a = "spec.replicas",
		.description = "replicas is the desired number of instances for the scaled object."),
	COLUMN("Available", "integer", cell_number, .a = "status.replicas",
		.description = "replicas is the actual number of observed instances of the scaled object."),
	AGE,
	END
};
static const struct table_column custom_scales[] = {
	NAME,
	COLUMN("Desired", "integer", cell_number, .a = "spec.replicas",
		.description = "Number of desired replicas"),
	COLUMN("Available", "integer", cell_number, .a = "status.replicas",
		.description = "Number of actual replicas"),
	COLUMN("Age", "date", cell_age, .a = "metadata.creationTimestamp"),
	END
};
static const struct table_column volume_classes[] = {
	NAME,
	TEXT("DriverName", "driverName", ""),
	AGE,
	END
};
/* clang-format on */

static const struct {
	const char *group, *resource;
	const struct table_column *columns;
} kinds[] = {
	{"", "pods", pods},
	{"", "services", services},
	{"", "endpoints", endpoints},
	{"", "nodes", nodes},
	{"", "events", events},
	{"", "namespaces", namespaces},
	{"", "secrets", secrets},
	{"", "configmaps", config_maps},
	{"", "serviceaccounts", aged},
	{"", "replicationcontrollers", replication_controllers},
	{"", "persistentvolumes", volumes},
	{"", "persistentvolumeclaims", claims},
	{"", "componentstatuses", component_statuses},
	{"", "podtemplates", pod_templates},
	{"", "resourcequotas", quotas},
	{"admissionregistration.k8s.io", "mutatingwebhookconfigurations", webhooks},
	{"admissionregistration.k8s.io", "validatingwebhookconfigurations", webhooks},
	{"admissionregistration.k8s.io", "mutatingadmissionpolicies", mutating_policies},
	{"admissionregistration.k8s.io", "mutatingadmissionpolicybindings", policy_bindings},
	{"admissionregistration.k8s.io", "validatingadmissionpolicies", validating_policies},
	{"admissionregistration.k8s.io", "validatingadmissionpolicybindings", policy_bindings},
	{"apiregistration.k8s.io", "apiservices", api_services},
	{"apps", "deployments", deployments},
	{"apps", "replicasets", replica_sets},
	{"apps", "daemonsets", daemon_sets},
	{"apps", "statefulsets", stateful_sets},
	{"apps", "controllerrevisions", revisions},
	{"autoscaling", "scales", scales},
	{"autoscaling", "scales/custom", custom_scales},
	{"autoscaling", "horizontalpodautoscalers", autoscalers},
	{"batch", "jobs", jobs},
	{"batch", "cronjobs", cron_jobs},
	{"certificates.k8s.io", "certificatesigningrequests", signing_requests},
	{"certificates.k8s.io", "clustertrustbundles", trust_bundles},
	{"coordination.k8s.io", "leases", leases},
	{"coordination.k8s.io", "leasecandidates", lease_candidates},
	{"discovery.k8s.io", "endpointslices", endpoint_slices},
	{"events.k8s.io", "events", events},
	{"flowcontrol.apiserver.k8s.io", "flowschemas", flow_schemas},
	{"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", priority_levels},
	{"networking.k8s.io", "ingresses", ingresses},
	{"networking.k8s.io", "ingressclasses", ingress_classes},
	{"networking.k8s.io", "networkpolicies", policies},
	{"networking.k8s.io", "ipaddresses", addresses},
	{"networking.k8s.io", "servicecidrs", service_ranges},
	{"node.k8s.io", "runtimeclasses", runtime_classes},
	{"policy", "poddisruptionbudgets", budgets},
	{"rbac.authorization.k8s.io", "rolebindings", bindings},
	{"rbac.authorization.k8s.io", "clusterrolebindings", bindings},
	{"resource.k8s.io", "deviceclasses", aged},
	{"resource.k8s.io", "resourceclaimtemplates", aged},
	{"resource.k8s.io", "devicetaintrules", device_taints},
	{"resource.k8s.io", "resourceclaims", claims_of_devices},
	{"resource.k8s.io", "resourceslices", slices_of_devices},
	{"scheduling.k8s.io", "priorityclasses", priority_classes},
	{"scheduling.k8s.io", "workloads", aged},
	{"storage.k8s.io", "csinodes", csi_nodes},
	{"storage.k8s.io", "storageclasses", storage_classes},
	{"storage.k8s.io", "csidrivers", csi_drivers},
	{"storage.k8s.io", "volumeattachments", attachments},
	{"storage.k8s.io", "volumeattributesclasses", volume_classes},
};

const struct table_column *table_kind_columns(struct slice group, struct slice resource)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		if (slice_is(group, kinds[i].group) && slice_is(resource, kinds[i].resource))
			return kinds[i].columns;
	}
	return table_plain_columns;
}
