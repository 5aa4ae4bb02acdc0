/* kubeconfig_out.c: see kubeconfig_out.h. */
#include "replayer/kubeconfig_out.h"

#include "schema/base/buf.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cJSON *add_named(cJSON *root, const char *list, const char *name, const char *inner)
{
	cJSON *entry = cJSON_CreateObject();

	cJSON_AddItemToArray(cJSON_AddArrayToObject(root, list), entry);
	cJSON_AddStringToObject(entry, "name", name);
	return cJSON_AddObjectToObject(entry, inner);
}

static void add_authority(cJSON *cluster, const char *pem)
{
	size_t len = strlen(pem);
	char *base64 = xmalloc(4 * ((len + 2) / 3) + 1);

	EVP_EncodeBlock((unsigned char *)base64, (const unsigned char *)pem, (int)len);
	cJSON_AddStringToObject(cluster, "certificate-authority-data", base64);
	free(base64);
}

/* Some clients speak plain HTTP only when told not to verify; none sends a token then, all need a user. */
static cJSON *make_contents(const struct kubeconfig_out *k)
{
	cJSON *root = cJSON_CreateObject(), *part;

	cJSON_AddStringToObject(root, "apiVersion", "v1");
	cJSON_AddStringToObject(root, "kind", "Config");
	part = add_named(root, "clusters", k->name, "cluster");
	cJSON_AddStringToObject(part, "server", k->url);
	if (k->authority_pem)
		add_authority(part, k->authority_pem);
	else
		cJSON_AddTrueToObject(part, "insecure-skip-tls-verify");
	part = add_named(root, "users", k->name, "user");
	for (const cJSON *item = k->user ? k->user->child : NULL; item; item = item->next)
		cJSON_AddItemToObject(part, item->string, cJSON_Duplicate(item, true));
	if (!k->user)
		cJSON_AddStringToObject(part, "token", k->name);
	part = add_named(root, "contexts", k->name, "context");
	cJSON_AddStringToObject(part, "cluster", k->name);
	cJSON_AddStringToObject(part, "user", k->name);
	cJSON_AddStringToObject(part, "namespace", k->namespace ? k->namespace : "default");
	cJSON_AddStringToObject(root, "current-context", k->name);
	return root;
}

static char *make_text(const struct kubeconfig_out *k)
{
	cJSON *root = make_contents(k);
	char *text;

	text = cJSON_Print(root);
	cJSON_Delete(root);
	/* Some YAML readers take no tab; inside a JSON string there is none, as it would be escaped. */
	for (char *c = text; c && (c = strchr(c, '\t'));)
		*c = ' ';
	return text;
}

static int write_file(const char *path, const char *text, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	int failed;

	if (!file) {
		int saved = errno;

		if (fd >= 0)
			close(fd);
		return err_set_errno(err, saved, "cannot write '%s'", path);
	}
	failed = fputs(text, file) < 0 || fputc('\n', file) < 0;
	failed |= fclose(file) != 0;
	return failed ? err_set_errno(err, errno, "cannot write '%s'", path) : 0;
}

int kubeconfig_write(const char *path, const struct kubeconfig_out *contents, struct err *err)
{
	char *text = make_text(contents);
	char *part = xasprintf("%s.part", path);
	int rc = write_file(part, text, err);

	if (rc == 0 && rename(part, path))
		rc = err_set_errno(err, errno, "cannot write '%s'", path);
	if (rc)
		unlink(part);
	free(part);
	free(text);
	return rc;
}
