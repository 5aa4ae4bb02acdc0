/* kubeconfig_out.c: see kubeconfig_out.h. */
#include "replayer/kubeconfig_out.h"

#include "schema/base/buf.h"
#include "schema/base/temp_folder.h"

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
		cJSON_AddStringToObject(part, "token", k->token ? k->token : k->name);
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

/* Closes the descriptor. */
static int write_text(int fd, const char *path, const char *text, struct err *err)
{
	FILE *file = fdopen(fd, "w");
	bool failed = !file || fputs(text, file) < 0 || fputc('\n', file) < 0;

	if (file)
		failed |= fclose(file) != 0;
	else
		close(fd);
	return failed ? err_set_errno(err, errno, "cannot write '%s'", path) : 0;
}

/* Under a name that nobody can know beforehand, then renamed. */
int kubeconfig_write(const char *path, const struct kubeconfig_out *contents, struct err *err)
{
	char *part = xasprintf("%s.XXXXXX", path), *text;
	int fd = mkostemp(part, O_CLOEXEC), rc;

	if (fd < 0) {
		rc = err_set_errno(err, errno, "cannot write '%s'", path);
		free(part);
		return rc;
	}
	text = make_text(contents);
	rc = write_text(fd, path, text, err);
	if (rc == 0 && rename(part, path))
		rc = err_set_errno(err, errno, "cannot write '%s'", path);
	if (rc)
		unlink(part);
	free(text);
	free(part);
	return rc;
}

int kubeconfig_make_folder(char **ret_path, struct err *err)
{
	char *folder = NULL;
	int rc = temp_folder_make("replay", &folder, err);

	if (rc == 0)
		*ret_path = xasprintf("%s/kubeconfig", folder);
	free(folder);
	return rc;
}

void kubeconfig_remove_folder(const char *path)
{
	char *folder = slice_dup((struct slice){path, (size_t)(strrchr(path, '/') - path)});

	unlink(path);
	rmdir(folder);
	free(folder);
}
