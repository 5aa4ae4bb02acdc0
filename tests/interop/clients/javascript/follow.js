// Follows resources with the official JavaScript client, as a user's program does, and reports what it is told, in
// the form of the package report of the Go clients. A line on stdin asks for what it holds.
//
//	follow.js informer|watch RESOURCE...
//
// informer: the client's informer; watch: a list in pages, and a watch from there.
import * as readline from "node:readline";
import * as k8s from "@kubernetes/client-node";

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const coordination = config.makeApiClient(k8s.CoordinationV1Api);
const custom = config.makeApiClient(k8s.CustomObjectsApi);

const cron = { group: "stable.example.com", version: "v1", plural: "crontabs" };
const resources = {
	"pods": ["/api/v1/pods", (page) => core.listPodForAllNamespaces(page)],
	"configmaps": ["/api/v1/configmaps", (page) => core.listConfigMapForAllNamespaces(page)],
	"leases.coordination.k8s.io": ["/apis/coordination.k8s.io/v1/leases",
		(page) => coordination.listLeaseForAllNamespaces(page)],
	"secrets": ["/api/v1/secrets", (page) => core.listSecretForAllNamespaces(page)],
	"deployments.apps": ["/apis/apps/v1/deployments", (page) => apps.listDeploymentForAllNamespaces(page)],
	"crontabs.stable.example.com": ["/apis/stable.example.com/v1/crontabs",
		(page) => custom.listClusterCustomObject({ ...cron, ...page })],
};

function identify(o) {
	const m = o.metadata;
	return { key: m.namespace ? `${m.namespace}/${m.name}` : m.name, uid: m.uid, rv: m.resourceVersion };
}

// What one resource told. A handler is not given what an update replaces, so it is kept here.
class Report {
	constructor(resource) {
		this.resource = resource;
		this.known = new Map();
	}

	line(kind, more) {
		console.log(JSON.stringify({ kind, resource: this.resource, ...more }));
	}

	listed(o) {
		const object = identify(o);
		this.known.set(object.key, object);
		this.line("add", { object, initial: true });
	}

	changed(o) {
		const object = identify(o), old = this.known.get(object.key);
		this.known.set(object.key, object);
		this.line(old ? "update" : "add", { object, old });
	}

	deleted(o) {
		const object = identify(o);
		this.known.delete(object.key);
		this.line("delete", { object });
	}
}

// An object of the initial list is told by `add` as well; what was listed is known before.
async function inform(resource) {
	const [path, list] = resources[resource], report = new Report(resource), initial = new Set();
	const version = (o) => `${o.metadata.uid} ${o.metadata.resourceVersion}`;
	const informer = k8s.makeInformer(config, path, async () => {
		const found = await list({});
		found.items.forEach((o) => initial.add(version(o)));
		return found;
	});
	const tell = (o) => initial.delete(version(o)) ? report.listed(o) : report.changed(o);
	informer.on("add", tell);
	informer.on("update", tell);
	informer.on("delete", (o) => report.deleted(o));
	informer.on("error", (err) => {
		console.error(resource, err);
		setTimeout(() => informer.start(), 1000);
	});
	await informer.start();
	report.line("synced", {});
	return { report, held: () => informer.list() };
}

async function watch(resource) {
	const [path, list] = resources[resource], report = new Report(resource), held = new Map();
	let token, version;
	do {
		const page = await list({ limit: 7, _continue: token });
		for (const o of page.items) {
			held.set(identify(o).key, o);
			report.listed(o);
		}
		token = page.metadata._continue ?? page.metadata.continue;
		version = page.metadata.resourceVersion;
	} while (token);
	report.line("synced", {});
	const again = () => new k8s.Watch(config).watch(path, { resourceVersion: version }, (type, o) => {
		version = o.metadata.resourceVersion;
		if (type === "DELETED") {
			held.delete(identify(o).key);
			report.deleted(o);
		} else {
			held.set(identify(o).key, o);
			report.changed(o);
		}
	}, again);
	await again();
	return { report, held: () => [...held.values()] };
}

const [mode, ...names] = process.argv.slice(2);
const followed = await Promise.all(names.map({ informer: inform, watch }[mode]));
function tellCaches(last) {
	for (const { report, held } of followed) {
		held().forEach((o) => report.line("cache", { object: identify(o) }));
	}
	console.log(JSON.stringify({ kind: last }));
}

readline.createInterface({ input: process.stdin }).on("line", () => tellCaches("cached"));
for (const signal of ["SIGTERM", "SIGINT"]) {
	process.on(signal, () => {
		tellCaches("end");
		process.exit(0);
	});
}
