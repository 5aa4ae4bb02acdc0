/* identity.c: see identity.h. */
#include "tools/tee/identity.h"

#include "replayer/kubeconfig_out.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define SECRET_BYTES 16
#define READ_AGAIN_S 10 /* a certificate in a file */

#define NAME_BYTES (sizeof("Authorization: ") - 1) /* of a header line */

struct identity {
	const struct cluster_config *config;
	const struct identity_options *o;
	bool says_who;
	char secret[2 * SECRET_BYTES + 1];
	char *sentence;
	struct credentials *credentials;
	bool is_asking;              /* a credential plugin */
	struct buf certificate, key; /* of files */
	int64_t age_s;
	void (*ready)(void *context, const struct err *err);
	void *context;
};

/* ---- which ---- */

static bool has_certificate(const struct cluster_config *c)
{
	return c->cert_file || c->cert_data.len;
}

static bool is_nobody(const struct cluster_config *c)
{
	return !has_certificate(c) && !c->token && !c->token_file && !c->exec && !c->username;
}

static char *make_sentence(const struct identity *i)
{
	const struct cluster_config *c = i->config;

	if (!i->says_who)
		return xasprintf("clients say themselves who they are%s",
			is_nobody(c) ? "; the kubeconfig names nobody" : ": what they send passes untouched");
	if (i->o->as_user)
		return xasprintf("every request is made as '%s', whom the kubeconfig's user impersonates",
			i->o->as_user);
	return xasprintf("every request is made as the kubeconfig's user, %s",
		has_certificate(c) ? "with its client certificate: no proxy can pass on that of a client"
				   : "whose credentials the tee sends");
}

static int identity_choose(struct identity *i, struct err *err)
{
	enum identity_choice choice = i->o->choice;

	if (choice == IDENTITY_CLIENT && i->o->as_user)
		return err_set(err, ERR_USAGE,
			"'--impersonate' makes the tee say who asks, but '--identity client' leaves that to clients");
	if (choice == IDENTITY_FITTING && (i->o->as_user || has_certificate(i->config)))
		choice = IDENTITY_OWN;
	i->says_who = choice == IDENTITY_OWN;
	if (i->says_who && is_nobody(i->config))
		return err_set(err, ERR_USAGE,
			"the tee is to say who asks, but the kubeconfig names no credentials");
	return 0;
}

