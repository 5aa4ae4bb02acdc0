/*
 * kubeconfig.c: see kubeconfig.h. A set of documents is kept in the order of priority; every look-up walks
 * them and takes the first entry of that name whole, as kubectl merges them. Relative paths belong to the
 * directory of the file that holds them.
 */
#include "recorder/kubeconfig.h"

#include "schema/base/base64.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <unistd.h>

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define MAX_FILES       64

struct file {
	struct fy_document *document;
	char *path;
	char *directory;
};

struct files {
	struct file items[MAX_FILES];
	size_t count;
};

/* An entry of clusters, users or contexts, and where it stands. */
struct entry {
	struct fy_node *node;
	const struct file *file;
};

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slice_dup((struct slice){path, slash == path ? 1 : (size_t)(slash - path)});
}

/* Says nothing: without one of its own a document prints what is wrong with it. */
static struct fy_diag *silent(void)
{
	struct fy_diag_cfg cfg;

	fy_diag_cfg_default(&cfg);
	cfg.fp = NULL;
	cfg.level = FYET_MAX;
	return fy_diag_create(&cfg);
}

static int add_file(struct files *files, const char *path, struct err *err)
{
	struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_RESOLVE_DOCUMENT, .diag = silent()};
	struct file *f = &files->items[files->count];
	struct buf text;
	int rc;

	if (files->count == MAX_FILES)
		return err_set(err, ERR_TOO_LARGE, "more than %d kubeconfig files", MAX_FILES);
	buf_init(&text, LIMIT_CONFIG_BYTES + 1);
	rc = read_config_file(path, &text, err);
	if (rc == 0 && text.len) {
		/* The copy is the document's own: nodes point into it. */
		char *copy = slice_dup(buf_slice(&text));

		f->document = fy_document_build_from_malloc_string(&cfg, copy, text.len);
		if (!f->document || !fy_node_is_mapping(fy_document_root(f->document)))
			rc = err_set(err, ERR_PROTOCOL,
				"'%s' is no kubeconfig: not a YAML mapping, or with a key twice", path);
	}
	fy_diag_destroy(cfg.diag);
	buf_release(&text);
	f->path = xstrdup(path);
	f->directory = directory_of(path);
	files->count++;
	return rc;
}

static void release_files(struct files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		fy_document_destroy(files->items[i].document);
		free(files->items[i].path);
		free(files->items[i].directory);
	}
}

/* Adds each file of a list separated by colons; files that do not exist are passed over, as kubectl does. */
static int add_list(struct files *files, const char *list, struct err *err)
{
	while (*list) {
		size_t len = strcspn(list, ":");
		char *path = slice_dup((struct slice){list, len});
		int rc = len && access(path, F_OK) == 0 ? add_file(files, path, err) : 0;

		free(path);
		if (rc)
			return rc;
		list += len + (list[len] == ':');
	}
	return 0;
}

static int find_files(const struct kubeconfig_wishes *wishes, struct files *files, struct err *err)
{
	const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
	char *path;
	int rc;

	if (wishes->file)
		return add_file(files, wishes->file, err);
	if (list && *list)
		return add_list(files, list, err);
	if (!home || !*home)
		return 0;
	path = xasprintf("%s/.kube/config", home);
	rc = access(path, F_OK) == 0 ? add_file(files, path, err) : 0;
	free(path);
	return rc;
}

/* The member of a mapping, NULL when it is absent or null. */
static struct fy_node *member(struct fy_node *node, const char *key)
{
	struct fy_node *value;
	const char *text;
	size_t len;

	if (!node || !fy_node_is_mapping(node))
		return NULL;
	value = fy_node_mapping_lookup_by_string(node, key, (size_t)-1);
	if (!value || !fy_node_is_scalar(value) || fy_node_get_style(value) != FYNS_PLAIN)
		return value;
	text = fy_node_get_scalar(value, &len);
	if (len == 0 || (len == 1 && *text == '~') || (len == 4 && memcmp(text, "null", 4) == 0))
		return NULL;
	return value;
}

