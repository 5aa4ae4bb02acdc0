/*
 * pod.h: the command of a replay finds it as a container in a pod finds its cluster: by KUBERNETES_SERVICE_HOST and
 * _PORT, and by the files of a service account in POD_ACCOUNT. They are there in a mount namespace of the command's own:
 * nothing changes for anybody else, and a user who is not root needs no right but that to make user namespaces.
 */
#ifndef REPLAYER_POD_H
#define REPLAYER_POD_H

#include "schema/base/err.h"

#define POD_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
/* The first word of the process that becomes the command; then the pod's folder, and the command. */
#define POD_WORD "__in-pod"
/* There that process says why it does not become the command. */
#define POD_ERROR_FD 3

struct pod_options {
	const char *namespace;     /* as its service account says */
	const char *url;           /* "https://127.0.0.1:6443" */
	const char *authority_pem; /* of its certificate */
	const char *token;
};

struct pod;

/* Makes the folder with the files. */
int pod_make(const struct pod_options *options, struct pod **ret, struct err *err) MUST_CHECK;
/* Removes it. Accepts NULL. */
void pod_remove(struct pod *p);

/* What its environment has more than ours, without KUBECONFIG; NULL after the last. */
char *const *pod_variables(const struct pod *p);

/* What is to be executed instead of the command; the caller frees the array. */
char **pod_command(const struct pod *p, char *const *command);

/* Becomes the command, in a process of one thread: `words` are the folder, and the command with its arguments. Returns only
 * to say why not. */
int pod_become(char **words, struct err *err) MUST_CHECK;

#endif