static int make_secret(struct identity *i, struct err *err)
{
	unsigned char bytes[SECRET_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return err_set(err, ERR_FAILED, "cannot get random bytes");
	for (size_t k = 0; k < sizeof(bytes); k++)
		snprintf(i->secret + 2 * k, 3, "%02x", bytes[k]);
	return 0;
}

/* ---- certificates in files ---- */

static int read_again(const char *path, struct buf *to, struct err *err)
{
	struct buf text;
	int rc;

	if (!path)
		return 0;
	buf_init(&text, LIMIT_CONFIG_BYTES);
	rc = read_config_file(path, &text, err);
	if (rc) {
		buf_release(&text);
		return rc;
	}
	buf_release(to);
	*to = text;
	return 0;
}

static int read_files(struct identity *i, struct err *err)
{
	const struct cluster_config *c = i->config;
	int rc = i->says_who && !c->cert_data.len ? read_again(c->cert_file, &i->certificate, err) : 0;

	if (rc == 0 && i->says_who && !c->key_data.len)
		rc = read_again(c->key_file, &i->key, err);
	return rc;
}

struct slice identity_certificate(const struct identity *i)
{
	if (!i->says_who)
		return (struct slice){NULL, 0};
	return i->certificate.len ? buf_slice(&i->certificate) : credentials_certificate(i->credentials);
}

struct slice identity_key(const struct identity *i)
{
	if (!i->says_who)
		return (struct slice){NULL, 0};
	return i->key.len ? buf_slice(&i->key) : credentials_key(i->credentials);
}

/* ---- life ---- */

int identity_open(uv_loop_t *loop, const struct cluster_config *config,
	const struct identity_options *options, struct identity **ret, struct err *err)
{
	struct identity *i = xcalloc(1, sizeof(*i));
	int rc;

	i->config = config;
	i->o = options;
	i->credentials = credentials_new(loop, &clock_system, config);
	buf_init(&i->certificate, LIMIT_CONFIG_BYTES);
	buf_init(&i->key, LIMIT_CONFIG_BYTES);
	rc = identity_choose(i, err);
	if (rc == 0)
		rc = make_secret(i, err);
	if (rc == 0)
		rc = read_files(i, err);
	i->sentence = make_sentence(i);
	if (rc)
		identity_close(i);
	else
		*ret = i;
	return rc;
}

void identity_close(struct identity *i)
{
	if (!i)
		return;
	credentials_free(i->credentials);
	buf_release(&i->certificate);
	buf_release(&i->key);
	free(i->sentence);
	free(i);
}

const char *identity_sentence(const struct identity *i)
{
	return i->sentence;
}

static void on_answer(void *context, const struct err *err)
{
	struct identity *i = context;
	void (*ready)(void *, const struct err *) = i->ready;

	i->is_asking = false;
	i->ready = NULL;
	if (ready)
		ready(i->context, err);
	else if (err->code)
		log_warn("%s", err->text);
}

static void ask_plugin(struct identity *i)
{
	i->is_asking = true;
	credentials_prepare(i->credentials, on_answer, i);
}

void identity_begin(struct identity *i, void (*ready)(void *context, const struct err *err), void *context)
{
	const struct err fine = {0};

	if (!i->says_who || credentials_ready(i->credentials)) {
		ready(context, &fine);
		return;
	}
	i->ready = ready;
	i->context = context;
	ask_plugin(i);
}

void identity_tick(struct identity *i)
{
	struct err err;

	if (i->says_who && !i->is_asking && !credentials_ready(i->credentials))
		ask_plugin(i);
	if (++i->age_s % READ_AGAIN_S == 0 && read_files(i, &err))
		log_warn("%s; the one read before is still used", err.text);
}

void identity_fill(struct identity *i, struct rewrite *to)
{
	const char *line = NULL;
	struct err err;

	to->says_who = i->says_who;
	to->secret = i->secret;
	to->as_user = i->o->as_user;
	to->as_groups = i->o->as_groups;
	if (i->says_who && credentials_header(i->credentials, &line, &err))
		log_warn("%s", err.text);
	to->authorization = line && strlen(line) > NAME_BYTES ? line + NAME_BYTES : NULL;
}

/* ---- the kubeconfig of clients ---- */

/* Paths in a kubeconfig are relative to its own directory, which is not that of ours. */
static void make_absolute(cJSON *in, const char *name, const char *directory)
{
	const cJSON *item = in ? cJSON_GetObjectItemCaseSensitive(in, name) : NULL;
	char *folder, *path;

	if (!cJSON_IsString(item) || !strchr(item->valuestring, '/') || *item->valuestring == '/')
		return;
	folder = realpath(directory, NULL);
	path = xasprintf("%s/%s", folder ? folder : directory, item->valuestring);
	cJSON_ReplaceItemInObjectCaseSensitive(in, name, cJSON_CreateString(path));
	free(folder);
	free(path);
}

static void set_text(cJSON *in, const char *name, const char *text)
{
	cJSON_DeleteItemFromObjectCaseSensitive(in, name);
	if (text)
		cJSON_AddStringToObject(in, name, text);
}

static cJSON *client_user(const struct identity *i)
{
	static const char *const certificates[] = {
		"client-certificate", "client-certificate-data", "client-key", "client-key-data"};
	const struct cluster_config *c = i->config;
	cJSON *user = c->user_json && !i->says_who ? cJSON_Parse(c->user_json) : NULL;
	char *token_file;

	if (!user)
		user = cJSON_CreateObject();
	for (size_t k = 0; k < COUNT_OF(certificates); k++)
		cJSON_DeleteItemFromObjectCaseSensitive(user, certificates[k]);
	if (i->says_who) {
		set_text(user, "token", i->secret);
		return user;
	}
	token_file = c->token_file ? realpath(c->token_file, NULL) : NULL;
	set_text(user, "tokenFile", token_file ? token_file : c->token_file);
	set_text(user, "token", c->token_file ? NULL : c->token);
	if (c->user_directory)
		make_absolute(cJSON_GetObjectItemCaseSensitive(user, "exec"), "command", c->user_directory);
	free(token_file);
	return user;
}

int identity_write_kubeconfig(const struct identity *i, const char *path, const char *url,
	const char *authority_pem, struct err *err)
{
	cJSON *user = client_user(i);
	const struct kubeconfig_out k = {.name = "tee",
		.url = url,
		.authority_pem = authority_pem,
		.namespace = i->config->namespace,
		.user = user};
	int rc = kubeconfig_write(path, &k, err);

	cJSON_Delete(user);
	return rc;
}