/* A copy of a scalar member, NULL when absent, empty or no scalar. */
static char *text_of(struct fy_node *node, const char *key)
{
	struct fy_node *value = member(node, key);
	const char *text;
	size_t len;

	if (!value || !fy_node_is_scalar(value))
		return NULL;
	text = fy_node_get_scalar(value, &len);
	return len ? slice_dup((struct slice){text, len}) : NULL;
}

static bool flag_of(struct fy_node *node, const char *key)
{
	char *text = text_of(node, key);
	bool set = text && (strcasecmp(text, "true") == 0 || strcasecmp(text, "yes") == 0);

	free(text);
	return set;
}

/* A path of a file, made absolute to the kubeconfig's directory. */
static char *path_of(const struct entry *e, const char *key)
{
	char *path = text_of(e->node, key), *joined;

	if (!path || *path == '/')
		return path;
	joined = xasprintf("%s/%s", e->file->directory, path);
	free(path);
	return joined;
}

static int data_of(const struct entry *e, const char *key, struct buf *to, struct err *err)
{
	char *text = text_of(e->node, key);
	int rc;

	buf_init(to, LIMIT_CONFIG_BYTES);
	if (!text)
		return 0;
	rc = base64_decode(slice_of(text), to, err);
	free(text);
	/* What libcurl says of it later names neither the field nor the file. */
	if (rc == 0 && (!to->len || !memmem(to->ptr, to->len, "-----BEGIN ", 11)))
		rc = err_set(err, ERR_PROTOCOL, "expected PEM, found no line '-----BEGIN ...'");
	return rc ? err_prefix(err, rc, "bad %s in '%s'", key, e->file->path) : 0;
}

/* The strings of a sequence, terminated by NULL; each made by `one`, which may return NULL to pass over. */
static char **strings_of(struct fy_node *sequence, char *(*one)(struct fy_node *item))
{
	char **list = NULL;
	size_t count = 0;
	void *at = NULL;
	struct fy_node *item;

	if (!sequence || !fy_node_is_sequence(sequence))
		return NULL;
	while ((item = fy_node_sequence_iterate(sequence, &at))) {
		char *text = one(item);

		if (!text)
			continue;
		list = xrealloc(list, (count + 2) * sizeof(*list));
		list[count++] = text;
		list[count] = NULL;
	}
	return list;
}

static char *scalar_item(struct fy_node *item)
{
	size_t len;
	const char *text = fy_node_is_scalar(item) ? fy_node_get_scalar(item, &len) : NULL;

	return text ? slice_dup((struct slice){text, len}) : NULL;
}

static char *env_item(struct fy_node *item)
{
	char *name = text_of(item, "name"), *value = text_of(item, "value"), *pair = NULL;

	if (name)
		pair = xasprintf("%s=%s", name, value ? value : "");
	free(name);
	free(value);
	return pair;
}

/* The entry `name` of the list `list`, whose content stands under `content`. */
static struct entry find_entry(
	const struct files *files, const char *list, const char *content, const char *name)
{
	for (size_t i = 0; name && i < files->count; i++) {
		const struct file *f = &files->items[i];
		struct fy_node *items = f->document ? member(fy_document_root(f->document), list) : NULL;
		struct fy_node *item;
		void *at = NULL;

		while (items && fy_node_is_sequence(items) && (item = fy_node_sequence_iterate(items, &at))) {
			char *found = text_of(item, "name");
			bool hit = found && strcmp(found, name) == 0;

			free(found);
			if (hit)
				return (struct entry){member(item, content), f};
		}
	}
	return (struct entry){NULL, NULL};
}

static char *current_context(const struct files *files, const struct kubeconfig_wishes *wishes)
{
	if (wishes->context)
		return xstrdup(wishes->context);
	for (size_t i = 0; i < files->count; i++) {
		struct fy_document *d = files->items[i].document;
		char *name = d ? text_of(fy_document_root(d), "current-context") : NULL;

		if (name)
			return name;
	}
	return NULL;
}

static int read_cluster(const struct entry *e, struct cluster_config *c, struct err *err)
{
	c->server = text_of(e->node, "server");
	c->insecure = flag_of(e->node, "insecure-skip-tls-verify");
	c->tls_server_name = text_of(e->node, "tls-server-name");
	c->proxy_url = text_of(e->node, "proxy-url");
	c->ca_file = path_of(e, "certificate-authority");
	return data_of(e, "certificate-authority-data", &c->ca_data, err);
}

