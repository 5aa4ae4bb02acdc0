/*
 * kubeconfig_out.h: the kubeconfig that leads clients to a replay. JSON, which is YAML, too. It is the owner's
 * alone, because it says how to get in.
 */
#ifndef REPLAYER_KUBECONFIG_OUT_H
#define REPLAYER_KUBECONFIG_OUT_H

#include "schema/base/err.h"

struct cJSON;

struct kubeconfig_out {
	const char *name; /* of cluster, user and context */
	const char *url;
	const char *authority_pem; /* NULL: plain HTTP, or no check */
	const char *namespace;     /* NULL: "default" */
	const struct cJSON *user;  /* how clients authenticate; NULL: by the token */
	const char *token;         /* NULL: one that means nothing */
};

/* Writes the file so that nobody ever sees a part of it. */
int kubeconfig_write(const char *path, const struct kubeconfig_out *contents, struct err *err) MUST_CHECK;

/* The path of one in a new folder of its own, where temporary files go; the caller frees. */
int kubeconfig_make_folder(char **ret_path, struct err *err) MUST_CHECK;

/* Removes that kubeconfig and its folder. */
void kubeconfig_remove_folder(const char *path);

#endif
