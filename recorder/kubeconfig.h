/*
 * kubeconfig.h: how to reach a cluster and our identity there, found as kubectl does: the file named, else
 * the files of KUBECONFIG (the first that names a thing wins), else ~/.kube/config, else the service account
 * of the pod we run in.
 */
#ifndef RECORDER_KUBECONFIG_H
#define RECORDER_KUBECONFIG_H

#include "schema/base/config_file.h"

/* Options of the command line, which override files; NULL and false: not given. */
struct kubeconfig_wishes {
	const char *file;    /* --kubeconfig */
	const char *context; /* --context */
	const char *server;  /* --server */
	const char *token_file;
	const char *certificate_authority;
	bool insecure;
};

/* A credential plugin: a program that prints an ExecCredential. */
struct exec_config {
	char *command, *api_version;
	char **args;        /* terminated by NULL */
	char **env;         /* NAME=VALUE, terminated by NULL */
	char *directory;    /* of the kubeconfig, for a command with a slash in it */
	char *install_hint; /* said when the command is not there; may be NULL */
	bool cluster_info;  /* give it the cluster's data */
};

/* Strings are NULL if nothing says so. Of a pair of data and file, data counts. Data is decoded. */
struct cluster_config {
	char *server; /* URL, without a slash at the end */
	char *ca_file, *cert_file, *key_file;
	struct buf ca_data, cert_data, key_data;
	char *token, *token_file, *username, *password;
	char *tls_server_name, *proxy_url;
	char *as_user, *as_uid;
	char **as_groups; /* terminated by NULL, or NULL */
	struct exec_config *exec;
	char *namespace; /* of the context */
	/* The user's entry as the file has it, for code that writes another kubeconfig: JSON, and the directory
	 * that relative paths in it belong to. */
	char *user_json, *user_directory;
	bool insecure;
	bool token_over_http; /* the user named the token himself: send it even without TLS */
};

/* ERR_NOT_FOUND if nothing names a cluster, ERR_USAGE for a context that does not exist, ERR_PROTOCOL for a
 * file that is not a kubeconfig. The caller frees. */
int kubeconfig_load(
	const struct kubeconfig_wishes *wishes, struct cluster_config **ret, struct err *err) MUST_CHECK;
void cluster_config_free(struct cluster_config *c);

#endif