static struct exec_config *read_exec(struct fy_node *node, const char *directory)
{
	struct exec_config *exec;

	if (!node)
		return NULL;
	exec = xcalloc(1, sizeof(*exec));
	exec->command = text_of(node, "command");
	exec->api_version = text_of(node, "apiVersion");
	exec->args = strings_of(member(node, "args"), scalar_item);
	exec->env = strings_of(member(node, "env"), env_item);
	exec->install_hint = text_of(node, "installHint");
	exec->cluster_info = flag_of(node, "provideClusterInfo");
	exec->directory = xstrdup(directory);
	return exec;
}

static int read_user(const struct entry *e, struct cluster_config *c, struct err *err)
{
	int rc;

	if (!e->node)
		return 0;
	c->user_json = fy_emit_node_to_string(e->node, FYECF_MODE_JSON_ONELINE);
	c->user_directory = xstrdup(e->file->directory);
	c->token = text_of(e->node, "token");
	c->token_file = path_of(e, "tokenFile");
	c->username = text_of(e->node, "username");
	c->password = text_of(e->node, "password");
	c->as_user = text_of(e->node, "as");
	c->as_uid = text_of(e->node, "as-uid");
	c->as_groups = strings_of(member(e->node, "as-groups"), scalar_item);
	c->cert_file = path_of(e, "client-certificate");
	c->key_file = path_of(e, "client-key");
	c->exec = read_exec(member(e->node, "exec"), e->file->directory);
	rc = data_of(e, "client-certificate-data", &c->cert_data, err);
	if (rc == 0)
		rc = data_of(e, "client-key-data", &c->key_data, err);
	if (rc == 0 && c->exec && !c->exec->command)
		rc = err_set(err, ERR_PROTOCOL, "exec plugin in '%s' names no command", e->file->path);
	if (rc == 0 && member(e->node, "auth-provider") && !c->token && !c->exec)
		rc = err_set(err, ERR_PROTOCOL,
			"user in '%s' has an auth-provider, which kubectl gave up too; use exec or a token",
			e->file->path);
	return rc;
}

/* Fills c from the context that counts. Nothing is filled when no file names a context. */
static int read_context(const struct files *files, const struct kubeconfig_wishes *wishes,
	struct cluster_config *c, struct err *err)
{
	char *name = current_context(files, wishes), *cluster_name, *user_name;
	struct entry context, cluster, user;
	int rc = 0;

	if (!name)
		return 0;
	context = find_entry(files, "contexts", "context", name);
	cluster_name = text_of(context.node, "cluster");
	user_name = text_of(context.node, "user");
	cluster = find_entry(files, "clusters", "cluster", cluster_name);
	user = find_entry(files, "users", "user", user_name);
	c->namespace = text_of(context.node, "namespace");
	if (!context.node)
		rc = err_set(err, ERR_USAGE, "context '%s' does not exist in the kubeconfig", name);
	else if (!cluster.node && !wishes->server)
		rc = err_set(err, ERR_PROTOCOL,
			"cluster '%s' of context '%s' does not exist in the kubeconfig",
			cluster_name ? cluster_name : "", name);
	else if (user_name && !user.file)
		rc = err_set(err, ERR_PROTOCOL, "user '%s' of context '%s' does not exist in the kubeconfig",
			user_name, name);
	if (rc == 0 && cluster.node)
		rc = read_cluster(&cluster, c, err);
	if (rc == 0 && !c->server && !wishes->server)
		rc = err_set(err, ERR_PROTOCOL,
			"cluster '%s' of context '%s' has no server in the kubeconfig", cluster_name, name);
	if (rc == 0)
		rc = read_user(&user, c, err);
	free(name);
	free(cluster_name);
	free(user_name);
	return rc;
}

static void read_in_cluster(struct cluster_config *c)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
	bool is_v6;

	if (!host || !*host || !port || !*port || access(SERVICE_ACCOUNT "/token", R_OK) != 0)
		return;
	is_v6 = strchr(host, ':') != NULL;
	c->server = xasprintf("https://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
	c->token_file = xstrdup(SERVICE_ACCOUNT "/token");
	if (access(SERVICE_ACCOUNT "/ca.crt", R_OK) == 0)
		c->ca_file = xstrdup(SERVICE_ACCOUNT "/ca.crt");
}

static void kubeconfig_replace(char **field, const char *value)
{
	free(*field);
	*field = value ? xstrdup(value) : NULL;
}

static void apply_wishes(const struct kubeconfig_wishes *wishes, struct cluster_config *c)
{
	if (wishes->server)
		kubeconfig_replace(&c->server, wishes->server);
	if (wishes->token_file) {
		kubeconfig_replace(&c->token_file, wishes->token_file);
		kubeconfig_replace(&c->token, NULL);
		c->token_over_http = true;
	}
	if (wishes->certificate_authority || wishes->insecure) {
		kubeconfig_replace(&c->ca_file, wishes->certificate_authority);
		buf_release(&c->ca_data);
		c->insecure = false;
	}
	if (wishes->insecure) {
		kubeconfig_replace(&c->ca_file, NULL);
		c->insecure = true;
	}
}

static bool is_server(const char *url)
{
	struct slice rest = slice_of(url);

	return (slice_skip(&rest, "http://") || slice_skip(&rest, "https://")) && rest.len &&
	       *rest.ptr != '/';
}

/* "host:port" gets a scheme, as kubectl gives it one; slashes at the end go. */
static int finish_server(struct cluster_config *c, struct err *err)
{
	size_t len = strlen(c->server);
	bool has_tls = c->ca_file || c->ca_data.len || c->insecure || c->cert_file || c->cert_data.len;

	while (len && c->server[len - 1] == '/' && !(len > 2 && strcmp(c->server + len - 3, "://") == 0))
		c->server[--len] = 0;
	if (!strstr(c->server, "://")) {
		char *full = xasprintf("%s://%s", has_tls ? "https" : "http", c->server);

		free(c->server);
		c->server = full;
	}
	if (!is_server(c->server))
		return err_set(err, ERR_USAGE, "server '%s' is no http or https URL", c->server);
	return 0;
}

int kubeconfig_load(const struct kubeconfig_wishes *wishes, struct cluster_config **ret, struct err *err)
{
	struct cluster_config *c = xcalloc(1, sizeof(*c));
	struct files files = {.count = 0};
	int rc = find_files(wishes, &files, err);

	buf_init(&c->ca_data, LIMIT_CONFIG_BYTES);
	buf_init(&c->cert_data, LIMIT_CONFIG_BYTES);
	buf_init(&c->key_data, LIMIT_CONFIG_BYTES);
	if (rc == 0)
		rc = read_context(&files, wishes, c, err);
	if (rc == 0 && !c->server && !wishes->server)
		read_in_cluster(c);
	apply_wishes(wishes, c);
	if (rc == 0 && !c->server)
		rc = err_set(err, ERR_NOT_FOUND,
			"no cluster to record: no kubeconfig with a current context, no --server, "
			"and this is no pod");
	if (rc == 0)
		rc = finish_server(c, err);
	release_files(&files);
	if (rc) {
		cluster_config_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

static void free_exec(struct exec_config *exec)
{
	if (!exec)
		return;
	free(exec->command);
	free(exec->api_version);
	free_texts(exec->args);
	free_texts(exec->env);
	free(exec->directory);
	free(exec->install_hint);
	free(exec);
}

static void free_config(struct cluster_config *c)
{
	char **strings[] = {&c->server, &c->ca_file, &c->cert_file, &c->key_file, &c->token, &c->token_file,
		&c->username, &c->password, &c->tls_server_name, &c->proxy_url, &c->as_user, &c->as_uid,
		&c->namespace, &c->user_json, &c->user_directory};

	for (size_t i = 0; i < COUNT_OF(strings); i++)
		free(*strings[i]);
	free_texts(c->as_groups);
	free_exec(c->exec);
	buf_release(&c->ca_data);
	buf_release(&c->cert_data);
	buf_release(&c->key_data);
	free(c);
}

void cluster_config_free(struct cluster_config *c)
{
	if (c)
		free_config(c);
}
